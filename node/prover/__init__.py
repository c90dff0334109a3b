"""The prover: AND-OR tree search for Lean proofs (pure) and the node that plays it against inference and Lean."""
