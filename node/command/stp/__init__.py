"""`proofmesh stp`."""
