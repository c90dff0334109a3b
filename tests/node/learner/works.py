"""Collectors and dispatchers at work on a run, and results as provers send them."""

import asyncio
import secrets
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

import msgspec

from common.bus import Bus
from common.lean import ProofTree
from common.life.context import NodeContext
from common.life.pulse import send_heartbeat
from common.output.terminal import Console
from common.output.visible import as_json
from common.protocol.attempts import LEARNER, Attempt, AttemptResult, ResultPart, Transition
from common.protocol.subjects import result as results_of
from common.records.lately import Fault
from common.records.store import Store, StoreThread
from node.command.watch.report import verdict
from node.command.watch.top import Watched, drawn
from node.learner.algorithms.algorithm import named
from node.learner.attempts.collector import Collector
from node.learner.attempts.dispatcher import Dispatcher
from node.learner.choosing.data import Data
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.replay.replay import Replay
from node.learner.run import LearnerJournal, Run, RunDirectory
from node.learner.settings import LearnerSettings
from tests.node.learner.builders import planned, result, row
from tests.waiting import until

STATES = ("p q : Prop\n⊢ p ∧ q → q ∧ p", "h : p ∧ q\n⊢ q ∧ p")

PROOF = ProofTree("intro h", ((0,),), (ProofTree("exact ⟨h.2, h.1⟩", state=STATES[1]),), STATES[0])

STEPS = [Transition(STATES[0], "intro h", 2), Transition(STATES[1], "exact ⟨h.2, h.1⟩", 1)]


def claim(attempt: Attempt, proof: ProofTree = PROOF, **changes: object) -> AttemptResult:
    """A result that says `proved`."""
    return msgspec.structs.replace(result(attempt), proof=proof, **changes)


async def begun(ctx: NodeContext, folder: Path, settings: LearnerSettings, names: Sequence[str]) -> Run:
    """A run as `node.learner.service` begins it, without a trainer; `v` and `w` are to be scored."""
    directory = RunDirectory(folder, ctx.settings.run)
    directory.open()
    data = Data("digest", [row(name) for name in names], [row("v", "test"), row("w", "test")], [], [])
    store = await StoreThread.open(directory.database)
    await store.call(lambda opened: opened._db.execute("PRAGMA synchronous = OFF"))  # the kernel is not killed
    await store.call(Store.add_theorems, [*data.train, *data.test])
    matchmaker = Matchmaker(names, settings.matchmaker, seed=1)
    matchmaker.restore(await store.call(Store.standings), await store.call(Store.outstanding_theorems))
    replay, journal = Replay(directory.database, settings.replay), LearnerJournal(ctx, directory.metrics)
    await store.call(lambda opened: replay.fill(opened.examples))
    return Run(ctx, settings, directory, store, data, matchmaker, replay, journal, named(settings))


@asynccontextmanager
async def collecting(run: Run) -> AsyncIterator[Collector]:
    works = Collector(run)
    task = asyncio.create_task(works.work())
    yield works
    run.ctx.stopping.set()
    await task
    run.ctx.stopping.clear()


async def send(bus: Bus, *results: AttemptResult | ResultPart) -> None:
    for each in results:
        await bus.publish_durable(results_of(LEARNER), each, message_id=secrets.token_hex(8))


async def judged(run: Run, bus: Bus, *results: AttemptResult | ResultPart) -> Collector:
    """A collector that has taken these results, and whatever the broker held, and has ended."""
    async with collecting(run) as works:
        await send(bus, *results)
        await until(lambda: drained(bus), what="the end of the results")
    return works


async def drained(bus: Bus) -> bool:
    return not (await bus.backlog())["results-learner"] and not (await bus.leased())["results-learner"]


def outcomes(run: Run) -> dict[str, tuple[str, str]]:
    rows = sqlite3.connect(run.directory.database).execute("SELECT attempt_id, outcome, message FROM results")
    return {attempt_id: (outcome, message) for attempt_id, outcome, message in rows}


async def dispatch(run: Run, count: int, name: str = "t") -> list[Attempt]:
    plans = [planned(number, name) for number in range(1, count + 1)]
    await run.store.call(Store.dispatch, plans, 0.0)
    return [plan.attempt for plan in plans]


async def check_fault(run: Run, bus: Bus, fault: Fault) -> None:
    """Check that `report` and, after the learner's next heartbeat, `top` name what is slow."""
    assert verdict(run.directory.path, minutes=10).fault is fault
    await bus.register(run.ctx.info())
    watched = Watched(bus)
    await watched.begin()
    run.ctx.report(**(await run.store.call(Store.lately)).values())

    async def told() -> bool:
        await send_heartbeat(run.ctx)
        return (await watched.look()).lately is not None

    await until(told, what="a heartbeat")
    look = await watched.look()
    assert look.fault is fault, look.why
    assert look.nodes and all(0 <= node.up < 86_400 for node in look.nodes), "they began today"
    with (console := Console(width=200)).capture() as shown:
        console.print(drawn(look))
    for text in (look.why.partition(":")[0], "learner-", "todo-train", "Lean: run", "(slot was free)"):
        assert text in shown.get()
    assert as_json(asdict(look))


@asynccontextmanager
async def dispatching(run: Run) -> AsyncIterator[Dispatcher]:
    works = await Dispatcher.create(run)
    task = asyncio.create_task(works.work())
    yield works
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def taken(bus: Bus, purpose: str, count: int) -> list[Attempt]:
    """So many attempts, leased and acknowledged."""
    found: list[Attempt] = []
    async with asyncio.timeout(30):
        while len(found) < count:
            for lease in await bus.lease(f"todo-{purpose}", Attempt, limit=count - len(found), wait=0.2):
                found.append(lease.message)
                await lease.ack()
    return found
