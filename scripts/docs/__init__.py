"""Generates pages of `docs/` from the code, and tools for the documentation."""
