"""Self-play of a conjecturer and a prover (STP, arXiv 2502.00212): rounds, data and records."""
