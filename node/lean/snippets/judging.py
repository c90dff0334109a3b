"""Defines the judge, which gives the trusted verdict on a snippet. The answer of a worker alone is not trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from node.lean.snippets.reading import Fault
from node.lean.snippets.snippet import Snippet, Verdict

NO_THEOREM = "it states no theorem"


@dataclass(frozen=True)
class Judgement:
    """A verdict with the faults that led to it."""

    verdict: Verdict
    faults: tuple[Fault, ...] = ()
    """Each becomes an error message. Empty for a snippet that is rejected only because it states no theorem."""
    seconds: float = 0.0
    """Time of the verification without waiting."""


class NoJudgement(Exception):
    """There is no verdict: time or memory ran out, or the check itself failed. The text says which."""

    def __init__(self, reason: str, *, timeout: float | None = None) -> None:
        super().__init__(reason)
        self.timeout = timeout
        """The time limit in seconds if it was exceeded."""


class Judge(Protocol):
    """Decides whether a snippet proves what it states."""

    async def judge(self, snippet: Snippet) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement. Cancellation ends its processes."""
        ...

    def close(self) -> None:
        """Remove its files from the disk."""
        ...
