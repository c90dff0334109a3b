"""The lean-proxy role: owns Lean processes and answers requests about proof states."""
