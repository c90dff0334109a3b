"""Prepares a check of a proof for one gap of a command, independent of the command's other gaps. Pure.

Each other `sorry` is replaced by an axiom of ours that proves anything. The command may then use only Lean's own axioms
and this one. A `sorry` in the proof itself, or in a definition that it uses, is still Lean's `sorryAx` and is detected.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from common.places import Place
from node.lean.check.files.commands import PROOFS
from node.lean.check.files.looked import LookedAt
from node.lean.text.headers import import_lines
from node.lean.text.mentions import mentions

AXIOM = "proofmesh other gap"
"""Name of the axiom. It needs guillemets, and the text rules refuse it, so no proof can use it."""

_TOKEN = "proofmesh_other_gap"
"""Replacement for a `sorry`. Like `sorry`, it is both a term and a tactic."""

_PRELUDE = f"""axiom «{AXIOM}».{{u}} {{α : Sort u}} : α
macro "{_TOKEN}" : term => `(term| @«{AXIOM}» _)
macro "{_TOKEN}" : tactic => `(tactic| exact @«{AXIOM}» _)"""


def others_assumed(place: Place) -> tuple[Place, int]:
    """The place with every other `sorry` of its command replaced, and their number."""
    gap = "_____"  # a neutral filler, so that the text before and behind the gap forms no new word
    behind = len(place.before) + len(gap)
    starts = [each.start for each in mentions(place.before + gap + place.after)]
    before = _replaced(place.before, [start for start in starts if start < behind])
    after = _replaced(place.after, [start - behind for start in starts if start >= behind])
    return Place(place.context, before, after, place.tactic), len(starts)


def theorems_assumed(context: str) -> tuple[str, int]:
    """The text above with every `sorry` in its theorems replaced, and their number.

    Those in definitions stay, because Lean compiles definitions and cannot compile an axiom.
    """
    if "sorry" not in context:
        return context, 0
    text = LookedAt(context)
    if "#guard_msgs" in text.code:  # the replacement would change the messages that it compares
        return context, 0
    theorems = [each for each in text.commands if each.keyword in PROOFS]  # sorted, without overlaps
    before = [(gap, bisect_right(theorems, gap, key=lambda each: each.start) - 1) for gap in text.gaps]
    starts = [gap for gap, number in before if number >= 0 and gap < theorems[number].end]
    return _replaced(context, starts), len(starts)


def with_axiom(context: str) -> str:
    """The text above a command with the axiom right below its imports, outside all namespaces and variables."""
    lines = context.split("\n", import_lines(context))
    imports, body = lines[: import_lines(context)], lines[import_lines(context) :]
    return "\n".join([*imports, _PRELUDE, *body])


def mentions_axiom(script: str) -> bool:
    """True if a proof uses the name of our axiom or token."""
    return AXIOM in script or _TOKEN in script


def _replaced(text: str, starts: Sequence[int]) -> str:
    """The text with our token in place of each `sorry` that begins at one of these offsets."""
    parts, at = [], 0
    for start in starts:
        parts += [text[at:start], _TOKEN]
        at = start + len("sorry")
    return "".join([*parts, text[at:]])
