"""How a search uses predicted steps. Does not import torch, since settings import it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.limits import Ratio, Share

Use = Literal["value", "rank", "both"]


@dataclass(frozen=True)
class Guidance:
    """How a search uses the progress model."""

    use: Use = "value"
    """`value`: the predicted steps of a state are its value; `rank`: those after a tactic change its prior; `both`."""

    share: Share = 1.0
    """Weight of the predicted value; the policy's value has the remaining weight. 1: only the predicted value."""

    exponent: Ratio = 1.0
    """β: the prior of a tactic is multiplied by exp(-β · steps after it)."""

    @property
    def words(self) -> str:
        """The settings in words, for results."""
        parts = []
        if self.use in ("value", "both"):
            parts.append("value" if self.share == 1 else f"value*{self.share:g}")
        if self.use in ("rank", "both"):
            parts.append("rank" if self.exponent == 1 else f"rank^{self.exponent:g}")
        return "+".join(parts)
