"""The interface for playing attempts: `here.py` plays them in this process, `mesh.py` on a running mesh."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from common.bus import Asking
from common.lean import ProofTree, Theorem
from common.output.command import Exit, UserError
from common.protocol.attempts import Attempt, AttemptResult
from common.protocol.messages import LeanVerifyReply
from node.prover.policies.fixed import CLOSING

if TYPE_CHECKING:
    from node.llm.address import HubAddress, ModelAddress
    from node.llm.sampling import Sampler


class ProvingFailed(UserError, RuntimeError):
    """The infrastructure failed, so there is no result about the theorem. The message has the reason."""

    exit_code = Exit.UNAVAILABLE


@dataclass(frozen=True)
class Capacity:
    """How much is done at once. Each number is at least 1."""

    searches: int
    """Attempts, with a few more on a mesh, so that no prover is idle."""
    workers: int
    """Lean workers."""
    verifications: int
    """Verifications, each of a batch of proofs."""


class Attempts(Protocol):
    """Plays attempts, and verifies proofs."""

    @property
    def asking(self) -> Asking:
        """Answers requests to Lean, and to the network if there is one."""

    @property
    def late(self) -> float:
        """Seconds that a result may take after the attempt's time limit."""

    async def open(self, policy: str, closing: Sequence[str] = CLOSING) -> None:
        """Make a policy ready for attempts that name it, or check that it is. `closing`: first tactics of the fixed
        list, where it can be chosen. Raises BadPolicy, ProvingFailed, BusError."""

    async def play(self, attempt: Attempt) -> AttemptResult:
        """The attempt's result. Failures of infrastructure are results, too. Raises BusError."""

    def results(self, attempts: Sequence[Attempt]) -> AsyncGenerator[AttemptResult, None]:
        """The results of attempts, in any order, each once. A result is given away when the next one is requested, so
        store it before. Raises BusError, and ValueError for two attempts with one id."""

    async def verify(self, theorem: Theorem, proof: ProofTree | str) -> LeanVerifyReply:
        """Lean's verdict on a proof or script, from fresh processes. Raises BusError if there is none."""

    async def capacity(self) -> Capacity:
        """The present capacity. Raises BusError."""

    async def trouble(self, policy: str) -> str:
        """The present problem of a policy's models and network, and of the connection; empty: none. Raises BusError."""


class TrainedAttempts(Attempts, Protocol):
    """Attempts whose network the caller trains and replaces."""

    async def serve_network(self, checkpoint: Path, version: int) -> None:
        """Make this checkpoint the network that `inference` names. When this returns, attempts that ask for this
        version get it. Versions count up; the same one may be served again. Raises ServingError, CheckpointError,
        BadPolicy, BusError, OSError."""

    async def serve_model(self, address: ModelAddress, checkpoint: HubAddress, version: int) -> str:
        """Serve a trained language model in place of the earlier one; returns its name in policies, without a template.
        `address`: the model that is served at first, with its servers. Raises ServingError, BusError."""

    def sampler(self, policy: str, patience: float) -> Sampler:
        """Samples from the language model that a policy names and that is open. `patience`: seconds."""


def is_inconclusive(result: AttemptResult) -> bool:
    """Whether infrastructure failed, for the whole attempt or for some of its expansions."""
    return not result.outcome.decided or result.statistics.expansions_lost > 0
