"""A false statement from its choice to the replay: dispatched as its negation, proved by a prover, verified by Lean."""

from __future__ import annotations

import sqlite3

from common.bus import Bus
from common.lean import Theorem
from common.records.rows import TheoremRow
from common.records.store import Store
from node.learner.choosing.matchmaker import weight
from node.learner.run import Run
from tests.node.learner.builders import choose
from tests.node.learner.works import collecting, dispatching, drained
from tests.node.prover.nodes import running
from tests.waiting import eventually, until

FALSE = Theorem("f", "(n : Nat)", "n = n + 1")


async def test_a_verified_disproof_is_recorded_learned_from_and_ends_the_theorem(
    run: Run, bus: Bus, lean_proxy: object
) -> None:
    run.settings.matchmaker.disprove_chance = 1.0
    run.data.train[:] = [TheoremRow(FALSE, "train", "nat", 1)]
    run.matchmaker.__init__([FALSE.name], run.settings.matchmaker, 1)  # type: ignore[misc]
    await run.store.call(Store.add_theorems, run.data.train)
    async with collecting(run) as collects, dispatching(run) as dispatches:
        dispatches.learning = True
        async with running(bus):
            await eventually(lambda: run.matchmaker.standing(FALSE.name).disproved)
            dispatches.learning = False
            await until(lambda: drained(bus), what="the end of the results")
        assert collects.verified >= 1 and collects.rejected == 0
    standing = run.matchmaker.standing(FALSE.name)
    assert not standing.proved and weight(standing, run.settings.matchmaker) == 0.0
    assert choose(run.matchmaker, 1) is None, "nothing is left to be tried"
    proofs = sqlite3.connect(run.directory.database).execute("SELECT theorem_id, disproof, script FROM proofs")
    found = proofs.fetchall()
    assert found and all((name, disproof, bool(script)) == (FALSE.name, 1, True) for name, disproof, script in found)
    learned = [each.transition for each in await run.store.call(Store.examples)]
    assert learned and learned[0].state == "⊢ ¬∀ (n : Nat), n = n + 1"
    assert len(run.replay) == len(learned)
    assert (await run.store.call(Store.audit)).sound
