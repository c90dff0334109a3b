"""Defines snippets, the results of checking them, and the service that checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec


@dataclass(frozen=True)
class Snippet:
    """The text of a Lean file to check. If it has no imports, the configured header precedes it."""

    code: str
    seconds: float
    """Wall-clock limit for its elaboration."""
    infotree: str = ""
    """The info trees to show in the answer, as the community REPL names them; empty: none."""
    fresh: bool = False
    """True to run it in a new Lean process."""
    against: str = ""
    """The theorems that it must prove, as Lean text with `sorry` for proofs; empty: those that it states itself."""
    allow_own_syntax: bool = False
    """Without `against`: also accept theorems that depend on syntax, attributes, variables or code of the snippet."""


class Verdict(msgspec.Struct, frozen=True):
    """Whether a snippet proves everything that it states."""

    accepted: bool
    axioms: tuple[str, ...] = ()
    """The axioms that its theorems use, all together."""
    reason: str = ""
    """Why it is rejected, as a text for people; empty if it is accepted."""
    depends: tuple[str, ...] = ()
    """What its statements depend on among its own declarations and syntax: `NAME (KEYWORD, line N)`. Empty with a
    statement to compare with, which has a meaning of its own."""
    runs_code: tuple[str, ...] = ()
    """Its own code that runs while Lean elaborates it, or that changes what code does."""


class Diagnostics(msgspec.Struct, frozen=True, omit_defaults=True):
    """Resources that a snippet used, in the fields of the Kimina server."""

    repl_uuid: str = ""
    """Id of the worker."""
    cpu_max: float | None = None
    """Average CPU use in per cent of one core."""
    memory_max: float | None = None
    """Resident bytes at the end."""


class SnippetResult(msgspec.Struct, frozen=True):
    """The result of a check: either `response` or `error`."""

    seconds: float
    """Time that Lean spent on it, without waiting."""
    verdict: Verdict
    error: str = ""
    """Why Lean did not finish: out of time, out of memory, or its process ended."""
    response: dict[str, Any] | None = None
    """The community REPL's answer: `env`, `messages`, `sorries`, ... or `message` alone."""
    diagnostics: Diagnostics = Diagnostics()


class NoAnswer(Exception):
    """Lean did not check a snippet. The text says why; it implies nothing about the snippet."""


class QueueFull(Exception):
    """Too many snippets wait; the client may retry after `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"too many snippets wait: retry in {retry_after:g} s")
        self.retry_after = retry_after


class SnippetService(Protocol):
    """Checks snippets, with workers of this process or with lean-proxies on other machines."""

    @property
    def waiting(self) -> int:
        """Number of snippets that wait for a worker."""
        ...

    def admit(self) -> None:
        """Raises QueueFull if no more snippets can be taken. Call it once for each request, before its first check."""
        ...

    async def check(self, snippet: Snippet) -> SnippetResult:
        """Check a snippet. Cancellation frees its worker. Raises NoAnswer."""
        ...

    async def stop(self) -> None:
        """End all processes."""
        ...


def timed_out(seconds: float, limit: float, diagnostics: Diagnostics = Diagnostics()) -> SnippetResult:  # noqa: B008
    """The result of a snippet that ran out of time. Clients look for the words `timed out`."""
    error = f"Lean REPL command timed out in {float(limit)} seconds"
    return SnippetResult(seconds, Verdict(False, reason=error), error, diagnostics=diagnostics)


def failed(seconds: float, error: str, diagnostics: Diagnostics = Diagnostics()) -> SnippetResult:  # noqa: B008
    """The result of a snippet whose check did not finish."""
    return SnippetResult(seconds, Verdict(False, reason=error), error, diagnostics=diagnostics)
