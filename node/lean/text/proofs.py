"""Extracts the proof from a text: the tactic block of a declaration. Pure.

It goes by patterns and does not parse Lean. The extracted proof is checked against a known statement, so a wrong
reading only makes the proof fail.
"""

from __future__ import annotations

import re
import textwrap

from node.lean.text.identifiers import ATTRIBUTE
from node.lean.text.lexing import blanked, outside_brackets

_DECLARATION = re.compile(
    rf"^[ \t]*(?:{ATTRIBUTE}\s*){{0,6}}(?:(?:private|protected|nonrec)\s+){{0,8}}"
    r"(?:theorem|lemma|example)\b[ \t]*([^\s:(){}\[\]⦃⦄]*)",
    re.MULTILINE,
)
_NEXT_COMMAND = re.compile(
    r"^(?:theorem|lemma|example|def|abbrev|instance|end|namespace|section|open|set_option|variable|@\[|#)", re.MULTILINE
)
_BY = re.compile(r":=\s*by\b")
_OPENING = re.compile(r"\s*(?::=\s*)?by\b")


class NoProof(ValueError):
    """There is no proof in a text. The message says why."""


def block_of(text: str, name: str = "") -> str:
    """The tactic block of a proof. Raises NoProof.

    If the text contains declarations, the block is taken from the one with this name, or else from the last one. If it
    contains none, the whole text is the block. A term proof becomes `exact (TERM)`.
    """
    code = blanked(text)
    declarations = list(_DECLARATION.finditer(code))
    if not declarations:
        opening = _OPENING.match(code)
        return _block(text, opening.end() if opening else 0) if code.strip() else _none("it is empty")
    declaration = next((each for each in declarations if name and each[1] == name), declarations[-1])
    following = _NEXT_COMMAND.search(code, declaration.end())
    end = following.start() if following else len(code)
    outside = list(outside_brackets(code, declaration.end(), end))
    if by := next((match for at in outside if (match := _BY.match(code, at, end))), None):
        return _block(text[:end], by.end())
    value = next((at for at in outside if code.startswith(":=", at)), None)
    if value is None or not code[value + 2 : end].strip():
        return _none(f"nothing stands behind the statement of `{declaration[1] or 'example'}`")
    term = text[value + 2 : end].strip()
    return f"exact ({term})"


def _block(text: str, start: int = 0) -> str:
    """The text from a position on, as a dedented block. Its first line counts with the column of that position."""
    column = start - (text.rfind("\n", 0, start) + 1)
    block = textwrap.dedent(" " * column + text[start:]).strip("\n").rstrip()
    return block if block.strip() else _none("nothing stands behind `by`")


def _none(reason: str) -> str:
    raise NoProof(reason)
