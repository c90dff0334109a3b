"""The batched engine: lanes, prefixes, caches, the network."""
