"""The venue of an evaluation: this process, or a mesh. It knows its Lean, and plays attempts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from common.sampling import Sampling
from node.eval.plan import LeanFacts, Plan
from node.eval.records import StatementRecord
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.play.attempts import Attempts


class Venue(Protocol):
    """The place where an evaluation is played."""

    @property
    def lean(self) -> LeanFacts: ...

    @property
    def toolchain(self) -> LeanToolchain | None:
        """The Lean of this process; None on a mesh."""

    @property
    def policy(self) -> str:
        """The policy as results name it."""

    @property
    def asked(self) -> str:
        """The policy as attempts name it."""

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

    @property
    def searches(self) -> int:
        """Concurrent searches; 0: as many as there is capacity for."""

    @property
    def gather_seconds(self) -> float:
        """How long a proof waits for further proofs, so that they are verified in one batch."""

    async def refusals(self, statements: Sequence[StatementRecord]) -> dict[str, str]:
        """Names of the statements that do not elaborate, with Lean's errors. A venue may leave this to the attempts."""

    def attempts(self, plan: Plan) -> AbstractAsyncContextManager[Attempts]:
        """What plays the attempts, for the block. Raises BadPolicy, ProvingFailed, BusError."""

    def lean_cpu(self) -> float | None:
        """CPU seconds of the Lean processes so far; None if unknown."""
