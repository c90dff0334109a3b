"""Writes a proof into the gap of a command, as a person would. Pure.

theorem t : P := sorry          ->   theorem t : P := by simp
have h : P := sorry             ->   have h : P := by
                                       intro x
                                       simp
exact foo sorry h               ->   exact foo (by simp) h
exact ⟨h, sorry⟩                ->   exact ⟨h, by simp⟩
  · sorry                       ->     · intro x
                                         simp
all_goals sorry                 ->   all_goals (intro x; ...), in parentheses over several lines
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from common.lean import Theorem
from common.places import Context, Place
from node.lean.text.script import INDENT

_OPENS_BLOCK = re.compile(r"(?:\b(?:decreasing_)?by|=>|·|\.)[ \t]*$")
"""What may stand right before a block of tactics, so that the block may have several lines."""

_OPENS_TERM = re.compile(r"(?::=|\bfrom|=>)[ \t]*$")
"""What may stand right before `by`, whose block then reaches to the end of the line and below it."""

_ENCLOSED = re.compile(r"[(⟨\[,][ \t]*$"), re.compile(r"[ \t]*[)⟩\]]")
"""What stands before and behind a term that needs no parentheses. No comma behind it: `cases h, ...` would go on."""

_NOTHING_BEHIND = re.compile(r"[ \t]*(?:--[^\n]*)?(?:\n|$)")


FRESH = "proofmesh_theorem"
"""Name of a statement that is put below a file's text: its own may be taken there."""


def below(context: Context, theorem: Theorem) -> Theorem:
    """A statement as a command below a context, under a name that is free there; shown under its own."""
    binders = f" {theorem.binders}" if theorem.binders.strip() else ""
    before = f"theorem {FRESH}{binders} : {theorem.conclusion} := by\n  "
    return Theorem(theorem.name, theorem.binders, theorem.conclusion, place=Place(context, before, "\n"))


def negated(theorem: Theorem) -> Theorem | None:
    """A theorem whose proof disproves this one; None for a place in a file whose goal its text does not show."""
    if theorem.place is None:
        return theorem.negation()
    if theorem.place.before.startswith(f"theorem {FRESH}"):
        return below(theorem.place.context, theorem.negation())
    return None


def written(theorem: Theorem, script: Sequence[str]) -> str:
    """A theorem with its proof, for people: lines of tactics, the first in column 0. In a file: its command."""
    if theorem.place is not None and not theorem.place.before.startswith(f"theorem {FRESH}"):
        return filled(theorem.place, script).strip("\n")
    return f"{theorem.signature} := by\n{_indented(script, INDENT)}"


def filled(place: Place, script: Sequence[str]) -> str:
    """The command with a script in its gap: lines of tactics, the first in column 0."""
    line = place.before[place.before.rfind("\n") + 1 :]
    alone = bool(_NOTHING_BEHIND.match(place.after))
    if place.tactic:
        if len(script) == 1:
            return place.before + script[0] + place.after
        if not line.strip() or (alone and _OPENS_BLOCK.search(line)):
            return _block(place, line, script)
        return filled_in_parentheses(place, script)
    if alone and _OPENS_TERM.search(line if line.strip() else place.before.rstrip()):
        if len(script) == 1:
            return f"{place.before}by {script[0]}{place.after}"
        return f"{place.before}by\n{_indented(script, _indentation(line) + INDENT)}{place.after}"
    if len(script) == 1:
        opened, closed = _ENCLOSED
        enclosed = opened.search(line) and closed.match(place.after)
        return place.before + (f"by {script[0]}" if enclosed else f"(by {script[0]})") + place.after
    return filled_in_parentheses(place, script)


def filled_in_parentheses(place: Place, script: Sequence[str]) -> str:
    """The same in the form that is right wherever the gap stands: one tactic, or one term, in parentheses."""
    prefix = " " * (place.column + len(INDENT))
    return f"{place.before}{'(' if place.tactic else '(by'}\n{_indented(script, prefix)})" + place.after


def _block(place: Place, line: str, script: Sequence[str]) -> str:
    """Tactics line by line, below each other; on lines of their own behind `by` and `=>`."""
    if re.search(r"(?:\b(?:decreasing_)?by|=>)[ \t]*$", line):
        return f"{place.before.rstrip(' ')}\n{_indented(script, _indentation(line) + INDENT)}{place.after}"
    return place.before + _indented(script, " " * place.column).lstrip(" ") + place.after


def _indentation(line: str) -> str:
    """Of the first tactic of a line: bullets before it count."""
    match = re.match(r"[ \t]*(?:[·.] *)*", line)
    return " " * (match.end() if match else 0)


def _indented(script: Sequence[str], prefix: str) -> str:
    return "\n".join(prefix + line if line.strip() else "" for line in script)
