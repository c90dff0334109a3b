"""The other ways to search: best-first, random, in turns, and for negations."""
