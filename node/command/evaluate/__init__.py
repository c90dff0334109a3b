"""`proofmesh eval`."""
