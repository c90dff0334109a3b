"""Verification of proofs: fresh Lean processes, the statement compiled separately, the axioms listed."""
