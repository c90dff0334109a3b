"""Where the proof begins that a dataset gives with a statement: `:= by ...`, `:= term`, `| n => term`. Pure."""

from __future__ import annotations

import re

from node.lean.text.lexing import outside_brackets

_WORD = re.compile(r"(?<![\w.'!?«])(?:let|have|letI|haveI|match|fun|λ)(?![\w'!?»])|:=|\|(?=\s)")
_BINDS = frozenset({"let", "have", "letI", "haveI"})
_HAS_ALTERNATIVES = frozenset({"match", "fun", "λ"})

_ALTERNATIVE = re.compile(r"\|\s[\w\s.,'@«»+:()\[\]⟨⟩|-]*=>")
"""The first case of a proof. Its patterns hold no relation: `| x | = fun y => y` is an absolute value."""


def given_proof(code: str) -> int | None:
    """Where the proof begins behind a statement; None: no proof is there. `code`: comments and strings are blanked.

    The `:=` of a `let` or `have` in the statement is its own, and so are the cases of a `match` or `fun`.
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
