"""Jobs of the generation engine, their results, and its counters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from common.limits import MOST_STOPS
from common.protocol.messages import SampledTactic
from common.sampling import PLAIN, Sampling

STOPS = MOST_STOPS + 1
"""Most stop tokens of a job, including the end-of-tactic token."""


@dataclass(frozen=True)
class Job:
    """One state, statement, or prompt to sample from."""

    key: Any
    """Returned with the answer."""
    state: str
    """A proof state; for whole proofs a statement, `theorem NAME BINDERS : CONCLUSION`; for conjectures the prompt's
    text."""
    samples: int
    seed: int
    sampling: Sampling = PLAIN
    """Its limits (`common.limits`) are checked earlier, when settings are read and requests are decoded."""
    proof: bool = False
    """Sample whole proofs of the statement, not tactics."""
    conjecture: bool = False
    """Sample conjectures, not tactics."""

    @property
    def whole(self) -> bool:
        """True for whole proofs and conjectures: they have no value, and each sample has its own token count."""
        return self.proof or self.conjecture

    def problem(self, cells: int) -> str | None:
        """Why this job can never run in an engine with `cells` samples per state; None if it can."""
        if not 1 <= self.samples <= cells:
            return f"{self.samples} samples asked for; this network gives 1 to {cells} at once (--samples)"
        if self.proof and self.conjecture:
            return "asked for whole proofs and for conjectures at once; ask for one of them"
        return None


@dataclass(frozen=True)
class FinishedJob:
    """The answer to a job."""

    key: Any
    tactics: tuple[SampledTactic, ...]
    """In sample order, with duplicates. Empty: the statement or the prompt is longer than the network's context."""
    value: float
    """V: minus the expected remaining steps; 0 for whole proofs and conjectures."""
    tokens: int = 0
    """Tokens of the samples, including end tokens."""
    problem: str = ""
    """Why nothing was sampled: a stop text is not a single token of this version's tokenizer, or the network was not
    trained on whole proofs or conjectures."""


@dataclass
class Counters:
    """Counters of an engine since its creation."""

    passes: int = 0
    rows: int = 0
    """Rows that drew a token, summed over passes: distinct completions and new prompts."""
    samples: int = 0
    """Samples that drew a token, summed over passes. Samples with equal tokens so far share a row, but count each."""
    states: int = 0
    """Finished states."""
    tokens: int = 0
    """Tokens of finished samples, including end tokens."""
    prompt_tokens: int = 0
    """Tokens of prompts that were read; prompts in the prefix cache are not read again."""
    remembered: int = 0
    """Hits of the prefix cache: states whose prompt was prefilled before."""
    dropped: int = 0
    """Prefilled states evicted from the prefix cache."""
    cut_off: int = 0
    """Samples without an end: never sent to Lean."""

    def clear(self) -> None:
        """Reset all counters to 0."""
        for name in self.__dataclass_fields__:
            setattr(self, name, 0)

    def add(self, other: Counters) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
