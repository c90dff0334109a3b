"""Serving language models."""
