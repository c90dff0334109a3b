"""What keeps a Lean process from harm: no network, files read-only, no processes of its own; found out by trying."""
