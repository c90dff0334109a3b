"""The community REPL's JSON protocol: a backend over external REPL processes, and a server over our own worker."""
