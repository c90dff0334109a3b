"""What a client has built, as texts: environments, and proof states in them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from node.lean.adapters.repl.holes import Hole
from node.lean.adapters.repl.protocol import ProofStatus


class ProofState(msgspec.Struct, frozen=True):
    """Where a tactic can be run: a hole of a text, and the tactics in it so far."""

    hole: Hole | None
    """None where there is no one place: a `sorry` that runs for several goals."""
    script: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sorry: bool = False
    """Whether something in the script has no proof."""
    closed: str = ""
    """Its status once no goal is left, where that is not for the script to say: the proof around it is not done."""

    @property
    def status(self) -> str:
        """What is left to do, as far as the state itself shows it; Lean may know more of a state without goals."""
        if self.goals:
            return ProofStatus.OPEN
        return self.closed or (ProofStatus.HAS_SORRY if self.sorry else ProofStatus.COMPLETED)


def status_around(left: Sequence[str], place: int, places: int, sorry: bool) -> str:
    """The status of a `sorry` in a tactic, once it is filled: its proof is part of one that the tactic goes on with.

    `left`: the goals that the tactic leaves; `place`: of `places` such holes, which one this is, from 0; `sorry`: the
    proof so far leaves something out. Holes behind this one are not filled yet when it is.
    """
    if left or place < places - 1:
        return ProofStatus.HAS_METAVARIABLES
    return ProofStatus.HAS_SORRY if sorry or place else ""
