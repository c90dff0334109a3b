"""The backend that works with every Lean toolchain: `lean --worker`, driven by the language server protocol."""
