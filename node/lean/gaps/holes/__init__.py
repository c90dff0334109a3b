"""Finds gaps in Lean files: each `sorry`, the goal that Lean shows there, and the theorem to prove."""
