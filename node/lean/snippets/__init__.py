"""Snippets of Lean code of others: what Lean says of each, and whether what it claims to prove can be trusted."""
