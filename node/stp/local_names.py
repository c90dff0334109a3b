"""Finds the names that a proof's text introduces: hypotheses, variables, cases. Pure.

This is an approximation by regular expressions, for the whole proof at once: a name that is introduced anywhere counts
as local everywhere. So a lemma is missed if the proof also uses its name for a hypothesis, but a local name is never
mistaken for a lemma.
"""

from __future__ import annotations

import re

from node.lean.text.identifiers import NAME

_NAMES = re.compile(rf"(?<![\w.'!?])({NAME})(?![.\w'!?])")
_TYPES = re.compile(r":[^()|⟩,\n]*")
"""Types after a colon in a pattern: their names are used there, not introduced."""

_UNTIL_END = r"((?:(?!<;>|=>|:=)[^\n;])*)"
_INTRODUCING = (
    re.compile(rf"\b(?:intros?|rintro|rename_i|ext|funext|next|choose){_UNTIL_END}"),
    re.compile(rf"\b(?:rcases|obtain|cases'|induction'|injection|injections|split_ifs)\b[^\n;]*?\bwith\b{_UNTIL_END}"),
    re.compile(r"\bobtain\b([^\n;:]*)"),
    re.compile(r"\|\s*([^|=>\n]*)=>"),
    re.compile(r"(?:\bfun\b|λ)([^=↦\n]*?)(?:=>|↦)"),
    re.compile(r"[∀∃]!?([^,\n]*),"),
    re.compile(rf"\b(?:have|haveI|let|letI|set|suffices)\s+({NAME})(?![.\w'!?])"),
    re.compile(r"\b(?:have|haveI|let|letI)\s+(⟨[^⟩\n]*⟩)"),
    re.compile(rf"\b(?:by_cases|generalize|rcases|cases|induction|match|if)\s+({NAME})\s*:"),
    re.compile(rf"\bgeneralize\b[^\n;]*=\s*({NAME})"),
    re.compile(r"\bcase'?\s+([^=\n]*)=>"),
)


def names_bound_in(code: str) -> frozenset[str]:
    """The names that a block of tactics (comments and strings blanked) introduces."""
    names: set[str] = set()
    for pattern in _INTRODUCING:
        for match in pattern.finditer(code):
            names.update(_NAMES.findall(_TYPES.sub(" ", match[1])))
    return frozenset(names)
