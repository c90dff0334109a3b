"""Verdicts on completions, and the reward of each verdict."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Verdict(enum.StrEnum):
    """The result of checking a completion."""

    VERIFIED = "verified"
    """A whole proof that Lean's kernel accepts, and that uses only Lean's standard axioms."""
    REJECTED = "rejected"
    """A whole proof that Lean rejects, or that the text rules forbid."""
    NO_PROOF = "no proof"
    """No proof to check: empty, cut off, prose, `sorry`."""
    LIMIT = "limit"
    """A limit of time, memory or length was reached, or Lean's process crashed repeatedly."""
    ERROR = "error"
    """A tactic that fails, or that the text rules forbid."""
    UNCHANGED = "unchanged"
    """A tactic that succeeds and leaves the proof state as it was, such as `skip`."""
    LEGAL = "legal"
    """A tactic that succeeds, changes the state, and leaves at least as many goals as before."""
    CLOSES_GOAL = "closes goal"
    """A tactic that leaves fewer goals than before."""
    WITHIN_BUDGET = "within budget"
    """A tactic after which the remaining budget proves the theorem."""
    CLOSES_THEOREM = "closes theorem"
    """A tactic that completes the proof of the theorem; the whole proof is verified."""
    UNKNOWN = "unknown"
    """No verdict, because Lean did not answer. It implies nothing about the completion."""


@dataclass(frozen=True)
class RewardValues:
    """The reward for each verdict. For `unknown` the reward is None."""

    verified: float = 1.0
    rejected: float = 0.0
    """Also for completions without a proof, and for those that reach a limit."""
    error: float = 0.0
    unchanged: float = 0.0
    legal: float = 0.1
    closes_goal: float = 0.3
    within_budget: float = 0.7
    closes_theorem: float = 1.0

    def of(self, verdict: Verdict) -> float | None:
        """The reward for a verdict."""
        return {
            Verdict.VERIFIED: self.verified,
            Verdict.REJECTED: self.rejected,
            Verdict.NO_PROOF: self.rejected,
            Verdict.LIMIT: self.rejected,
            Verdict.ERROR: self.error,
            Verdict.UNCHANGED: self.unchanged,
            Verdict.LEGAL: self.legal,
            Verdict.CLOSES_GOAL: self.closes_goal,
            Verdict.WITHIN_BUDGET: self.within_budget,
            Verdict.CLOSES_THEOREM: self.closes_theorem,
        }.get(verdict)


@dataclass(frozen=True)
class Judged:
    """The verdict on a completion."""

    verdict: Verdict
    reason: str = ""
    """Why the verdict is not better, or why there is none, in words."""
