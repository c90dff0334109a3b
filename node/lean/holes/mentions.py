"""Where `sorry` stands in a text, and places as Lean's language server counts them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from node.lean.text.lexing import blanked
from node.lean.worker.framing import Position

_SORRY = re.compile(r"(?<![\w.'!?])sorry(?![\w'!?]|\.[^\W\d])")
_QUOTED_NAME = re.compile(r"«[^»\n]*»")
_MANY_TIMES = re.compile(r"(\b(all_goals|any_goals|repeat'?|iterate( \d+)?)|<;>)[(\s]*$")
"""What stands before a tactic that runs more than once: its `sorry` has no one place to be filled in."""


_LOOK_BACK = 200
"""Characters before a `sorry` among which such a tactic is looked for: a file may have hundreds of them."""


@dataclass(frozen=True)
class Mention:
    """A `sorry` in a text."""

    start: int
    many: bool
    """It may run more than once."""

    @property
    def end(self) -> int:
        return self.start + len("sorry")

    def moved(self, by: int) -> Mention:
        """The same in a text that has so many characters before this one."""
        return Mention(self.start + by, self.many)


def mentions(text: str) -> list[Mention]:
    """Every `sorry` of a text, outside comments, strings and names in guillemets."""
    code = _QUOTED_NAME.sub(lambda match: "x" * len(match.group()), blanked(text))
    return [
        Mention(match.start(), bool(_MANY_TIMES.search(code[max(0, match.start() - _LOOK_BACK) : match.start()])))
        for match in _SORRY.finditer(code)
    ]


def position(text: str, at: int) -> Position:
    """Line and column (in UTF-16 units) of a character."""
    begin = text.rfind("\n", 0, at) + 1
    return Position(text.count("\n", 0, at), utf16(text[begin:at]))


def utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the first 65,536 count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def characters(line: str, units: int) -> int:
    """How many characters of a line so many UTF-16 units are."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for char in line:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        count += 1
    return count
