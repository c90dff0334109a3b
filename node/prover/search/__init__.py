"""The search: the tree, PUCT selection, expansion, backup, and the proofs in a tree (AlphaProof)."""
