"""Language models as policies, over a mesh's inference nodes."""
