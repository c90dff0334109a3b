"""LeanTree's HTTP protocol: a server over our workers, and a backend over external servers."""
