"""Compiled modules (.olean files), read without Lean: what a file declares, and nothing that its own code could say about it."""
