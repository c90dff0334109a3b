"""Reads compiled modules (.olean files) without Lean, so that no code of a module can influence what is read."""
