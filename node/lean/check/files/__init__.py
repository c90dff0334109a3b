"""Verifies whole Lean files: compiles them in a confined process, and judges the compiled file."""
