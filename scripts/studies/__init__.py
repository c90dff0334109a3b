"""Studies: measurements that take hours, made of `proofmesh` commands. Each continues where it stopped."""
