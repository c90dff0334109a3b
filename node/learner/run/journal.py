"""What a learner tells the world: lines of metrics.jsonl, points and proofs for the monitor, gauges, counts."""

from __future__ import annotations

import textwrap
import time
from collections import deque
from pathlib import Path

from common import subjects
from common.attempts import Attempt, AttemptOutcome, Purpose
from common.curves import append_line, encode_line
from common.evaluations import Evaluated
from common.messages import Point, ProofFound
from common.metrics import counter, gauge
from common.node import NodeContext
from node.lean.text.filling import written
from node.learner.run.directory import explained

RESULTS = counter("learner_results", "Recorded results", ["purpose", "outcome"])
DUPLICATES = counter("learner_duplicate_results", "Results of attempts that were recorded before, or are not ours")
DISPATCHED = counter("learner_attempts_dispatched", "Attempts written to the outbox", ["purpose"])
TRANSITIONS = gauge("learner_replay_transitions", "Transitions in the replay window")
STEPS = gauge("learner_train_steps", "Optimizer steps since the run began")
PAUSED = gauge("learner_pause_fraction", "Share of the time of reinforcement learning in which inference was paused")
FAILURES = counter("learner_trainer_failures", "Trainer groups that died or hung and were started again")

SOLVE_WINDOW = 200
"""Recent decided attempts to prove train statements, over which the solve rate is taken."""


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
        """Share of recent decided attempts to prove train statements that did."""
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
        """Expansions per second since the last call, as recorded results tell it."""
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        expansions, self._expansions = self._expansions, 0
        self.expansions_per_s = expansions / max(seconds, 1e-3)
        return self.expansions_per_s

    async def point(self, step: int, values: dict[str, float]) -> None:
        """One line of metrics.jsonl, and the same for the monitor. Raises RunDirectoryError."""
        STEPS.set(step)
        await self._append(round(time.time(), 3), step, values)

    async def evaluation(self, found: Evaluated) -> None:
        """The same for an evaluation that was finished: its time is its end's, its step that of its weights.

        Raises RunDirectoryError.
        """
        values: dict[str, float] = {
            "eval_solve_rate": found.solve_rate,
            "eval_statements": found.statements,
            "eval_solved": found.solved,
            "eval_undecided": found.undecided,
            "eval_simulations": found.simulations,
            "eval_beside": found.beside,
        }
        await self._append(found.time, found.step, values)

    async def _append(self, when: float, step: int, values: dict[str, float]) -> None:
        rounded = {key: round(value, 6) for key, value in values.items()}
        with explained(self._path):
            append_line(self._path, encode_line(when, step, rounded))
        await self._ctx.bus.publish(self._subject("point"), Point(time=when, step=step, values=rounded))

    async def proof(self, attempt: Attempt, script: str, simulations: int) -> None:
        """Announce a verified proof."""
        lean = written(attempt.theorem, textwrap.dedent(script).split("\n"))
        found = ProofFound(
            theorem_id=attempt.theorem_id,
            attempt_id=attempt.attempt_id,
            purpose=attempt.purpose,
            time=time.time(),
            lean=lean,
            simulations=simulations,
        )
        await self._ctx.bus.publish(self._subject("proof"), found)

    def _subject(self, kind: str) -> str:
        return subjects.telemetry(self._ctx.role, self._ctx.id, kind)
