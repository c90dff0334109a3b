"""Errors of premise retrieval, in one line."""

from __future__ import annotations


class RetrievalError(ValueError):
    """A corpus, a data set, a model or an index cannot be used. The text says which one, why, and what to do."""
