"""Code that every node shares: messages, the bus, lifecycle, configuration, Lean text types. It never imports
torch."""
