"""Gaps in Lean files: each `sorry`, what Lean expects in its place, and the theorem that it makes."""
