"""Checks proofs: of the mesh, in files, in snippets; reads compiled files as data; the second kernel."""
