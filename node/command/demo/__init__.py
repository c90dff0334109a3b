"""`proofmesh demo`."""
