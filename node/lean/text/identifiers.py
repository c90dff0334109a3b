"""Identifiers in Lean text, character by character as Lean reads them.

Source: `isIdFirst` and `isIdRest` (Lean 4, Init/Meta/Defs.lean).

Regular expressions with `\\w` are not enough where a wrong reading costs more than a failed guess: `Cᵒᵖ` is `C` and a
sign to Lean, and `n!` is one name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_LETTERS = (
    "A-Za-z_"
    "À-ÖØ-öø-ſ"  # Latin letters with accents
    "α-κμ-ωΑ-ΟΡΤ-Ωϊ-ϻἀ-῾"  # Greek but λ, Π and Σ
    "℀-⅏𝒜-𝖟"
)
_REST = _LETTERS + "0-9'!?₀-₉ₐ-ₜᵢ-ᵪⱼ"

NAME = rf"[{_LETTERS}][{_REST}]*"
"""One component of a name."""

SHADOWED = "✝"
"""What Lean prints behind a name that cannot be written, with a number: `h✝¹`."""

LOCAL = re.compile(rf"(?<![{_REST}.{SHADOWED}])({NAME}(?:{SHADOWED}[⁰¹²³⁴-⁹]*)?)")
"""A name that may be one of the context: the part of a dotted name before its first dot (`h` in `h.1`), not what stands
behind a dot (`.inl h`), nor a metavariable (`?h`)."""

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = r"--[^\n]*|/-.*?-/"
_LABEL = rf"[({{,]\s*{NAME}\s*:=|\bwith\s+{NAME}\s*:="  # `f (n := 1)`, `{ h with fst := 1, snd := 2 }`
_TAG = rf"\bcase'?\s+{NAME}"  # the tag of a goal: Lean's word, whatever the hypotheses are called

_IN_TACTICS = re.compile(rf"{_STRING}|{_COMMENT}|{_LABEL}|{_TAG}|{LOCAL.pattern}", re.DOTALL)


def locals_of(tactic: str) -> list[str]:
    """The identifiers of a tactic that may be names of the context or new ones, in order, each once."""
    return list(dict.fromkeys(name for name in _IN_TACTICS.findall(tactic) if name))


def renamed(tactic: str, names: Mapping[str, str]) -> str:
    """A tactic with other names for what is in the context. Strings, comments, labels of arguments and fields, and the
    tags of goals stay."""
    return _IN_TACTICS.sub(lambda match: names.get(match.group(1), match.group()), tactic)
