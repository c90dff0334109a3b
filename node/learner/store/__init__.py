"""What a run has recorded: proofs.sqlite, its tables, and the thread that owns it."""
