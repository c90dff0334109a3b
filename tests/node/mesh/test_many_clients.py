"""One mesh serves a learner, evaluations, people and self-play at once: each result goes to who asked for it."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from common.bus import Bus, BusSettings, names
from common.protocol import subjects
from common.protocol.attempts import AttemptOutcome, AttemptResult, Purpose
from common.protocol.messages import ProverFacts
from common.records.store import Store
from common.settings import PLAIN
from node.eval.folder import Standing
from node.eval.over_mesh import mesh_venue
from node.learner.attempts.collector import Collector
from node.learner.run import Run
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from node.proving.answers import answer
from node.proving.prover import Budget, mesh_prover
from node.proving.settings import ProvingSettings
from node.proving.statements import read_target
from tests.node.eval.places import OF, STATEMENTS, evaluated, info
from tests.node.learner.builders import planned
from tests.node.learner.conftest import run  # noqa: F401 - a fixture
from tests.node.stp.mesh import SWAP, proving_on, samples, task, written
from tests.waiting import until

ATTEMPTS = 4
"""Of the learner."""


@pytest.fixture
async def prover(bus: Bus, lean_proxy: object, tmp_path: Path) -> AsyncIterator[Prover]:
    """A prover that knows whole proofs, for self-play, and the fixed list of tactics."""
    policy = f"proofs:{written(tmp_path, {SWAP.name: samples(SWAP.name, 40, 3)})}"
    await bus.register(info("prover", searches=2, facts=ProverFacts(policy=policy, leaves=3, sampling=PLAIN)))
    work = Prover(bus, ProverSettings(policy=policy, searches=2, poll_seconds=0.05), "prover-1")
    stopping = asyncio.Event()
    proving = asyncio.create_task(work.run(stopping))
    yield work
    stopping.set()
    await asyncio.wait_for(proving, 60)


async def dispatch(run: Run, bus: Bus, first: int) -> None:  # noqa: F811
    """Attempts of the learner, as its dispatcher sends them."""
    plans = [planned(number, "t") for number in range(first, first + ATTEMPTS)]
    plans = [replace(each, attempt=msgspec.structs.replace(each.attempt, policy="tactics")) for each in plans]
    await run.store.call(Store.dispatch, plans, 0.0)
    for plan in plans:
        name = plan.attempt.attempt_id
        await bus.publish_durable(subjects.todo(Purpose.TRAIN), plan.attempt, message_id=name)


async def stored(bus: Bus, stream: str) -> int:
    info = await bus._jetstream.stream_info(stream)
    return int(info.state.messages)


async def test_a_learner_two_evaluations_a_person_and_self_play_share_a_mesh(
    run: Run,  # noqa: F811
    bus: Bus,
    broker: BusSettings,
    prover: Prover,
    tmp_path: Path,
) -> None:
    collector = Collector(run)
    collecting = asyncio.create_task(collector.work())
    await dispatch(run, bus, 1)

    async def evaluate(folder: str) -> dict[str, Standing]:
        async with mesh_venue(broker.url, bus.run, "tactics", 0, print) as venue:
            found = await evaluated(venue, tmp_path / folder, OF, STATEMENTS)
        return {name: each.standing for name, each in found.items()}

    async def prove() -> str:
        async with mesh_prover(broker.url, bus.run, ProvingSettings(policy="tactics")) as asked:
            swap = read_target(["theorem t (p q : Prop) : p ∧ q → q ∧ p"])
            return str((await answer(asked, swap, Budget(seconds=60, simulations=40))).outcome)

    async def self_play() -> list[AttemptResult]:
        tasks = [task(SWAP, 10, tag=f"-{turn}") for turn in range(3)]
        async with proving_on(bus) as proving:
            return [result async for result in proving.attempts(tasks)]

    async with asyncio.timeout(120):
        first, second, person, played = await asyncio.gather(evaluate("a"), evaluate("b"), prove(), self_play())
        await until(lambda: _recorded(run), what="the learner's results")
    run.ctx.stopping.set()
    await collecting
    assert first == second
    assert first == {"swap": Standing.SOLVED, "false": Standing.UNSOLVED, "missing": Standing.NOT_ELABORATED}
    assert person == AttemptOutcome.PROVED and len(played) == 3 and all(each.proofs for each in played)
    assert collector.verified == ATTEMPTS
    assert await stored(bus, names.results_stream(bus.run)) == 0, "learner and self-play have taken all of theirs"


async def _recorded(run: Run) -> bool:  # noqa: F811
    return (await run.store.call(Store.counts))["results"] == ATTEMPTS
