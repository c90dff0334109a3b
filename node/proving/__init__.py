"""Proves theorems for people: one statement, a gap in a file, many of them; in this process, or on a running mesh."""
