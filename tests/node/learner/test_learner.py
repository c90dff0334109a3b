"""A learner as a process, on a real broker, with a real prover (fixed tactics) and a real lean-proxy; killed at chosen
points, and started again."""

from __future__ import annotations

import asyncio
import signal

import psutil
import pytest

from common import curves
from tests.node.learner.world import DEADLINE, World, children_until_death, recorded, results
from tests.waiting import eventually


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["learner:before-checkpoint#5", "learner:weights-not-announced#3"])
async def test_a_learner_killed_at_a_critical_point_loses_nothing_and_counts_nothing_twice(
    world: World, fault: str
) -> None:
    first = await world.learner(fault)
    ranks = await children_until_death(first)
    assert first.returncode == -signal.SIGKILL
    assert ranks
    await eventually(lambda: not any(map(psutil.pid_exists, ranks)), what="the end of the ranks")
    store = world.store
    assert store.audit().sound
    dispatched, outstanding, done = store.ids()
    assert dispatched == outstanding | done and not outstanding & done
    before = results(world)
    held = (await world.bus.leased())["results-learner"]

    second = await world.learner()
    await recorded(world, dispatched, second)
    second.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        assert await second.wait() == 0
    store = world.store
    assert store.audit().sound
    after = results(world)
    assert {attempt_id: after[attempt_id] for attempt_id in before} == before
    assert store.counts()["proofs"] > 0 and store.counts()["transitions"] > 0
    # The second learner gave back all that it held. What the first one held may be on its way back still: results that
    # were recorded before it died come again as duplicates, once the broker has waited for their acknowledgement.
    assert (await world.bus.leased())["results-learner"] <= held
    used = {row[0] for row in store._rows("SELECT split FROM attempts JOIN theorems USING (theorem_id)")}
    assert used == {"train"}


@pytest.mark.slow
async def test_a_learner_killed_while_it_evaluates_beside_learning_goes_on_with_that_and_never_trains_on_it(
    world: World,
) -> None:
    flags = ("--evaluation.every", "2", "--evaluation.beside-statements", "6", "--evaluation.beside-simulations", "8")
    killed = await world.learner("learner:recorded-not-acked#6", *flags)
    await children_until_death(killed)
    assert killed.returncode == -signal.SIGKILL
    last = await world.learner("", *flags)
    lines = world.directory / curves.EVALUATIONS
    await eventually(lambda: len(curves.read_evaluations(lines)) >= 2, 3 * DEADLINE, "two evaluations")
    last.send_signal(signal.SIGTERM)
    async with asyncio.timeout(DEADLINE):
        assert await last.wait() == 0
    store, found = world.store, curves.read_evaluations(lines)
    assert store.audit().sound
    assert len(lines.read_bytes().splitlines()) == len(found), "a line is there twice, or torn"
    assert {each.statements for each in found} == {6} and all(each.beside for each in found)
    assert [each.step for each in found] == sorted({each.step for each in found})
    assert any(each.solved for each in found) and all(each.lean_attempts for each in found)
    purposes = (
        "SELECT DISTINCT split, purpose FROM {} JOIN attempts USING (attempt_id) JOIN theorems USING (theorem_id)"
    )
    assert ("test", "eval") in store._rows(purposes.format("results"))
    assert {split for split, _ in store._rows(purposes.format("transitions"))} == {"train"}
