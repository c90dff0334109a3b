"""Answers that a benchmark's statement leaves open: PutnamBench writes `abbrev ANSWER : T := sorry`, and the answer in
a comment behind it. A prover is asked for the proof only, so the answer is filled in, as its authors' scripts do. Pure.
"""

from __future__ import annotations

import re

_OPEN = re.compile(
    r"^(?P<head>[ \t]*(?:noncomputable[ \t]+)?(?:abbrev|def)[ \t][^\n]*?(?:\n[ \t]+[^\n]*?)*?:=\s*)sorry[ \t]*"
    r"(?P<comment>(?:\n?[ \t]*--[^\n]*)+)",
    re.MULTILINE,
)


def filled(text: str) -> str:
    """The text with every answer that stands in a comment put in its place.

    One without such a comment stays open; then the statement depends on `sorry`, and is refused for it.
    """
    return _OPEN.sub(_answered, text)


def _answered(match: re.Match[str]) -> str:
    lines = (line.strip().removeprefix("--").strip() for line in match["comment"].splitlines())
    answer = "\n  ".join(line for line in lines if line)
    return f"{match['head']}({answer})\n" if answer else match.group()
