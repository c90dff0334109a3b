"""The replay buffer: transitions of verified proofs, stored for training in append-only files."""
