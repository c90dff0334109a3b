"""Where an evaluation is played: in this process, or on a mesh. It knows its Lean, and gives a player."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from common.sampling import Sampling
from node.eval.plan import LeanFacts, Plan
from node.eval.player import Player
from node.eval.records import StatementRecord
from node.lean.toolchain.lean_toolchain import LeanToolchain


class Venue(Protocol):
    """Where an evaluation is played."""

    @property
    def lean(self) -> LeanFacts: ...

    @property
    def toolchain(self) -> LeanToolchain | None:
        """The Lean of this process; None where a mesh has it."""

    @property
    def policy(self) -> str:
        """What proposes tactics, by name."""

    @property
    def label(self) -> str:
        """The same in words."""

    @property
    def weights(self) -> dict[str, str]:
        """Digests of what the policy is made of."""

    @property
    def leaves(self) -> int:
        """Expansions in flight within one search."""

    @property
    def sampling(self) -> Sampling | None:
        """How networks draw tactics there; None: as it is asked for."""

    @property
    def mesh(self) -> str:
        """Name of the mesh's run; empty for this process."""

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Statements that Lean does not take, by name, with its words; those of which it turns out later are not
        here."""

    def player(self, plan: Plan) -> AbstractAsyncContextManager[Player]:
        """What plays, for as long as the block lasts. Raises BadPolicy, ProvingFailed, BusError."""

    def lean_cpu(self) -> float | None:
        """CPU seconds of Lean processes so far; None where they are not known."""
