"""The check that makes a proof count: fresh processes, the statement compiled apart, the axioms listed."""
