"""Reads the REPL's answer to a snippet, and writes the judge's verdict into it. Pure.

Clients check different fields of the answer: an error message, an entry of `sorries`, or a warning `declaration uses
'sorry'`. Some check only one of them. So a snippet that is not proved shows this in each of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from node.lean.snippets.snippet import Verdict

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
