"""Whole Lean files, as people write them: compiled in confinement, and judged by what was compiled."""
