"""Data sets that come with proofmesh, made by `data/generators`."""
