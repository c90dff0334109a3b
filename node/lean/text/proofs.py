"""Finds the proof in a text that holds more than it: the block of tactics of a declaration. Pure.

This is a reading by eye. What is taken for the proof is tried on a statement of ours, so a wrong reading is a proof
that fails.
"""

from __future__ import annotations

import re
import textwrap

from node.lean.text.lexing import blanked, outside_brackets

_DECLARATION = re.compile(
    r"^[ \t]*(?:@\[[^\]]*\]\s*)*(?:(?:private|protected|nonrec)\s+)*"
    r"(?:theorem|lemma|example)\b[ \t]*([^\s:(){}\[\]⦃⦄]*)",
    re.MULTILINE,
)
_NEXT_COMMAND = re.compile(
    r"^(?:theorem|lemma|example|def|abbrev|instance|end|namespace|section|open|set_option|variable|@\[|#)", re.MULTILINE
)
_BY = re.compile(r":=\s*by\b")
_OPENING = re.compile(r"\s*(?::=\s*)?by\b")


class NoProof(ValueError):
    """There is no proof in a text; the words say why."""


def block_of(text: str, name: str = "") -> str:
    """The tactic block of a proof: the text itself, or the one behind `:= by` of the declaration in it that has the
    name, or else of the last one. A proof that is a term becomes `exact (TERM)`. Raises NoProof."""
    code = blanked(text)
    found = list(_DECLARATION.finditer(code))
    if not found:
        opening = _OPENING.match(code)
        return _block(text, opening.end() if opening else 0) if code.strip() else _none("it is empty")
    mine = next((each for each in found if name and each[1] == name), found[-1])
    following = _NEXT_COMMAND.search(code, mine.end())
    end = following.start() if following else len(code)
    outside = list(outside_brackets(code, mine.end(), end))
    if by := next((match for at in outside if (match := _BY.match(code, at, end))), None):
        return _block(text[:end], by.end())
    value = next((at for at in outside if code.startswith(":=", at)), None)
    if value is None or not code[value + 2 : end].strip():
        return _none(f"nothing stands behind the statement of `{mine[1] or 'example'}`")
    term = text[value + 2 : end].strip()
    return f"exact ({term})"


def _block(text: str, start: int = 0) -> str:
    """The text from a position on, as a block: a first line that stands behind something has the column there."""
    column = start - (text.rfind("\n", 0, start) + 1)
    block = textwrap.dedent(" " * column + text[start:]).strip("\n").rstrip()
    return block if block.strip() else _none("nothing stands behind `by`")


def _none(reason: str) -> str:
    raise NoProof(reason)
