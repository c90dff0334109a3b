"""A proof for one gap of a command that has others: is it right, whatever will stand in those? Pure.

Each other `sorry` becomes an appeal to an axiom of ours, which anything may be concluded from. The command must then
rest on Lean's own axioms and on this one alone: a `sorry` that the proof itself uses, or what it is made from, is still
Lean's `sorryAx`, and is found.
"""

from __future__ import annotations

import re

from common.places import Place
from node.lean.files.commands import PROOFS, Text
from node.lean.text.headers import import_lines
from node.lean.text.lexing import blanked

AXIOM = "proofmesh other gap"
"""Name of the axiom. In guillemets, and refused by the text rules: no proof can use it."""

_TOKEN = "proofmesh_other_gap"
"""What stands for a `sorry`: a term and a tactic, as that is."""

_SORRY = re.compile(r"(?<![\w.'!?])sorry(?![\w'!?])")

_PRELUDE = f"""axiom «{AXIOM}».{{u}} {{α : Sort u}} : α
macro "{_TOKEN}" : term => `(term| @«{AXIOM}» _)
macro "{_TOKEN}" : tactic => `(tactic| exact @«{AXIOM}» _)"""


def others_assumed(place: Place) -> tuple[Place, int]:
    """The place with every other `sorry` of its command replaced, and how many there are."""
    gap = "_____"  # of no meaning: it keeps what stands on both sides of it apart
    code = blanked(place.before + gap + place.after)
    behind = len(place.before) + len(gap)
    before, earlier = _replaced(place.before, code[: len(place.before)])
    after, later = _replaced(place.after, code[behind:])
    return Place(place.context, before, after, place.tactic), earlier + later


def theorems_assumed(context: str) -> tuple[str, int]:
    """The text above with every `sorry` in its theorems replaced, and how many there are.

    In definitions it stays: Lean compiles them, and cannot compile an axiom.
    """
    if not _SORRY.search(context):
        return context, 0
    text = Text(context)
    if text.original != context:
        return context, 0  # it compares messages with `#guard_msgs`, and those would change
    parts, at, count = [], 0, 0
    command = text.after(None)
    while command is not None:
        if command.keyword in PROOFS:
            replaced, found = _replaced(context[command.start : command.end], text.code[command.start : command.end])
            parts += [context[at : command.start], replaced]
            at, count = command.end, count + found
        command = text.after(command)
    return "".join([*parts, context[at:]]), count


def with_axiom(context: str) -> str:
    """The text above a command with the axiom, below its imports: no namespace and no variable reaches there."""
    lines = context.split("\n", import_lines(context))
    imports, rest = lines[: import_lines(context)], lines[import_lines(context) :]
    return "\n".join([*imports, _PRELUDE, *rest])


def mentions_axiom(script: str) -> bool:
    """Whether a proof names what only we may use."""
    return AXIOM in script or _TOKEN in script


def _replaced(text: str, code: str) -> tuple[str, int]:
    parts, at, count = [], 0, 0
    for match in _SORRY.finditer(code):
        parts += [text[at : match.start()], _TOKEN]
        at, count = match.end(), count + 1
    return "".join([*parts, text[at:]]), count
