"""Reads the options in a request's `setOptions`, a field of `lean-interact`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from node.lean.adapters.repl.protocol import BadRequest

_NAME = re.compile(r"[^\W\d][\w'!?]*(?:\.[^\W\d][\w'!?]*)*")

_IGNORED = {"Elab.async"}
"""Options that are not set: Lean's server always elaborates in threads."""


def lines(options: Sequence[Any] | None) -> list[str]:
    """The `set_option` lines for a request's options. Raises BadRequest."""
    return [line for option in options or () for line in _line(option)]


def _line(option: Any) -> list[str]:
    match option:
        case [[*parts], bool() | int() | str() as value] if _NAME.fullmatch(name := ".".join(map(str, parts))):
            if name in _IGNORED:
                return []
            return [f"set_option {name} {_value(value)}"]
        case _:
            raise BadRequest(
                f"Could not parse as a valid JSON command:\n`setOptions`: {option!r} is not an option; use "
                "[[NAME_PART, ...], VALUE]"
            )


def _value(value: bool | int | str) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return str(value).lower()
