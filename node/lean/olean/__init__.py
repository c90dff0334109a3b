"""Compiled modules (.olean files), read without Lean, so that no code of theirs takes part in what is found."""
