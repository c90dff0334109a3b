"""Answers that a benchmark's statement leaves open: PutnamBench writes `abbrev ANSWER : T := sorry`, and the answer in
a comment behind it. A prover is asked for the proof only, so the answer is put in its place in the statement, as
PutnamBench's own script does (lean4/scripts/rewrite_solutions.py). Pure.
"""

from __future__ import annotations

import re

_OPEN = re.compile(
    r"^[ \t]*(?:noncomputable[ \t]+)?(?:abbrev|def)[ \t]+(?P<name>[\w.']+)(?P<type>[^\n]*?(?:\n[ \t]+[^\n]*?)*?)"
    r":=\s*sorry[ \t]*(?P<comment>(?:\n?[ \t]*--[^\n]*)+)\n?",
    re.MULTILINE,
)


def filled(header: str, text: str) -> tuple[str, str]:
    """A statement's header and text with `((ANSWER) : T)` for each answer that stands in a comment.

    An answer without such a comment stays open, and so does one that has arguments; then the statement depends on
    `sorry`, and is refused for it.
    """
    for found in [*_OPEN.finditer(header), *_OPEN.finditer(text)]:
        kind, answer = found["type"].strip(), _answer(found["comment"])
        if not kind.startswith(":") or not answer:
            continue
        header, text = header.replace(found.group(), ""), text.replace(found.group(), "")
        value = f"(({answer}) : {kind.removeprefix(':').strip()})"
        header, text = (_replaced(found["name"], value, each) for each in (header, text))
    return header, text


def _replaced(name: str, value: str, text: str) -> str:
    """The text with a value for each occurrence of a name, but not of longer names."""
    return re.sub(rf"(?<![\w.']){re.escape(name)}(?![\w'])", lambda _: value, text)


def _answer(comment: str) -> str:
    lines = (line.strip().removeprefix("--").strip() for line in comment.splitlines())
    return "\n  ".join(line for line in lines if line)
