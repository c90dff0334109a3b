"""The protocols of the community REPL and of LeanTree, as servers and as backends."""
