"""Data extraction: records what each tactic of a Lean file does, from the info trees that any Lean can print."""
