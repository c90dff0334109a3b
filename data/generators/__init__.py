"""Generators of what is committed: the theorem banks, and the syntax of pocket Lean. No node imports them.

python -m data.generators.build --help
"""
