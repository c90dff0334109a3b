"""Reads and writes Lean text without Lean: lexing, text rules, headers, goals, statements, proof scripts."""
