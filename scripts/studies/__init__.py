"""Studies: measurements of hours, made of `proofmesh` commands. Each goes on where it stopped."""
