"""Other people's Lean protocols: the community REPL and LeanTree, as servers and as backends."""
