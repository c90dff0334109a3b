"""Finds a Lean: pocket Lean, an installation, one of elan's toolchains, or what a Lake project uses."""
