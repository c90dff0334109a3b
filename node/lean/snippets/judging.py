"""The trusted verdict on a snippet that Lean found no fault with. Its worker's word is not taken for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from node.lean.snippets.reading import Fault
from node.lean.snippets.snippet import Verdict

NO_THEOREM = "it states no theorem"


@dataclass(frozen=True)
class Judgement:
    """A verdict, and what its reason rests on."""

    verdict: Verdict
    faults: tuple[Fault, ...] = ()
    """Each becomes an error message; none where a snippet just claims nothing."""
    seconds: float = 0.0
    """Spent on it, waiting excluded."""


class NoJudgement(Exception):
    """There is no verdict: time or memory ran out, or the check itself failed; the text says which."""

    def __init__(self, reason: str, *, timeout: float | None = None) -> None:
        super().__init__(reason)
        self.timeout = timeout
        """The limit in seconds, if it is time that ran out."""


class Judge(Protocol):
    """Says whether a text proves what it claims."""

    async def judge(self, code: str) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement. Cancelled, it ends its processes."""
        ...

    def close(self) -> None:
        """Remove what it has on the disk."""
        ...
