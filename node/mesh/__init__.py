"""The command line `proofmesh`, and the commands that run several roles: `up`, `prove`, `verify`, `demo`, ..."""
