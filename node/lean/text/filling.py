"""Writes a proof into the gap of a command, in the layout that a person would choose. Pure.

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
"""Text right before a gap behind which a tactic block may have several lines."""

_OPENS_TERM = re.compile(r"(?::=|\bfrom|=>)[ \t]*$")
"""Text right before a gap behind which `by` may stand without parentheses, and its block on the lines below."""

_ENCLOSED = re.compile(r"[(⟨\[,][ \t]*$"), re.compile(r"[ \t]*[)⟩\]]")
"""Text before and behind a gap whose term needs no parentheses. A comma behind it does not count (`cases h, ...`)."""

_NOTHING_BEHIND = re.compile(r"[ \t]*(?:--[^\n]*)?(?:\n|$)")


FRESH = "proofmesh_theorem"
"""Name for a statement that is put below a file's text, because its own name may exist in the file."""


def below(context: Context, theorem: Theorem) -> Theorem:
    """A statement as a command below a context, under a name that is free there. The theorem keeps its own name."""
    binders = f" {theorem.binders}" if theorem.binders.strip() else ""
    before = f"theorem {FRESH}{binders} : {theorem.conclusion} := by\n  "
    return Theorem(theorem.name, theorem.binders, theorem.conclusion, place=Place(context, before, "\n"))


def negated(theorem: Theorem) -> Theorem | None:
    """A theorem whose proof disproves this one; None for a gap in a file, because its goal is not in the text."""
    if theorem.place is None:
        return theorem.negation()
    if theorem.place.before.startswith(f"theorem {FRESH}"):
        return below(theorem.place.context, theorem.negation())
    return None


def written(theorem: Theorem, script: Sequence[str]) -> str:
    """A theorem with its proof, for people; for a gap in a file, the filled command. `script`: lines of tactics, the
    first in column 0."""
    if theorem.place is not None and not theorem.place.before.startswith(f"theorem {FRESH}"):
        return filled(theorem.place, script).strip("\n")
    return f"{theorem.signature} := by\n{_indented(script, INDENT)}"


def filled(place: Place, script: Sequence[str]) -> str:
    """The command with a script in its gap. `script`: lines of tactics, the first in column 0."""
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
    """The command with the script in parentheses, as one tactic or one term. This form is valid in every gap."""
    prefix = " " * (place.column + len(INDENT))
    return f"{place.before}{'(' if place.tactic else '(by'}\n{_indented(script, prefix)})" + place.after


def _block(place: Place, line: str, script: Sequence[str]) -> str:
    """Put the tactics below each other. Behind `by` and `=>` they start on a new line."""
    if re.search(r"(?:\b(?:decreasing_)?by|=>)[ \t]*$", line):
        return f"{place.before.rstrip(' ')}\n{_indented(script, _indentation(line) + INDENT)}{place.after}"
    return place.before + _indented(script, " " * place.column).lstrip(" ") + place.after


def _indentation(line: str) -> str:
    """Indentation of the first tactic of a line, including bullets before it."""
    match = re.match(r"[ \t]*(?:[·.] *)*", line)
    return " " * (match.end() if match else 0)


def _indented(script: Sequence[str], prefix: str) -> str:
    return "\n".join(prefix + line if line.strip() else "" for line in script)
