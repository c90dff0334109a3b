"""The Lean library: reads Lean text, finds and confines Lean, runs tactics, verifies proofs, traces files. No bus."""
