"""The run database: proofs.sqlite, its tables, and the thread that owns it."""
