"""Commands on proofs: prove, fill, verify, recheck, inspect."""
