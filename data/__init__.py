"""Data sets that come with proofmesh, made by `scripts/bank`."""
