"""Data extraction: what every tactic of a Lean file does, from the info trees that any Lean prints by itself."""
