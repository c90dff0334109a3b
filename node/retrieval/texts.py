"""Premises and proof states as the texts that encoders and BM25 read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from node.lean.text.declarations import declarations
from node.lean.text.goals import split_goals

MOST_CHARACTERS = 2000
"""Most characters of the text of a premise or a state. Longer texts add little, and encoders truncate them anyway."""

_WORD = re.compile(r"[^\W\d_][^\W_]*|\d+|[^\w\s]")
_NAME = re.compile(r"[^\W\d][\w'!?₀-₉]*(?:\.[^\W\d][\w'!?₀-₉]*)*")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def premise_text(full_name: str, code: str) -> tuple[str, bool]:
    """A declaration on one line, `theorem Nat.add_comm (a b : Nat) : a + b = b + a`, and whether it is a theorem or
    axiom.

    The proof of a theorem is left out. The value of a definition is included, because it is its meaning.
    """
    parsed, _ = declarations(code)
    first = parsed[0] if parsed else None
    if first is not None and first.is_proof:
        return f"theorem {full_name} {first.statement}"[:MOST_CHARACTERS], True
    kind = first.kind if first is not None else "declaration"
    text = code if first is None else code.partition(first.kind)[2]
    words = text.split()
    if words and full_name.split(".")[-1] == words[0].split(".")[-1]:
        words = words[1:]
    return f"{kind} {full_name} {' '.join(words)}"[:MOST_CHARACTERS].rstrip(), False


def query_text(state: str) -> str:
    """A state on one line. It begins with the conclusion of the first goal, since truncation removes the end."""
    goals = split_goals(state) or [state]
    goal_texts = [
        f"⊢ {' '.join(conclusion.split())} , {' '.join(above.split())}".rstrip(" ,")
        for above, conclusion in _cut(goals)
    ]
    return " | ".join(goal_texts)[:MOST_CHARACTERS]


def words(text: str) -> list[str]:
    """The BM25 terms of a text: full names, parts of names, and symbols, with repetitions."""
    terms = [name for name in _NAME.findall(text) if "." in name or "_" in name]
    for word in _WORD.findall(text):
        terms += [part.lower() for part in _HUMP.split(word)]
    return terms


def _cut(goals: list[str]) -> Iterator[tuple[str, str]]:
    for goal in goals:
        above, _, conclusion = goal.rpartition("⊢")
        yield above, conclusion
