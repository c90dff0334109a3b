"""LeanTree's HTTP protocol: served over our workers, and spoken to servers of others."""
