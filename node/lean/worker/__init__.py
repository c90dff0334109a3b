"""The backend that every Lean toolchain carries: `lean --worker`, spoken to with the language server's protocol."""
