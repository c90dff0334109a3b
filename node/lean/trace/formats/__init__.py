"""Output formats of a trace: our own, LeanDojo's, LeanTree's, and the bank's transitions."""
