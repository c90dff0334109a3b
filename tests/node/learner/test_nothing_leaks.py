"""Results of evaluations score and never train: through the real collector, with a real lean-proxy."""

from __future__ import annotations

from common.bus import Bus
from common.records.rows import Standing
from common.records.store import Store
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.run import Run
from tests.node.learner.builders import planned, result
from tests.node.learner.works import claim, collecting, drained, send
from tests.waiting import until


async def test_a_verified_proof_of_an_evaluation_leaves_no_trace_in_what_is_learned_from(
    run: Run, bus: Bus, lean_proxy: object
) -> None:
    evaluation = await run.store.call(Store.begin_evaluation, "step-3", 1, 16, 0.0, True)
    # Even one on a train statement, as after a change of the banks.
    evals = [planned(number, name, "eval", evaluation) for number, name in enumerate(("v", "t", "w"), start=1)]
    train = [planned(4, "u")]
    await run.store.call(Store.dispatch, evals, 0.0)
    async with collecting(run) as works:
        await send(bus, claim(evals[0].attempt), claim(evals[1].attempt), result(evals[2].attempt, "failed"))
        await until(lambda: drained(bus), what="the end of the results")
        assert works.verified == 2
        counts = await run.store.call(Store.counts)
        assert counts["eval:proved"] == 2 and counts["proofs"] == 2 and counts["transitions"] == 0
        assert await run.store.call(Store.examples) == [] and len(run.replay) == 0
        assert run.matchmaker.standing("t") == Standing() and run.journal.solve_rate() == 0.0
        assert await run.store.call(Store.standings) == {}  # what the matchmaker of the next process is told
        # The same proof of an attempt to train does all of this.
        await run.store.call(Store.dispatch, train, 0.0)
        await send(bus, claim(train[0].attempt))
        await until(lambda: drained(bus), what="the end of the results")
    assert len(run.replay) == 2 and run.matchmaker.standing("u").proved and run.journal.solve_rate() == 1.0
    again = Matchmaker(["t", "u"], run.settings.matchmaker, seed=1)
    again.restore(await run.store.call(Store.standings))
    assert again.standing("t") == Standing() and again.standing("u").proved
    costs = await run.store.call(Store.costs)
    assert costs["eval-beside"]["attempts"] == 3 and costs["train"]["attempts"] == 1 and "eval" not in costs
