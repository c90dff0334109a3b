"""Lean processes within limits: confined, watched, killed with their group."""
