"""The nodes of the mesh, one package per role."""
