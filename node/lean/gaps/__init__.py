"""Gaps (`sorry`) in Lean files, and the files above them."""
