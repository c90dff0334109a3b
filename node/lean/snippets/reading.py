"""What the REPL's answer to a snippet says, and how a verdict is written into it. Pure.

Readers of the answer go by its fields: an error message, an entry of `sorries`, a warning that says `declaration uses
'sorry'`. Some look at one of these only. So what is not proved shows in all that they look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from node.lean.snippets.snippet import Verdict

_SORRY_WARNING = re.compile(r"declaration uses [`']sorry[`']")
SORRY_WARNING = "declaration uses 'sorry'"
"""As Lean wrote it until 4.2x. Newer ones write backticks, which many readers do not know."""

UNFINISHED = "the proof is not finished: it uses sorry"
HIDDEN = "it rests on `sorry`, which does not stand in the text as such"

REASON_CHARACTERS = 500
"""Of a message of Lean's, in a reason."""

Message = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """Something that Lean lets pass, and that makes a snippet worthless as a proof."""

    line: int
    """From 1, in the snippet."""
    text: str


def with_old_spelling(response: dict[str, Any]) -> dict[str, Any]:
    """The answer, its warnings about `sorry` spelt as every reader knows them."""
    messages: list[Message] = [
        item | {"data": _SORRY_WARNING.sub(SORRY_WARNING, item["data"])} for item in response.get("messages", [])
    ]
    return response | {"messages": messages} if messages else response


def unproved(response: dict[str, Any]) -> Verdict | None:
    """The verdict on an answer that claims no proof: an error, or `sorry`; None when there is nothing of that."""
    messages: list[Message] = response.get("messages", [])
    for item in messages:
        if item["severity"] == "error":
            return Verdict(False, reason=f"line {item['pos']['line']}: {item['data'][:REASON_CHARACTERS]}")
    if response.get("sorries") or any(_is_sorry(item) for item in messages):
        return Verdict(False, reason=UNFINISHED)
    return None


def with_sorry_shown(response: dict[str, Any]) -> dict[str, Any]:
    """The answer, such that `sorry` shows in `messages` and in `sorries` alike.

    Its warning can be switched off; and one behind other syntax is no `sorry` that could be filled in: an error.
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
    """The answer, with each fault as an error message."""
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
