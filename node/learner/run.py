"""One run in this process: its directory, the state that the learner's parts share, and its telemetry."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import textwrap
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from common import curves
from common.bus import Bus, BusError, persistently
from common.curves import Evaluated, encode_line
from common.files import append_line
from common.life.metrics import counter, gauge
from common.life.node import NodeContext
from common.life.waiting import wait_first
from common.protocol import subjects
from common.protocol.attempts import TRAINED_PURPOSES, Attempt, AttemptOutcome, Purpose
from common.protocol.messages import Point, ProofFound
from common.protocol.subjects import check_run_name
from common.records.database import RunDirectoryError, explained
from common.records.rows import Verdict
from common.records.store import Store, StoreThread
from common.run_folder import owned
from common.watch.tracking import Tracked
from node.lean.text.script import written
from node.learner.algorithms.algorithm import Algorithm
from node.learner.choosing.data import Data
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.replay.replay import Replay
from node.learner.settings import LearnerSettings

# ----------------------------------------------------------------------------------------------------------------------
# The run directory: its layout, and the lock that gives it to one process.

SPACE_NEEDED = 64 * 1024 * 1024
"""Bytes that must be free at start: some checkpoints of the demo's network, and the database's growth meanwhile."""


class RunDirectory:
    """`runs/<run>/`, owned by this process from `open` to `close`."""

    def __init__(self, root: Path, run: str) -> None:
        self.path = root / check_run_name(run)
        self.database = self.path / "proofs.sqlite"
        self.replay = self.path / "replay"
        self.checkpoints = self.path / "checkpoints"
        self.metrics = self.path / "metrics.jsonl"
        self.evaluations = self.path / curves.EVALUATIONS
        self.config = self.path / "config.toml"
        self.summary = self.path / "summary.json"
        self.weights = self.path / "weights"
        self.logs = self.path / "logs"
        self._owner = self.path / "owner.json"
        self._held = ExitStack()

    def open(self, wait: float = 0.0) -> None:
        """Create and lock the directory. `wait`: seconds to wait for the lock of a process that is about to end.

        Raises RunDirectoryError, which names the process that holds the lock or says why it cannot be written.
        """
        with explained(self.path):
            self._held.enter_context(owned(self.path, self._in_use, lock="lock", wait=wait))
            for folder in (self.replay, self.checkpoints, self.weights):
                folder.mkdir(exist_ok=True)
            owner = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S")}
            self._held.callback(self._owner.unlink, missing_ok=True)
            self._owner.write_text(json.dumps(owner), encoding="utf-8")
            self._check_space()

    def close(self) -> None:
        """Release the directory."""
        self._held.close()

    def _in_use(self) -> RunDirectoryError:
        try:
            owner = json.loads(self._owner.read_text(encoding="utf-8"))
            holder = f"process {owner['pid']} on {owner['host']} (since {owner['since']})"
        except (OSError, ValueError, KeyError):
            holder = "another process"
        return RunDirectoryError(f"{self.path} is in use by {holder}; stop it, or use --run")

    def _check_space(self) -> None:
        disk = os.statvfs(self.path)
        free = disk.f_bavail * disk.f_frsize
        if free < SPACE_NEEDED:
            raise RunDirectoryError(
                f"{self.path}: {free // 2**20} MiB are free, a run needs {SPACE_NEEDED // 2**20} MiB to start; free "
                "some space, or choose another folder with --directory"
            )


# ----------------------------------------------------------------------------------------------------------------------
# Telemetry: lines of metrics.jsonl, points and proofs for the monitor, gauges and counters.

RESULTS = counter("learner_results", "Recorded results", ["purpose", "outcome"])
DUPLICATES = counter("learner_duplicate_results", "Results of attempts that were recorded before")
DISPATCHED = counter("learner_attempts_dispatched", "Attempts written to the outbox", ["purpose"])
TRANSITIONS = gauge("learner_replay_transitions", "Transitions in the replay window")
STEP = gauge("learner_train_step", "Number of the latest optimizer step; smaller after a return to a checkpoint")
PAUSED = gauge("learner_pause_ratio", "Share of the time of reinforcement learning in which inference was paused")
FAILURES = counter("learner_trainer_failures", "Trainer groups that died or hung and were started again")

SOLVE_WINDOW = 200
"""Number of latest decided attempts to prove train statements from which the solve rate is computed."""


class LearnerJournal:
    """Telemetry of one learner."""

    def __init__(self, ctx: NodeContext, path: Path, tracked: Tracked | None = None) -> None:
        """`tracked` gets the points, too."""
        self._tracked = tracked
        self._ctx = ctx
        self._path = path
        self._solved: deque[bool] = deque(maxlen=SOLVE_WINDOW)
        for purpose, outcome in itertools.product((Purpose.TRAIN, Purpose.DISPROVE, Purpose.EVAL), AttemptOutcome):
            RESULTS.labels(purpose, outcome)  # with 0: Prometheus sees no increase when a series begins
        self._expansions = 0
        self._since = time.monotonic()
        self.expansions_per_s = 0.0

    def solve_rate(self) -> float:
        """Share of successes among the latest decided attempts to prove train statements."""
        return sum(self._solved) / len(self._solved) if self._solved else 0.0

    def counted(self, purpose: str, outcome: str, expansions: int) -> None:
        """A result was recorded."""
        RESULTS.labels(purpose, outcome).inc()
        self._expansions += expansions
        if purpose == Purpose.TRAIN and AttemptOutcome(outcome).decided:
            self._solved.append(outcome == AttemptOutcome.PROVED)

    def paused(self, fraction: float) -> None:
        """The share of the time of reinforcement learning in which inference was paused so far."""
        PAUSED.set(fraction)

    def speed(self) -> float:
        """Expansions per second since the last call, from the recorded results."""
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        expansions, self._expansions = self._expansions, 0
        self.expansions_per_s = expansions / max(seconds, 1e-3)
        return self.expansions_per_s

    async def point(self, step: int, values: dict[str, float]) -> None:
        """Write one line of metrics.jsonl, and send the same point to the monitor. Raises RunDirectoryError."""
        STEP.set(step)
        await self._append(round(time.time(), 3), step, values)

    async def evaluation(self, finished: Evaluated) -> None:
        """Write and send the point of a finished evaluation, with the time of its end and the step of its weights.

        Raises RunDirectoryError.
        """
        values: dict[str, float] = {
            "eval_solve_rate": finished.solve_rate,
            "eval_statements": finished.statements,
            "eval_solved": finished.solved,
            "eval_undecided": finished.undecided,
            "eval_simulations": finished.simulations,
            "eval_beside": finished.beside,
        }
        await self._append(finished.time, finished.step, values)

    async def _append(self, when: float, step: int, values: dict[str, float]) -> None:
        rounded = {key: round(value, 6) for key, value in values.items()}
        with explained(self._path):
            append_line(self._path, encode_line(when, step, rounded))
        if self._tracked is not None:  # beside the event loop: trackers may wait for a disk, or for a server
            await asyncio.to_thread(self._tracked.write, step, rounded)
        await self._ctx.bus.publish(self._subject("point"), Point(time=when, step=step, values=rounded))

    async def proof(self, attempt: Attempt, script: str, simulations: int) -> None:
        """Announce a verified proof."""
        lean = written(attempt.theorem, textwrap.dedent(script).split("\n"))
        message = ProofFound(
            theorem_id=attempt.theorem_id,
            attempt_id=attempt.attempt_id,
            purpose=attempt.purpose,
            time=time.time(),
            lean=lean,
            simulations=simulations,
        )
        await self._ctx.bus.publish(self._subject("proof"), message)

    def _subject(self, kind: str) -> str:
        return subjects.telemetry(self._ctx.role, self._ctx.id, kind)


# ----------------------------------------------------------------------------------------------------------------------
# The state that the learner's parts share.

R = TypeVar("R")


class Stopping(Exception):
    """The node stops while a request still waits for the broker."""


@dataclass(frozen=True)
class Recorded:
    """A result that was recorded just now."""

    attempt_id: str
    theorem_id: str
    purpose: str
    verdict: Verdict
    expansions: int


@dataclass
class Run:
    """One run in this process."""

    ctx: NodeContext
    settings: LearnerSettings
    directory: RunDirectory
    store: StoreThread
    data: Data
    matchmaker: Matchmaker
    replay: Replay
    journal: LearnerJournal
    algorithm: Algorithm
    """Decides what is attempted, how, and what is learned from it."""
    on_recorded: list[Callable[[Recorded], None]] = field(default_factory=list)
    judging: Counter[str] = field(default_factory=Counter)
    """By purpose, the number of attempts whose proofs are being verified. They are outstanding, but hold no search
    slot, so other attempts may begin."""
    on_judging: list[Callable[[], None]] = field(default_factory=list)
    """Called when the verification of a proof begins."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a result was recorded; ends `wait`."""

    @property
    def bus(self) -> Bus:
        return self.ctx.bus

    @property
    def log(self) -> Any:
        return self.ctx.log

    @property
    def stopping(self) -> bool:
        return self.ctx.stopping.is_set()

    @contextmanager
    def judged(self, purpose: str) -> Iterator[None]:
        """Count an attempt of this purpose as waiting for the verification of its proof."""
        self.judging[purpose] += 1
        for hear in self.on_judging:
            hear()
        try:
            yield
        finally:
            self.judging[purpose] -= 1

    async def recorded(self, event: Recorded) -> None:
        """Notify the learner's parts of a recorded result."""
        if event.purpose in TRAINED_PURPOSES:
            self.matchmaker.recorded(event.theorem_id, event.purpose == Purpose.DISPROVE, event.verdict.outcome)
        if event.verdict.outcome == AttemptOutcome.PROVED:
            await self.fill_replay()
        for hear in self.on_recorded:
            hear(event)
        self.changed.set()

    async def fill_replay(self) -> int:
        """Add new transitions from the database to the replay buffer; returns how many were new.

        Raises RunDirectoryError.
        """
        added = 0
        while rows := await self.store.call(Store.examples, self.replay.last_id):
            added += self.replay.add(rows)
        TRANSITIONS.set(len(self.replay))
        return added

    async def wait(self, seconds: float) -> None:
        """Wait until a result was recorded, the node stops, or `seconds` have passed."""
        await wait_first(self.changed, self.ctx.stopping, timeout=seconds)
        self.changed.clear()

    async def persistently(self, send: Callable[[], Awaitable[R]], complaint: str) -> R:
        """Retry until the broker accepts the request; each failure is logged as `complaint`. Raises Stopping if the
        node stops meanwhile."""
        try:
            return await persistently(send, complaint, until=lambda: self.stopping)
        except BusError as error:
            raise Stopping(complaint) from error


def now() -> float:
    """Unix time."""
    return time.time()
