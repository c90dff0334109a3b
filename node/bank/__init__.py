"""Theorem banks: reading one, and making one from other people's datasets."""
