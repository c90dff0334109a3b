"""Finds every `sorry` in a text. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.lean.text.lexing import blanked

_SORRY = re.compile(r"(?<![\w.'!?])sorry(?![\w'!?]|\.[^\W\d])")
_QUOTED_NAME = re.compile(r"«[^«»\n]*»")
_MANY_TIMES = re.compile(r"(\b(all_goals|any_goals|repeat'?|iterate( \d+)?)|<;>)[(\s]*$")
"""The text before a tactic that runs more than once. A `sorry` in such a tactic has no single goal."""


_LOOK_BACK = 200
"""Number of characters before a `sorry` that are searched for such text. A file may have hundreds of `sorry`s."""


@dataclass(frozen=True)
class Mention:
    """A `sorry` in a text."""

    start: int
    many: bool
    """True if it may run more than once."""

    @property
    def end(self) -> int:
        return self.start + len("sorry")

    def moved(self, by: int) -> Mention:
        """The same mention, in a text with `by` more characters before it."""
        return Mention(self.start + by, self.many)


def mentions(text: str) -> list[Mention]:
    """Every `sorry` of a text outside comments, strings and names in guillemets."""
    code = _QUOTED_NAME.sub(lambda match: "x" * len(match.group()), blanked(text))
    return [
        Mention(match.start(), bool(_MANY_TIMES.search(code[max(0, match.start() - _LOOK_BACK) : match.start()])))
        for match in _SORRY.finditer(code)
    ]
