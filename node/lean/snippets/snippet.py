"""What is asked about a snippet, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec


@dataclass(frozen=True)
class Snippet:
    """A text as Lean takes files; without imports of its own it stands behind the configured header."""

    code: str
    seconds: float
    """Wall-clock limit for its elaboration."""
    infotree: str = ""
    """Which info trees the answer is to show, as the community REPL names them; empty: none."""
    fresh: bool = False
    """Whether it is to have a Lean process that has run nothing else."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether everything that a snippet claims to prove is proved."""

    accepted: bool
    axioms: tuple[str, ...] = ()
    """What its theorems rest on, all together."""
    reason: str = ""
    """Why not, for the person who reads it; empty when it is accepted."""


class Diagnostics(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a snippet cost, as the Kimina server tells it."""

    repl_uuid: str = ""
    """Names the worker."""
    cpu_max: float | None = None
    """Per cent of one core, on average."""
    memory_max: float | None = None
    """Bytes that were resident at the end."""


class SnippetResult(msgspec.Struct, frozen=True):
    """What became of a snippet: `response` or `error`, never both."""

    seconds: float
    """Spent on it by Lean, waiting excluded."""
    verdict: Verdict
    error: str = ""
    """Why Lean came to no end: time, memory, or the end of its process."""
    response: dict[str, Any] | None = None
    """The community REPL's answer: `env`, `messages`, `sorries`, ... or `message` alone."""
    diagnostics: Diagnostics = Diagnostics()


class QueueFull(Exception):
    """Too many snippets wait already; ask again after `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too many snippets wait; ask again in {retry_after:g} s")
        self.retry_after = retry_after


class SnippetService(Protocol):
    """Whoever checks snippets: workers of this process, or lean-proxies elsewhere."""

    @property
    def waiting(self) -> int:
        """Snippets that wait for a worker."""
        ...

    def admit(self) -> None:
        """Ask before a request's snippets are checked, all at once. Raises QueueFull: none of them should be."""
        ...

    async def check(self, snippet: Snippet) -> SnippetResult:
        """What becomes of a snippet. Cancelled, it frees what the snippet held."""
        ...

    async def stop(self) -> None:
        """End all processes."""
        ...


def timed_out(seconds: float, limit: float, diagnostics: Diagnostics = Diagnostics()) -> SnippetResult:  # noqa: B008
    """The result of a snippet that ran out of time. Clients look for `timed out`."""
    error = f"Lean REPL command timed out in {float(limit)} seconds"
    return SnippetResult(seconds, Verdict(False, reason=error), error, diagnostics=diagnostics)


def failed(seconds: float, error: str, diagnostics: Diagnostics = Diagnostics()) -> SnippetResult:  # noqa: B008
    """The result of a snippet whose check came to no end."""
    return SnippetResult(seconds, Verdict(False, reason=error), error, diagnostics=diagnostics)
