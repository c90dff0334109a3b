"""The learner's telemetry: lines of metrics.jsonl, points and proofs for the monitor, gauges and counters."""

from __future__ import annotations

import textwrap
import time
from collections import deque
from pathlib import Path

from common.curves import Evaluated, append_line, encode_line
from common.life.metrics import counter, gauge
from common.life.node import NodeContext
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, Purpose
from common.protocol.messages import Point, ProofFound
from common.records.database import explained
from node.lean.text.script import written

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

    def __init__(self, ctx: NodeContext, path: Path) -> None:
        self._ctx = ctx
        self._path = path
        self._solved: deque[bool] = deque(maxlen=SOLVE_WINDOW)
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
