"""Uses a mesh for self-play: provers run attempts, and lean-proxies elaborate conjectures and verify proofs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from common.gathering import Gathering
from common.lean import BadStatement, ProofTree, Theorem
from common.life.waiting import side_by_side
from common.protocol.attempts import SELF_PLAY, Attempt, AttemptResult, Method, Purpose
from common.protocol.messages import LeanVerifyReply, NodeInfo
from common.sampling import Sampling
from node.lean.text.script import proof_script
from node.prover.agents.environment import LeanEnvironment
from node.prover.agents.verification import MeshVerification
from node.stp.outstanding import Outstanding

if TYPE_CHECKING:
    from types import TracebackType

    from common.bus import Bus

AT_ONCE = 32
"""Proofs per request: the maximum of an inference node with the default configuration."""

STATEMENTS_PER_WORKER = 4
"""Statements sent to the lean-proxies per worker: a quarter of what their queues can hold."""

PROOFS_PER_CHECK = 64
"""Proofs sent to the lean-proxies per concurrent verification: one batch that runs, and one that waits. A batch of 32
takes little longer than a single proof."""

GATHER_SECONDS = 0.1
"""Seconds that a proof waits for other proofs, to form a batch: the replies to a batch arrive together."""

OPEN_SECONDS = 5.0
"""Tactic timeout. Opening a theorem runs no tactic; the value only sets when a request is retried."""

VERIFY_SECONDS = 120.0
"""Seconds after which an unanswered verification is retried: enough for two batches, one with a proof that hangs."""

PATIENCE = 600.0
"""Seconds to keep asking busy or absent lean-proxies for one answer, not counting time without a broker."""


@dataclass(frozen=True)
class Task:
    """Samples for one statement."""

    attempt_id: str
    """Unique among all attempts of all runs of this mesh, and unchanged when a run resumes after a crash. So results
    that arrived in the meantime are used, and attempts are not played twice."""
    theorem: Theorem
    samples: int
    seed: int
    """The samples depend on the seed, on the id, and on the number of samples per request."""


class MeshProving:
    """Attempts, statements and proofs of self-play on a running mesh.

    async with MeshProving(bus, weights=3) as proving:
        async for result in proving.attempts(tasks):
            ...
    """

    def __init__(
        self,
        bus: Bus,
        *,
        weights: int | None,
        sampling: Sampling | None = None,
        policy: str = "",
        at_once: int = AT_ONCE,
    ) -> None:
        """`weights`: the version to sample proofs from; None: the latest at any time. `sampling`: None for the provers'
        own. `policy`: the policy to sample proofs from; empty: the provers' own. `at_once`: proofs per request; equal
        samples need equal numbers."""
        self._bus = bus
        self.weights = weights
        """The weights version for attempts that start from now on."""
        self._sampling = sampling
        self.policy = policy
        """The policy for these attempts."""
        self._at_once = at_once
        self._outstanding = Outstanding(bus)
        self._leaving = asyncio.Event()
        self._gathering = Gathering(GATHER_SECONDS, self._leaving)

    async def __aenter__(self) -> MeshProving:
        self._outstanding.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving.set()
        await self._outstanding.stop()

    async def attempts(self, tasks: Sequence[Task]) -> AsyncGenerator[AttemptResult, None]:
        """The results of the tasks, in any order, each once. Attempts that the mesh lost, or that ended in an error,
        are played again. After several tries the last result is returned even if it is an error.

        A result is removed from the broker when the next one is requested, so store it before. Raises BusError if the
        broker was away for too long, ValueError for two tasks with one id.
        """
        async for result in self._outstanding.results([self._attempt(task) for task in tasks]):
            yield result

    def _attempt(self, task: Task) -> Attempt:
        return Attempt(
            attempt_id=task.attempt_id,
            theorem_id=task.theorem.name,
            theorem=task.theorem,
            purpose=Purpose.TRAIN,
            simulations=task.samples,
            seed=task.seed,
            client=SELF_PLAY,
            weights=self.weights,
            samples=min(self._at_once, task.samples),
            method=Method.WHOLE_PROOF,
            policy=self.policy,
            every_proof=True,
            sampling=self._sampling,
        )

    async def elaborate(self, theorems: Sequence[Theorem]) -> AsyncGenerator[tuple[Theorem, str], None]:
        """Each theorem with Lean's error (empty if it elaborates), in any order. Raises BusError if no lean-proxy
        answers."""
        at_once = STATEMENTS_PER_WORKER * await self._capacity("workers")
        async for answer in side_by_side(self._elaborated, theorems, at_once):
            yield answer

    async def _elaborated(self, theorem: Theorem) -> tuple[Theorem, str]:
        try:
            await LeanEnvironment(self._bus, theorem, tactic_timeout=OPEN_SECONDS, patience=PATIENCE).open()
        except BadStatement as error:
            return theorem, str(error) or "Lean rejects it"
        return theorem, ""

    async def verify(self, proofs: Sequence[tuple[Theorem, str]]) -> AsyncGenerator[tuple[int, LeanVerifyReply], None]:
        """The verdict on each proof, with its number (from 0), in any order. Raises BusError if no lean-proxy
        answers."""
        at_once = PROOFS_PER_CHECK * await self._capacity("verifications")
        async for verdict in side_by_side(self._verified, enumerate(proofs), at_once):
            yield verdict

    async def _verified(self, proof: tuple[int, tuple[Theorem, str]]) -> tuple[int, LeanVerifyReply]:
        number, (theorem, text) = proof
        try:
            script = proof_script(ProofTree(text))
        except ValueError as error:
            return number, LeanVerifyReply(accepted=False, reason=f"the proof cannot be written down: {error}")
        await self._gathering.wait()
        verification = MeshVerification(self._bus, theorem, timeout=VERIFY_SECONDS, patience=PATIENCE)
        return number, await verification.verdict(script)

    async def _capacity(self, resource: str) -> int:
        """The lean-proxies' total capacity, at least 1, because requests wait if there is none. Raises BusError."""
        return capacity_of(await self._bus.nodes(), resource)


def capacity_of(nodes: Sequence[NodeInfo], resource: str) -> int:
    """The total capacity that the lean-proxies report for a resource; at least 1."""
    return max(1, sum(node.capacity.get(resource, 0) for node in nodes if node.role == "lean-proxy"))
