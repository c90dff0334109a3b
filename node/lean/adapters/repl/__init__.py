"""The community REPL's JSON protocol: spoken to REPL processes of others, and served over a worker of ours."""
