"""Whether a proof is missing where a `sorry` stands, or data: Lean says so in a second text, with probes. Pure.

A probe stands in place of each `sorry`. It has Lean take the goal's type for a proposition, and say whether that went
well. Only where it did is a proof missing: a place that Lean never gets to is not taken for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.holes.positions import position
from node.lean.text.mentions import Mention
from node.lean.worker.framing import Diagnostic, Position

_PROOF, _DATA = "proofmesh: a proof", "proofmesh: data"


@dataclass(frozen=True)
class ProbedText:
    """A text with probes."""

    text: str
    places: tuple[tuple[Position, Position], ...]
    """By mention, where its two messages stand: of a proof, and of data."""

    def proofs(self, diagnostics: Sequence[Diagnostic]) -> list[bool]:
        """By mention, whether a proof is missing there, by Lean's messages on the text.

        Where tactics run on several goals, all of them must be proofs: Lean joins the messages of one place.
        """
        said = {(item.range.start, line) for item in diagnostics for line in item.message.strip().split("\n")}
        return [(proof, _PROOF) in said and (data, _DATA) not in said for proof, data in self.places]


def probed(text: str, mentioned: Sequence[Mention], tactics: Sequence[bool]) -> ProbedText:
    """A text with a probe in place of each `sorry`. `tactics`: by mention, whether a tactic stands there."""
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
    made = "".join([*pieces, text[at:]])
    return ProbedText(made, tuple((position(made, proof), position(made, data)) for proof, data in marks))
