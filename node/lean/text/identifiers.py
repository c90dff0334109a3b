"""Recognizes identifiers in Lean text, by the same characters as Lean.

Source: `isIdFirst` and `isIdRest` (Lean 4, Init/Meta/Defs.lean).

Regular expressions with `\\w` differ from Lean: it reads `Cᵒᵖ` as `C` and an operator, and `n!` as one name. Use this
module where a wrong reading costs more than a failed guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LETTERS = (
    "A-Za-z_"
    "À-ÖØ-öø-ſ"  # Latin letters with accents
    "α-κμ-ωΑ-ΟΡΤ-Ωϊ-ϻἀ-῾"  # Greek except λ, Π and Σ
    "℀-⅏𝒜-𝖟"
)
"""Characters with which a name may begin, as ranges of a character class."""

_REST = LETTERS + "0-9'!?₀-₉ₐ-ₜᵢ-ᵪⱼ"

NAME = rf"[{LETTERS}][{_REST}]*"
"""One component of a name."""

SHADOWED = "✝"
"""Lean prints this behind an inaccessible name, with a number: `h✝¹`."""

LOCAL = re.compile(rf"(?<![{_REST}.{SHADOWED}])({NAME}(?:{SHADOWED}[⁰¹²³⁴-⁹]*)?)")
"""A name that may be in the local context: the part of a dotted name before its first dot (`h` in `h.1`). It does not
match the name behind a dot (`.inl h`) or a metavariable (`?h`)."""

ATTRIBUTE = r"@\[[^\]]{0,1000}\]"
"""Pattern of a list of attributes. Its length is limited, so that many unclosed ones are not all read to the end."""

_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = r"--[^\n]*|/-.*?-/"
_LABEL = rf"[({{,]\s*{NAME}\s*:=|\bwith\s+{NAME}\s*:="  # `f (n := 1)`, `{ h with fst := 1, snd := 2 }`
_TAG = rf"\bcase'?\s+{NAME}"  # the tag of a goal: Lean chose it, so it does not name a hypothesis

_IN_TACTICS = re.compile(rf"{_STRING}|{_COMMENT}|{_LABEL}|{_TAG}|{LOCAL.pattern}", re.DOTALL)


def locals_of(tactic: str) -> list[str]:
    """The distinct identifiers of a tactic that may be names of the context or new names, in order."""
    return list(dict.fromkeys(name for name in _IN_TACTICS.findall(tactic) if name))


def renamed(tactic: str, names: Mapping[str, str]) -> str:
    """A tactic with names of the context replaced. Strings, comments, labels of arguments and fields, and tags of goals
    stay unchanged."""
    return _IN_TACTICS.sub(lambda match: names.get(match.group(1), match.group()), tactic)
