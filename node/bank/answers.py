"""Fills in the answers that a benchmark's statements leave open. Pure.

PutnamBench writes `abbrev ANSWER : T := sorry`, followed by a comment with the answer. A prover should find only the
proof, so the answer replaces ANSWER in the statement, as in PutnamBench's script lean4/scripts/rewrite_solutions.py.
"""

from __future__ import annotations

import re

_OPEN = re.compile(
    r"^[ \t]*(?:noncomputable[ \t]+)?(?:abbrev|def)[ \t]+(?P<name>[\w.']+)(?P<type>[^\n]*?(?:\n[ \t]+[^\n]*?)*?)"
    r":=\s*sorry[ \t]*(?P<comment>(?:\n?[ \t]*--[^\n]*)+)\n?",
    re.MULTILINE,
)


def filled(header: str, text: str) -> tuple[str, str]:
    """A statement's header and text, with `((ANSWER) : T)` for each answer in a comment.

    An answer without a comment, or with arguments, stays open. The statement then depends on `sorry` and is refused.
    """
    for match in [*_OPEN.finditer(header), *_OPEN.finditer(text)]:
        kind, answer = match["type"].strip(), _answer(match["comment"])
        if not kind.startswith(":") or not answer:
            continue
        header, text = header.replace(match.group(), ""), text.replace(match.group(), "")
        value = f"(({answer}) : {kind.removeprefix(':').strip()})"
        header, text = (_replaced(match["name"], value, each) for each in (header, text))
    return header, text


def _replaced(name: str, value: str, text: str) -> str:
    """The text with a name replaced by a value. Longer names that contain the name stay."""
    return re.sub(rf"(?<![\w.']){re.escape(name)}(?![\w'])", lambda _: value, text)


def _answer(comment: str) -> str:
    lines = (line.strip().removeprefix("--").strip() for line in comment.splitlines())
    return "\n  ".join(line for line in lines if line)
