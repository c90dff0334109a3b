"""Writes a trace in several formats: our own, LeanDojo's, LeanTree's, and the bank's transitions."""
