"""A proof for one gap of a command that has others: is it right, whatever will stand in those? Pure.

Each other `sorry` becomes an appeal to an axiom of ours, which anything may be concluded from. The command must then
rest on Lean's own axioms and on this one alone: a `sorry` that the proof itself uses, or what it is made from, is still
Lean's `sorryAx`, and is found.
"""

from __future__ import annotations

from collections.abc import Sequence

from common.places import Place
from node.lean.files.commands import PROOFS
from node.lean.files.looked import LookedAt
from node.lean.text.headers import import_lines
from node.lean.text.mentions import mentions

AXIOM = "proofmesh other gap"
"""Name of the axiom. In guillemets, and refused by the text rules: no proof can use it."""

_TOKEN = "proofmesh_other_gap"
"""What stands for a `sorry`: a term and a tactic, as that is."""

_PRELUDE = f"""axiom «{AXIOM}».{{u}} {{α : Sort u}} : α
macro "{_TOKEN}" : term => `(term| @«{AXIOM}» _)
macro "{_TOKEN}" : tactic => `(tactic| exact @«{AXIOM}» _)"""


def others_assumed(place: Place) -> tuple[Place, int]:
    """The place with every other `sorry` of its command replaced, and how many there are."""
    gap = "_____"  # of no meaning: it keeps what stands on both sides of it apart
    behind = len(place.before) + len(gap)
    starts = [each.start for each in mentions(place.before + gap + place.after)]
    before = _replaced(place.before, [start for start in starts if start < behind])
    after = _replaced(place.after, [start - behind for start in starts if start >= behind])
    return Place(place.context, before, after, place.tactic), len(starts)


def theorems_assumed(context: str) -> tuple[str, int]:
    """The text above with every `sorry` in its theorems replaced, and how many there are.

    In definitions it stays: Lean compiles them, and cannot compile an axiom.
    """
    if "sorry" not in context:
        return context, 0
    text = LookedAt(context)
    if "#guard_msgs" in text.code:  # it compares messages, and those would change
        return context, 0
    theorems = [(each.start, each.end) for each in text.commands if each.keyword in PROOFS]
    starts = [gap for gap in text.gaps if any(start <= gap < end for start, end in theorems)]
    return _replaced(context, starts), len(starts)


def with_axiom(context: str) -> str:
    """The text above a command with the axiom, below its imports: no namespace and no variable reaches there."""
    lines = context.split("\n", import_lines(context))
    imports, rest = lines[: import_lines(context)], lines[import_lines(context) :]
    return "\n".join([*imports, _PRELUDE, *rest])


def mentions_axiom(script: str) -> bool:
    """Whether a proof names what only we may use."""
    return AXIOM in script or _TOKEN in script


def _replaced(text: str, starts: Sequence[int]) -> str:
    """The text with our token in place of each `sorry` that begins at one of these places."""
    parts, at = [], 0
    for start in starts:
        parts += [text[at:start], _TOKEN]
        at = start + len("sorry")
    return "".join([*parts, text[at:]])
