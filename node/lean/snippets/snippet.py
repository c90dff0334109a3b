"""Snippets of Lean, the results of checking them, and the service that checks them. Pure.

Clients check different fields of a REPL's answer: an error message, an entry of `sorries`, or a warning `declaration
uses 'sorry'`. Some check only one of them. So a snippet that is not proved shows this in each of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
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


HEARTBEATS = 200_000
"""Lean's own default of `maxHeartbeats`, for which most Lean code was written."""

MEMORY_MB = 1024
"""Memory of a Lean process in addition to its header's."""

VERIFY_SECONDS = 120.0
"""Most seconds of the trusted verdict on a snippet that elaborates without errors."""


@dataclass(frozen=True)
class SnippetLimits:
    """How many snippets are checked, and what each check may take. `node.serve.service.ServeSettings` explains them."""

    workers: int
    header_seconds: float
    spares: int = 0
    """Further processes that stay idle with the headers of earlier snippets."""
    room_mb: float = math.inf
    """Memory in MB for all processes' headers: where it is full, the process idle for longest ends."""
    queue: int = 1
    """Most snippets that wait, for a service. Those of a process that waits for its own are all taken."""
    heartbeats: int = HEARTBEATS
    memory_mb: int = MEMORY_MB
    verify_seconds: float = VERIFY_SECONDS


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


# --- a REPL's answer, and the verdict in it ---------------------------------------------------------------------------

_SORRY_WARNING = re.compile(r"declaration uses [`']sorry[`']")
SORRY_WARNING = "declaration uses 'sorry'"
"""The warning as Lean wrote it until 4.2x. Newer versions write backticks, which many clients do not recognize."""

UNFINISHED = "the proof is not finished: it uses sorry"
HIDDEN = "the proof uses `sorry`, which does not stand in the text as such"

REASON_CHARACTERS = 500
"""Most characters of Lean's message in a reason."""

Message = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """Something that Lean accepts, but that makes a snippet invalid as a proof."""

    line: int
    """Line in the snippet, from 1."""
    text: str


def with_old_spelling(response: dict[str, Any]) -> dict[str, Any]:
    """The answer, with its warnings about `sorry` in the old spelling, which every client recognizes."""
    messages: list[Message] = [
        item | {"data": _SORRY_WARNING.sub(SORRY_WARNING, item["data"])} for item in response.get("messages", [])
    ]
    return response | {"messages": messages} if messages else response


def unproved(response: dict[str, Any]) -> Verdict | None:
    """The rejection if the answer has an error or `sorry`; None if it has neither."""
    messages: list[Message] = response.get("messages", [])
    for item in messages:
        if item["severity"] == "error":
            return Verdict(False, reason=f"line {item['pos']['line']}: {item['data'][:REASON_CHARACTERS]}")
    if response.get("sorries") or any(_is_sorry(item) for item in messages):
        return Verdict(False, reason=UNFINISHED)
    return None


def with_sorry_shown(response: dict[str, Any]) -> dict[str, Any]:
    """The answer, changed so that `sorry` shows in both `messages` and `sorries`.

    If the warning is switched off, it is added. A warning without an entry in `sorries` comes from a `sorry` behind
    other syntax, which cannot be filled in: it becomes an error.
    """
    messages: list[Message] = response.get("messages", [])
    warnings = [item for item in messages if _is_sorry(item)]
    sorries = response.get("sorries", [])
    if any(item["severity"] == "error" for item in messages) or bool(warnings) == bool(sorries):
        return response
    if sorries:
        extra = [message("warning", item["pos"], item["endPos"], SORRY_WARNING) for item in sorries]
    else:
        extra = [message("error", item["pos"], item.get("endPos") or item["pos"], HIDDEN) for item in warnings]
    return response | {"messages": [*messages, *extra]}


def with_faults(response: dict[str, Any], faults: Sequence[Fault]) -> dict[str, Any]:
    """The answer with each fault as an error message."""
    if not faults:
        return response
    places = [{"line": fault.line, "column": 0} for fault in faults]
    extra = [message("error", place, place, fault.text) for place, fault in zip(places, faults, strict=True)]
    return response | {"messages": [*response.get("messages", []), *extra]}


def message(severity: str, start: dict[str, int], end: dict[str, int], data: str) -> Message:
    """A message as the REPL writes it."""
    return {"severity": severity, "pos": start, "endPos": end, "data": data}


def _is_sorry(item: Message) -> bool:
    return item["severity"] == "warning" and _SORRY_WARNING.search(item["data"]) is not None
