"""Converts proofmesh's own networks to Hugging Face's format and back."""
