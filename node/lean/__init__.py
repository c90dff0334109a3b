"""The Lean library: reads Lean text, finds and confines Lean, runs tactics, verifies proofs, traces files.

Nothing here uses the bus.
"""
