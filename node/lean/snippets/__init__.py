"""Checks snippets of untrusted Lean code: Lean's messages on each, and a trusted verdict on what it proves."""
