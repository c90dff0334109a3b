"""Whole proofs: from lists, from models, from the mesh's own network."""
