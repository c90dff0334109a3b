"""Theorem banks: reads them, and imports them from public data sets."""
