"""Composes roles: the plan of a mesh from one file, its nodes as child processes, and the policy that it serves."""
