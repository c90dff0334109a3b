"""The generator of the theorem bank: statements with proofs, checked and traced by real Lean.

python -m scripts.bank.build --help
"""
