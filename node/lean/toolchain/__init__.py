"""Finds the Lean to run: pocket Lean, an installation, one of elan's toolchains, or the Lean of a Lake project."""
