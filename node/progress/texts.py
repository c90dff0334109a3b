"""The text of a question to a progress model, and the encoding of its answer. Pure.

The text is that of LeanProgress (LeanDojo-v2 1.0.9, `ProgressTrainer._build_text`), so that models of either program
work in both. With a tactic, the answer is the number of steps that remain after it: 0 if it completes the proof.
Without a tactic (an extension of proofmesh), it is the number of steps that the state needs.
"""

from __future__ import annotations

import math
from typing import Literal

Target = Literal["steps", "log"]


def question(goal: str, tactic: str = "", prefix: str = "") -> str:
    """The text for the model. `prefix`: the tactics before, joined by newlines. Empty `tactic`: a question about the
    state."""
    return f"Goal:\n{goal.strip()}\n\nPrefix:\n{prefix.strip()}\n\nCandidate tactic:\n{tactic.strip()}"


def encode(steps: float, target: Target) -> float:
    """The number that the model learns: the steps, or log(1 + steps)."""
    return math.log1p(steps) if target == "log" else float(steps)


MOST = 1000.0
"""Largest prediction in steps: without a limit, exp of a large output could overflow."""


def decode(output: float, target: Target) -> float:
    """The steps that a model's output means, never negative."""
    steps = math.expm1(min(output, math.log1p(MOST))) if target == "log" else output
    return min(max(steps, 0.0), MOST)
