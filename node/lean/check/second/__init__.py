"""A second type checker for Lean 4, in Python, that shares no code with Lean's kernel."""
