"""Benchmarks: each measures one part on this machine and prints JSON. What came out is in LOG.md."""
