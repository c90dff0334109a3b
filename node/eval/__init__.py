"""Evaluates policies and methods on benchmarks: plays the attempts, keeps their records, and says what came of them."""
