"""Finds the start of the proof that a data set gives after a statement: `:= by ...`, `:= term`, `| n => term`. Pure."""

from __future__ import annotations

import re

from node.lean.text.lexing import outside_brackets

_WORD = re.compile(r"(?<![\w.'!?«])(?:let|have|letI|haveI|match|fun|λ)(?![\w'!?»])|:=|\|(?=\s)")
_BINDS = frozenset({"let", "have", "letI", "haveI"})
_HAS_ALTERNATIVES = frozenset({"match", "fun", "λ"})

_ALTERNATIVE = re.compile(r"\|\s[\w\s.,'@«»+:()\[\]⟨⟩|-]*=>")
"""The first case of a proof. Its patterns contain no relation, because `| x | = fun y => y` is an absolute value."""


def given_proof(code: str) -> int | None:
    """The position where the proof after a statement starts; None without a proof. `code`: text with comments and
    strings blanked.

    The `:=` of a `let` or `have` and the cases of a `match` or `fun` belong to the statement.
    """
    outside = set(outside_brackets(code))
    bound, alternatives = 0, False
    for match in _WORD.finditer(code):
        word = match.group()
        if match.start() not in outside:
            continue
        if word in _BINDS:
            bound += 1
        elif word in _HAS_ALTERNATIVES:
            alternatives = True
        elif word == ":=" and bound:
            bound -= 1
        elif word == ":=" or (not bound and not alternatives and _ALTERNATIVE.match(code, match.start())):
            return match.start()
    return None
