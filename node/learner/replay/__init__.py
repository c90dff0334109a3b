"""Transitions of verified proofs, kept for training in append-only files."""
