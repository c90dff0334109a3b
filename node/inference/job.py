"""What the generation engine is asked for, and what it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from common.limits import MOST_STOPS
from common.messages import SampledTactic

STOPS = MOST_STOPS + 1
"""Places for stop tokens of a job, one being the end-of-tactic token's."""

HOTTEST = 100.0
"""Highest temperature: every sensible distribution is uniform long before."""


@dataclass(frozen=True)
class Job:
    """One state to sample from."""

    key: Any
    """Given back with the answer."""
    state: str
    samples: int
    seed: int
    temperature: float = 1.0
    top_p: float = 1.0
    """Sample from the smallest set of likeliest tokens with this probability together; 1: from all."""
    distinct: bool = False
    """First tokens are drawn without replacement, so samples begin differently while there are enough tokens."""
    stop: tuple[str, ...] = ()
    """Texts of single tokens that end a tactic, as its end-of-tactic token does; they are no part of it."""

    def problem(self, cells: int) -> str | None:
        """Why this can never run in an engine of `cells` samples a state; None if it can."""
        if not 1 <= self.samples <= cells:
            return f"{self.samples} samples asked for; this node gives 1 to {cells}"
        if not math.isfinite(self.temperature) or not 0.0 <= self.temperature <= HOTTEST:
            return f"temperature {self.temperature}; it must be between 0 and {HOTTEST:g}"
        if not 0.0 < self.top_p <= 1.0:
            return f"top_p {self.top_p}; it must be more than 0 and at most 1"
        if len(self.stop) >= STOPS:
            return f"{len(self.stop)} stop texts; there may be {STOPS - 1}"
        return None


@dataclass(frozen=True)
class FinishedJob:
    """The answer to a job."""

    key: Any
    tactics: tuple[SampledTactic, ...]
    """In sample order, duplicates kept."""
    value: float
    """V: minus the expected remaining steps."""
    problem: str = ""
    """Why nothing was sampled: a stop text that is no single token of this version's tokenizer."""


@dataclass
class Counters:
    """What the engine has done since it was made."""

    passes: int = 0
    rows: int = 0
    """Rows that drew a token, summed over passes: distinct completions and new prompts."""
    samples: int = 0
    """Samples that drew a token, summed over passes: samples that still agree count each."""
    states: int = 0
    """Finished states."""
    tokens: int = 0
    """Tokens of finished samples, their ends included."""
    prompt_tokens: int = 0
    """Tokens of prompts that were read; those of remembered states are not read again."""
    remembered: int = 0
    """States whose prompt was found in the cache of prefilled states."""
    dropped: int = 0
    """Prefilled states dropped for others."""
    cut_off: int = 0
    """Samples that came to no end: never sent to Lean."""

    def add(self, other: Counters) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
