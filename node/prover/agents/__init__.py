"""Plays one attempt: opens the theorem, searches or samples proofs, verifies, reports."""
