"""Benchmarks: each measures one part on this machine and prints JSON. Results are in LOG.md."""
