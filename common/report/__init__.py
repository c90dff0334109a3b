"""Results for people: one table, one chart, one page."""
