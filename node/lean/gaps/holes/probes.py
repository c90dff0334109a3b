"""Tells whether a `sorry` stands for a proof or for data, by replacing each one with a probe. Pure.

A probe has Lean elaborate the goal's type as a proposition and report whether that succeeded. Only a reported success
counts as a missing proof. So a `sorry` that Lean never elaborates does not count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.gaps.holes.positions import position
from node.lean.text.mentions import Mention
from node.lean.worker.framing import Diagnostic, Position

_PROOF, _DATA = "proofmesh: a proof", "proofmesh: data"


@dataclass(frozen=True)
class ProbedText:
    """A text with probes."""

    text: str
    places: tuple[tuple[Position, Position], ...]
    """For each mention, the positions of its two possible messages: for a proof, and for data."""

    def proofs(self, diagnostics: Sequence[Diagnostic]) -> list[bool]:
        """For each mention, True if Lean's messages on the text show that a proof is missing there.

        If a tactic runs on several goals, all of them must be propositions: Lean joins the messages of one position.
        """
        reported = {(item.range.start, line) for item in diagnostics for line in item.message.strip().split("\n")}
        return [(proof, _PROOF) in reported and (data, _DATA) not in reported for proof, data in self.places]


def probed(text: str, mentioned: Sequence[Mention], tactics: Sequence[bool]) -> ProbedText:
    """The text with a probe in place of each `sorry`. `tactics`: for each mention, True if it is a tactic."""
    pieces, at, offset, marks = [], 0, 0, []
    for mention, tactic in zip(mentioned, tactics, strict=True):
        probe = f'((first | (show (_ : Prop); trace "{_PROOF}") | trace "{_DATA}"); sorry)'
        if not tactic:
            probe = f"(by {probe})"
        before = text[at : mention.start]
        begin = offset + len(before)
        marks.append((begin + probe.index("trace"), begin + probe.rindex("trace")))
        pieces += [before, probe]
        offset, at = begin + len(probe), mention.end
    result = "".join([*pieces, text[at:]])
    return ProbedText(result, tuple((position(result, proof), position(result, data)) for proof, data in marks))
