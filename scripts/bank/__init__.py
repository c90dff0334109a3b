"""The theorem bank's generator: statements with proofs, checked and traced by real Lean.

python -m scripts.bank.build --help
"""
