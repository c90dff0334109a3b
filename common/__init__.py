"""What every node shares, and nothing heavier: messages, the bus, lifecycle, configuration, Lean text types. Never
torch."""
