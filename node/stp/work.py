"""What all steps of a run of self-play share: recipe, records, data, network and progress display; and `Proving`, which
plays attempts, elaborates statements and verifies proofs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from common.bus import RemoteFailure
from common.lean import BadStatement, ProofTree, Theorem
from common.life import faults
from common.life.waiting import Gathering, side_by_side
from common.protocol.attempts import Attempt, AttemptResult, Method, Purpose
from common.protocol.messages import LeanVerifyReply
from common.settings import Sampling
from common.watch.tracking import Tracked
from node.play.attempts import TrainedAttempts
from node.prover.environment import LeanEnvironment
from node.stp.data.initial import RunData
from node.stp.network import Network, retried
from node.stp.records import Part, Stage
from node.stp.settings import StpPlan, StpSettings
from node.stp.store import StpStore

NOTED_EVERY = 5.0
"""Seconds after which the time spent is recorded, so that a kill loses little of it."""


class Watcher(Protocol):
    """Displays the progress of a run."""

    def note(self, text: str) -> None:
        """Show a message."""

    def part(self, name: str, total: int) -> None:
        """Begin a part with `total` items; 0: the number is unknown."""

    def advance(self, done: int) -> None:
        """`done` items of the part are finished."""


@dataclass
class Work:
    """One run of self-play."""

    plan: StpPlan
    store: StpStore
    data: RunData
    network: Network
    proving: Proving
    watcher: Watcher
    tracked: Tracked | None = None

    @property
    def settings(self) -> StpSettings:
        return self.plan.settings

    @property
    def directory(self) -> Path:
        """The run's folder."""
        return self.plan.directory

    def reach(self, round: int, stage: Stage, *, weights: int | None = None, checkpoint: str | None = None) -> None:
        """Mark a stage of a round as reached. Tests may kill the process before and after."""
        faults.reach(f"stp-{round}:before-{stage}")
        self.store.reach(round, stage, time.time(), weights=weights, checkpoint=checkpoint)
        faults.reach(f"stp-{round}:{stage}")

    @contextmanager
    def timed(self, round: int, part: Part, total: int = 0) -> Iterator[Meter]:
        """Add the time of the block to a part of a round."""
        meter = Meter(self, round, part)
        self.watcher.part(f"round {round}: {part}", total)
        try:
            yield meter
        finally:
            meter.spend()


class Meter:
    """Reports a part's progress to the watcher, and records the time that it takes."""

    def __init__(self, work: Work, round: int, part: Part) -> None:
        self._work, self._round, self._part = work, round, part
        self._since = time.monotonic()

    def at(self, done: int) -> None:
        """`done` items are finished."""
        faults.reach(f"stp-{self._round}:{self._part}")
        self._work.watcher.advance(done)
        if time.monotonic() - self._since > NOTED_EVERY:
            self.spend()

    def spend(self) -> None:
        """Record the time since the last record."""
        now = time.monotonic()
        self._work.store.spend(self._round, self._part, now - self._since)
        self._since = now


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


class Proving:
    """Attempts, statements and proofs of self-play, in this process or on a mesh."""

    def __init__(
        self,
        place: TrainedAttempts,
        *,
        weights: int | None,
        sampling: Sampling | None = None,
        policy: str = "",
        at_once: int = AT_ONCE,
    ) -> None:
        """`weights`: the version to sample proofs from; None: the latest at any time. `sampling`: None for the provers'
        own. `policy`: the policy to sample proofs from; empty: the provers' own. `at_once`: proofs per request; equal
        samples need equal numbers."""
        self.place = place
        self.weights = weights
        """The weights version for attempts that start from now on."""
        self._sampling = sampling
        self.policy = policy
        """The policy for these attempts."""
        self._at_once = at_once
        self._gathering = Gathering(GATHER_SECONDS, asyncio.Event())

    async def attempts(self, tasks: Sequence[Task]) -> AsyncGenerator[AttemptResult, None]:
        """The results of the tasks, in any order, each once: see `Attempts.results`."""
        async for result in self.place.results([self._attempt(task) for task in tasks]):
            yield result

    def _attempt(self, task: Task) -> Attempt:
        return Attempt(
            attempt_id=task.attempt_id,
            theorem_id=task.theorem.name,
            theorem=task.theorem,
            purpose=Purpose.TRAIN,
            simulations=task.samples,
            seed=task.seed,
            weights=self.weights,
            samples=min(self._at_once, task.samples),
            method=Method.WHOLE_PROOF,
            policy=self.policy,
            every_proof=True,
            sampling=self._sampling,
        )

    async def elaborate(self, theorems: Sequence[Theorem]) -> AsyncGenerator[tuple[Theorem, str], None]:
        """Each theorem with Lean's error (empty if it elaborates), in any order. Raises BusError if Lean does not
        answer."""
        at_once = STATEMENTS_PER_WORKER * (await self.place.capacity()).workers
        async for answer in side_by_side(self._elaborated, theorems, at_once):
            yield answer

    async def _elaborated(self, theorem: Theorem) -> tuple[Theorem, str]:
        lean = LeanEnvironment(self.place.asking, theorem, tactic_timeout=OPEN_SECONDS, patience=PATIENCE)
        try:
            await retried(lean.open)
        except BadStatement as error:
            return theorem, str(error) or "Lean rejects it"
        except RemoteFailure as failure:
            return theorem, f"Lean does not say whether it elaborates: {failure}"
        return theorem, ""

    async def verify(self, proofs: Sequence[tuple[Theorem, str]]) -> AsyncGenerator[tuple[int, LeanVerifyReply], None]:
        """The verdict on each proof, with its number (from 0), in any order. Raises BusError if Lean does not
        answer."""
        at_once = PROOFS_PER_CHECK * (await self.place.capacity()).verifications
        async for verdict in side_by_side(self._verified, enumerate(proofs), at_once):
            yield verdict

    async def _verified(self, proof: tuple[int, tuple[Theorem, str]]) -> tuple[int, LeanVerifyReply]:
        number, (theorem, text) = proof
        await self._gathering.wait()
        try:
            return number, await retried(self.place.verify, theorem, ProofTree(text))
        except RemoteFailure as failure:
            return number, LeanVerifyReply(accepted=False, reason=f"no verdict: {failure}")
