"""A learner and its prover that are killed at any point, over a real broker and real Lean: nothing is lost, nothing is
counted twice, and what the learner knows agrees with its records.

What is killed is a "process" in this one: it loses its connection, its memory and its leases, and nothing after the
point runs any more. What a search finds is drawn; all else is the real dispatcher, prover, collector and database.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import itertools
import secrets
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import HealthCheck, settings, stateful, strategies as st

from broker import streams
from common.bus import Bus, BusSettings, Lease
from common.lean import ProofTree
from common.life import faults
from common.life.context import NodeContext
from common.protocol.attempts import LEARNER, Attempt, AttemptResult, Purpose
from common.protocol.subjects import result as results_of
from common.records.rows import Standing, learn
from common.records.store import Store
from node.learner.attempts.collector import Collector
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.replay.replay import fingerprint
from node.learner.settings import LearnerSettings
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from tests.background import RunOnBroker, SharedLean
from tests.node.learner.builders import planned, result
from tests.node.learner.works import PROOF, begun
from tests.waiting import until

ROOT = Path(__file__).parents[3]

T = TypeVar("T")


FILES = [*(ROOT / "node/learner/attempts").glob("*.py"), ROOT / "node/prover/prover.py"]
CODE = [node for file in FILES for node in ast.walk(ast.parse(file.read_text("utf-8")))]
CALLS = [node for node in CODE if isinstance(node, ast.Call) and ast.unparse(node.func) == "faults.reach"]
POINTS = sorted({call.args[0].value for call in CALLS})  # type: ignore[attr-defined]
"""The names of all points that attempts and results pass on their way, from the code."""

FOUND = {what: what for what in ("proved", "failed", "error", "undecided")}
FOUND |= {"no proof": "rejected", "bad-statement": "error"}
"""What a search may find, and what is recorded then: the verifier accepts all statements."""


REDELIVERED = 0.3
"""Seconds until a lease of a killed process runs out."""


def found(attempt: Attempt, what: str, prover: str) -> AttemptResult:
    claimed = "proved" if what == "no proof" else what
    proof = {"proved": PROOF, "no proof": ProofTree("exact h", state="⊢ p")}.get(what)
    return msgspec.structs.replace(result(attempt, claimed, prover), proof=proof)


def recorded_as(attempt: Attempt, what: str) -> str:
    """The proof of a statement does not prove its negation."""
    return "rejected" if what == "proved" and attempt.purpose is Purpose.DISPROVE else FOUND[what]


class Killed(BaseException):
    """The process has reached the point at which it dies. Nothing may handle it."""


class Faults:
    """Takes the place of `faults.reach`, which would kill this process."""

    def __init__(self) -> None:
        self.point = ""
        """Where a process dies next; empty: nowhere."""
        self.died = asyncio.Event()

    def reach(self, name: str) -> None:
        if self.died.is_set() and name.startswith(self.point.partition(":")[0]):
            raise Killed(name)  # what else is at work in a dead process comes no further
        if name == self.point:
            self.died.set()
            raise Killed(name)


async def cut(bus: Bus) -> None:
    """End a connection as a kill does: nothing more is sent, nothing handed back."""
    bus._connection._closing = True
    bus._connection.client._pending = []
    await bus._connection.client.close()


class LearnerProcess:
    @classmethod
    async def start(cls, run: RunOnBroker, folder: Path, learner: LearnerSettings) -> LearnerProcess:
        """As `node.learner.service` starts one, without a trainer."""
        self = cls()
        ctx = NodeContext("learner", run.node)
        ctx.bus = self.bus = await Bus.connect(run.bus, run=run.name, name="learner", wait=10)
        self.run = await begun(ctx, folder, learner, [f"t{number}" for number in range(6)])
        self.directory, self.store = self.run.directory, self.run.store
        self.collector = Collector(self.run)
        self.dispatcher = await Dispatcher.create(self.run)
        self.dispatcher.learning = True
        ctx.spawn(self.collector.work(), "collector")
        ctx.spawn(self.dispatcher.work(), "dispatcher")
        return self

    async def die(self) -> None:
        await cut(self.bus)
        await self.run.ctx.cancel_tasks()
        await self.store.close()
        self.directory.close()


class DrawnProver(Prover):
    """A prover whose searches find what is drawn."""

    def __init__(self, bus: Bus) -> None:
        self.name = f"prover-{secrets.token_hex(3)}"
        super().__init__(bus, ProverSettings(policy="tactics", poll_seconds=0.05, max_deliveries=10**6), self.name)
        self.finds: Callable[[Attempt], AttemptResult] = lambda attempt: found(attempt, "failed", self.name)

    async def _result(self, lease: Lease[Attempt]) -> AttemptResult:
        return self.finds(lease.message)

    async def play(self, count: int, finds: Callable[[Attempt], AttemptResult]) -> None:
        """Lease so many attempts, and deliver what is found."""
        self.finds = finds
        leases: list[Lease[Attempt]] = []
        while len(leases) < count:
            leases += await self._take(count - len(leases))
        await asyncio.gather(*map(self._play_leased, leases))


class Mesh:
    """A run with one learner and one prover, and what was sent in it. Synchronous, over an event loop of its own."""

    def __init__(self, broker: BusSettings, lean: SharedLean, reach: Callable[[Faults], None]) -> None:
        self.leaving = contextlib.ExitStack()
        self.runner = self.leaving.enter_context(asyncio.Runner())
        self.folder = Path(self.leaving.enter_context(tempfile.TemporaryDirectory()))
        self.run = RunOnBroker(f"test-{secrets.token_hex(6)}", broker)
        self.settings = LearnerSettings(verify_gather=0.0, max_deliveries=10**6)
        self.settings.matchmaker.disprove_chance = 0.2
        self.sent: dict[str, set[str]] = {}
        """By attempt, what its results that the broker has stored may be recorded as."""
        self.played: dict[str, Attempt] = {}
        self.recorded: dict[str, str] = {}
        self.do(self._start())
        self.leaving.enter_context(lean.served(self.run))
        self.faults = Faults()
        reach(self.faults)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def _start(self) -> None:
        self.bus = await Bus.connect(self.run.bus, run=self.run.name, name="prover", wait=10)
        await streams.ensure(self.bus, ack_wait=REDELIVERED)
        self.learner = await LearnerProcess.start(self.run, self.folder, self.settings)
        self.prover = DrawnProver(self.bus)

    def close(self) -> None:
        """Stop everything, and remove the run."""

        async def end() -> None:
            await self.learner.die()
            await streams.remove(self.bus)
            await self.bus.close()

        self.do(end())
        self.leaving.close()

    # --- what happens ------------------------------------------------------------------------------------------------

    def finds(self, what: str) -> Callable[[Attempt], AttemptResult]:
        """A search that finds this, and a note of it."""

        def find(attempt: Attempt) -> AttemptResult:
            self.played[attempt.attempt_id] = attempt
            self.sent.setdefault(attempt.attempt_id, set()).add(recorded_as(attempt, what))
            return found(attempt, what, self.prover.name)

        return find

    async def play(self, count: int, what: str) -> None:
        await self.prover.play(count, self.finds(what))

    async def send_again(self, attempt_id: str, what: str) -> None:
        """A result of an attempt that has one: from a prover that had lost its lease."""
        attempt = self.played[attempt_id]
        message = self.finds(what)(attempt)
        await self.bus.publish_durable(results_of(LEARNER), message, message_id=secrets.token_hex(8))

    async def send_others(self) -> None:
        """What is nothing for this learner: a result of nobody's attempt, and bytes that are no message."""
        stranger = result(planned(10**6).attempt)
        await self.bus.publish_durable(results_of(LEARNER), stranger, message_id=secrets.token_hex(8))
        await self.bus._connection.publish(f"{self.run.name}.{results_of(LEARNER)}", b"\xc1")

    async def evaluate(self, label: str) -> None:
        evaluation = await self.learner.store.call(Store.begin_evaluation, label, 1, 16, 0.0)
        await self.learner.dispatcher.evaluate(self.learner.run.data.test, evaluation, 1, 16)

    async def kill_at(self, point: str, what: str) -> None:
        """Let the process that reaches the point next die there. Then it is started again.

        An attempt that was dispatched again after a kill may be played when it has its result. That one reaches no
        point, so another one is played."""
        self.faults.point = point
        while not self.faults.died.is_set():
            with contextlib.suppress(Killed):
                await self.play(1, what)
            await until(self._idle, what=f"a process that reaches {point}, or an end of the results")
        await self.restart(point.partition(":")[0])

    async def restart(self, role: str) -> None:
        """Kill a process, wherever it is, and start it again."""
        if role == "learner":
            await self.learner.die()
        else:
            await cut(self.bus)
            self.bus = await Bus.connect(self.run.bus, run=self.run.name, name="prover", wait=10)
            self.prover = DrawnProver(self.bus)
        self.faults.point = ""
        self.faults.died.clear()
        if role == "learner":
            self.learner = await LearnerProcess.start(self.run, self.folder, self.settings)

    async def settle(self) -> None:
        """Wait until every result that was sent is handled, and every attempt that is outstanding is published."""
        await until(self._idle, what="an end of the results")
        assert self.learner.run.ctx.crash is None

    async def _idle(self) -> bool:
        if self.faults.died.is_set():
            return True
        waiting, leased = await self.bus.backlog(), await self.bus.leased()
        unpublished = await self.learner.store.call(Store.unpublished, 1)
        consumer = "results-learner"
        return not (waiting[consumer] or leased[consumer] or self.learner.collector._tasks or unpublished)

    # --- what holds --------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Each attempt is outstanding or recorded, never both and never twice, and a record never changes."""
        # In one statement, because the thread of the records goes on meanwhile: it sees one state of the database.
        found = self._read(
            "SELECT 'result', attempt_id, outcome FROM results UNION ALL SELECT 'outbox', attempt_id, '' FROM outbox "
            "UNION ALL SELECT 'attempt', attempt_id, '' FROM attempts"
        )
        rows = [(attempt_id, outcome) for table, attempt_id, outcome in found if table == "result"]
        assert len(rows) == len(dict(rows))
        outstanding = {attempt_id for table, attempt_id, _ in found if table == "outbox"}
        dispatched = [attempt_id for table, attempt_id, _ in found if table == "attempt"]
        assert Counter(dispatched) == Counter([*outstanding, *dict(rows)])
        before, self.recorded = self.recorded, dict(rows)
        assert before.items() <= self.recorded.items()
        assert all(outcome in self.sent[attempt_id] for attempt_id, outcome in rows)

    def check_settled(self) -> None:
        """Nothing that was sent is lost, and what the learner has in memory is what it would read after a restart."""
        self.check()
        assert self.recorded.keys() == self.sent.keys()
        # 1. The standings are the fold of the results, in the records and in memory.
        standings: dict[str, Standing] = {}
        for theorem, purpose, outcome in self._read(
            "SELECT theorem_id, purpose, outcome FROM results JOIN attempts USING (attempt_id) ORDER BY results.rowid"
        ):
            if purpose != "eval":
                learn(standings.setdefault(theorem, Standing()), purpose == "disprove", outcome)
        run = self.learner.run
        assert self.do(run.store.call(Store.standings)) == standings
        assert {name: run.matchmaker.standing(name) for name in standings} == standings
        assert self.learner.dispatcher.outstanding.items() >= self.do(run.store.call(Store.outstanding)).items()
        again = Matchmaker([each.theorem.name for each in run.data.train], run.settings.matchmaker, seed=1)
        again.restore(standings, self.do(run.store.call(Store.outstanding_theorems)))
        number = self.learner.dispatcher.dispatched + 1
        assert run.algorithm.choose(run.matchmaker, number) == run.algorithm.choose(again, number)
        # 2. A proof has its transitions once, an evaluation's has none, and the replay has the numbers of the rows.
        examples = {each.number: each.transition for each in self.do(run.store.call(Store.examples))}
        proofs = self._read("SELECT purpose FROM proofs JOIN attempts USING (attempt_id)")
        assert len(proofs) == list(self.recorded.values()).count("proved")
        assert len(examples) == 2 * sum(purpose != "eval" for (purpose,) in proofs)
        refs = [*run.replay.refs(), *run.replay.held_out()]
        assert {file for file, _ in refs} <= {str(self.learner.directory.database)}
        held = Counter(fingerprint(examples[number]) for _, number in refs)
        assert held == Counter({fingerprint(each) for each in examples.values()})
        assert run.replay.last_id == max(examples, default=0)

    def _read(self, query: str) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.learner.directory.database)) as db:
            return db.execute(query).fetchall()


