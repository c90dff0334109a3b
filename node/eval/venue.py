"""The venue of an evaluation: this process, or a mesh. It knows its Lean and provides a player."""

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
    """The place where an evaluation is played."""

    @property
    def lean(self) -> LeanFacts: ...

    @property
    def toolchain(self) -> LeanToolchain | None:
        """The Lean of this process; None on a mesh."""

    @property
    def policy(self) -> str:
        """The policy, as on the command line."""

    @property
    def label(self) -> str:
        """The policy in words."""

    @property
    def weights(self) -> dict[str, str]:
        """Digests of the parts of the policy."""

    @property
    def leaves(self) -> int:
        """Expansions in flight within one search."""

    @property
    def sampling(self) -> Sampling | None:
        """How the venue's networks sample tactics; None: as requested."""

    @property
    def mesh(self) -> str:
        """Name of the mesh's run; empty for this process."""

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Names of the statements that do not elaborate, with Lean's errors. A venue may leave this to the attempts."""

    def player(self, plan: Plan) -> AbstractAsyncContextManager[Player]:
        """The player, for the duration of the block. Raises BadPolicy, ProvingFailed, BusError."""

    def lean_cpu(self) -> float | None:
        """CPU seconds of the Lean processes so far; None if unknown."""
