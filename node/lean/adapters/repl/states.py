"""The proof states of a REPL session, stored as texts. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from node.lean.adapters.repl.holes import Hole
from node.lean.adapters.repl.protocol import ProofStatus


class ProofState(msgspec.Struct, frozen=True):
    """A state on which a tactic can run: a hole of a text, and the tactics in the hole so far."""

    hole: Hole | None
    """None if there is no single place: a `sorry` that runs for several goals."""
    script: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sorry: bool = False
    """True when the script leaves something without a proof."""
    closed: str = ""
    """Its status when no goal is left, if the proof around the hole decides it; empty if the script decides it."""

    @property
    def status(self) -> str:
        """The status that the state itself shows. For a state without goals, Lean may report an error as well."""
        if self.goals:
            return ProofStatus.OPEN
        return self.closed or (ProofStatus.HAS_SORRY if self.sorry else ProofStatus.COMPLETED)


def status_around(left: Sequence[str], place: int, places: int, sorry: bool) -> str:
    """The status of a `sorry` in a tactic after it is proved, given the proof around it; empty if this decides nothing.

    `left`: the goals that the tactic leaves. `place`: the number of this `sorry` among `places` in the tactic, from 0.
    `sorry`: the proof so far leaves something out. They are proved in order, so later ones are still open.
    """
    if left or place < places - 1:
        return ProofStatus.HAS_METAVARIABLES
    return ProofStatus.HAS_SORRY if sorry or place else ""
