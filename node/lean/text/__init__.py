"""Lean as text, read and written without Lean: lexing, rules, headers, goals, statements, proof scripts."""