@pytest.fixture
def opened(broker: BusSettings, warm_lean: SharedLean, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Mesh]]:
    def reach(points: Faults) -> None:
        monkeypatch.setattr(faults, "reach", points.reach)

    yield lambda: Mesh(broker, warm_lean, reach)


def test_a_kill_at_each_point_loses_nothing_and_counts_nothing_twice(opened: Callable[[], Mesh]) -> None:
    mesh = opened()
    for point, what in zip(POINTS, itertools.cycle(("proved", "failed"))):
        mesh.do(mesh.kill_at(point, what))
        mesh.do(mesh.settle())
        mesh.check_settled()
    assert set(mesh.recorded.values()) >= {"proved", "failed"}
    mesh.close()


class Kills(stateful.RuleBasedStateMachine):
    """Attempts are played, results come twice and late, and processes die, in any order."""

    opened: Callable[[], Mesh]

    @stateful.initialize()
    def begin(self) -> None:
        self.mesh = type(self).opened()
        self.evaluations = 0

    @stateful.rule(count=st.integers(1, 3), what=st.sampled_from(sorted(FOUND)))
    def play(self, count: int, what: str) -> None:
        self.mesh.do(self.mesh.play(count, what))

    @stateful.precondition(lambda self: self.mesh.played)
    @stateful.rule(which=st.integers(0, 9), what=st.sampled_from(sorted(FOUND)))
    def play_again(self, which: int, what: str) -> None:
        # How many were played depends on the time of leases, so the number is not drawn below it.
        played = sorted(self.mesh.played)
        self.mesh.do(self.mesh.send_again(played[which % len(played)], what))

    @stateful.rule()
    def hear_others(self) -> None:
        self.mesh.do(self.mesh.send_others())

    @stateful.precondition(lambda self: self.evaluations < 2)
    @stateful.rule()
    def evaluate(self) -> None:
        self.evaluations += 1
        self.mesh.do(self.mesh.evaluate(f"step-{self.evaluations}"))

    @stateful.rule(point=st.sampled_from(POINTS), what=st.sampled_from(sorted(FOUND)))
    def kill_at(self, point: str, what: str) -> None:
        self.mesh.do(self.mesh.kill_at(point, what))

    @stateful.rule(role=st.sampled_from(["learner", "prover"]))
    def kill(self, role: str) -> None:
        self.mesh.do(self.mesh.restart(role))

    @stateful.rule()
    def settle(self) -> None:
        self.mesh.do(self.mesh.settle())
        self.mesh.check_settled()

    @stateful.invariant()
    def holds(self) -> None:
        self.mesh.check()

    def teardown(self) -> None:
        if hasattr(self, "mesh"):
            self.settle()
            self.mesh.close()


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("examples", "steps"), [(3, 8), pytest.param(25, 15, marks=pytest.mark.slow)])
def test_kills_at_any_moment_lose_and_repeat_nothing(opened: Callable[[], Mesh], examples: int, steps: int) -> None:
    machine = type("Kills", (Kills,), {"opened": staticmethod(opened)})
    size = settings(max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True, database=None)
    suppressed = settings(size, suppress_health_check=list(HealthCheck))
    stateful.run_state_machine_as_test(machine, settings=suppressed)
