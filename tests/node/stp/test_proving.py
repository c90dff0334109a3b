"""Self-play's work on a mesh: a real broker, real Lean, and provers with samples that are known."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker import streams
from common.bus import Bus, BusError, BusSettings, Lease
from common.lean import Theorem
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult
from node.play import mesh as play
from node.proving.statements import read_target
from node.stp.work import Task
from tests.node.prover.nodes import prover_process
from tests.node.stp.mesh import FALSE, SCRIPTS, SWAP, TWO, one_by_one, prover, proving_on, samples, task, told, written
from tests.waiting import eventually

THEOREMS = (SWAP, TWO, FALSE)
SAMPLED = {theorem.name: samples(theorem.name, 40, 3) for theorem in THEOREMS}


async def played(bus: Bus, tasks: Sequence[Task], **changes: object) -> list[AttemptResult]:
    async with proving_on(bus, **changes) as proving, asyncio.timeout(90):
        return [result async for result in proving.attempts(tasks)]


async def test_attempts_count_what_a_loop_over_the_samples_counts(bus: Bus, lean_proxy: object, tmp_path: Path) -> None:
    file = written(tmp_path, SAMPLED)
    async with prover(bus, policy=f"proofs:{file}"):
        results = await played(bus, [task(theorem, 40) for theorem in THEOREMS], at_once=7)
    found = {result.theorem_id: result for result in results}
    assert len(results) == len(found) == 3
    for theorem in THEOREMS:
        result = found[theorem.name]
        expected = await one_by_one(bus, theorem, SAMPLED[theorem.name])
        assert result.proofs == expected
        assert result.outcome == (AttemptOutcome.PROVED if expected else AttemptOutcome.FAILED)
        assert (result.statistics.correct, result.statistics.simulations) == (sum(each.count for each in expected), 40)
    assert len(found["swap"].proofs) == 3 and not found["false"].proofs
    backlog, leased = await bus.backlog(), await bus.leased()
    assert not backlog["results-stp"] and not leased["results-stp"], "every result is acknowledged"


async def test_a_kill_changes_no_count(bus: Bus, broker: BusSettings, lean_proxy: object, tmp_path: Path) -> None:
    await bus.ensure(streams.run_spec(bus.run, ack_wait=2.0))  # so that the dead prover's leases soon run out
    policy = f"proofs:{written(tmp_path, SAMPLED)}"
    tasks = [task(theorem, 40, tag=f"-{turn}") for turn in range(3) for theorem in THEOREMS]
    waiting = asyncio.create_task(played(bus, tasks))
    async with prover_process(bus, broker, policy, fault="prover:published-not-acked#3") as first:
        assert await first.wait() == -9
    async with prover(bus, policy=policy):
        results = await waiting
    assert len({result.prover_id for result in results}) == 2
    assert sorted(result.attempt_id for result in results) == sorted(each.attempt_id for each in tasks)
    async with prover(bus, policy=policy):
        calm = await played(bus, [Task(f"{each.attempt_id}-calm", each.theorem, 40, each.seed) for each in tasks])
    assert told(results) == {name.removesuffix("-calm"): what for name, what in told(calm).items()}


async def test_a_run_that_goes_on_takes_what_came_and_none_twice(bus: Bus, lean_proxy: object, tmp_path: Path) -> None:
    tasks = [task(theorem, 10, tag=f"-{turn}") for turn in range(2) for theorem in THEOREMS]
    async with prover(bus, policy=f"proofs:{written(tmp_path, SAMPLED)}") as work:
        kept = []
        async with proving_on(bus) as proving, asyncio.timeout(60):
            results = proving.attempts(tasks)
            async for result in results:
                kept.append(result.attempt_id)
                if len(kept) == 3:
                    break
            await results.aclose()
        # The third was given, and its owner has not asked for more: it may not have been kept.
        left = [each for each in tasks if each.attempt_id not in kept[:2]]
        rest = await played(bus, left)
        assert sorted(result.attempt_id for result in rest) == sorted(each.attempt_id for each in left)
        # The prover counts an attempt after it has sent the result.
        await eventually(lambda: work.counts["attempts"] >= len(tasks))
        assert work.counts["attempts"] == len(tasks), "each was played once"


async def test_what_the_broker_lost_is_sent_again(
    bus: Bus, lean_proxy: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(play, "LOST_AFTER", 0.5)
    monkeypatch.setattr(play, "LOOK_EVERY", 0.1)
    async with proving_on(bus) as proving, asyncio.timeout(60):
        waiting = asyncio.ensure_future(anext(proving.attempts([task(SWAP, 10)])))
        lost: list[Lease[Attempt]] = []
        while not lost:
            lost = await bus.lease("todo-train", Attempt, limit=1, wait=0.1)
        await lost[0].ack()  # taken, and never played
        async with prover(bus, policy=f"proofs:{written(tmp_path, SAMPLED)}"):
            result = await waiting
    assert result.proofs == await one_by_one(bus, SWAP, SAMPLED["swap"][:10])


async def test_conjectures_that_do_not_elaborate_are_told_with_leans_error(bus: Bus, lean_proxy: object) -> None:
    theorems = [SWAP, Theorem("typed", "(p : Prop)", "p + 1 = p"), Theorem("broken", "(p : Prop", "p")]
    theorems += [Theorem("unknown", "(p : Prop)", "p → missing"), Theorem("forbidden", "", "sorry")]
    theorems += [Theorem(f"sum_{number}", "(n : Nat)", f"n + {number} = {number} + n") for number in range(20)]
    async with proving_on(bus) as proving, asyncio.timeout(60):
        found = {theorem.name: error async for theorem, error in proving.elaborate(theorems)}
    assert len(found) == len(theorems)
    assert {name for name, error in found.items() if error} == {"unknown", "typed", "forbidden", "broken"}
    assert "missing" in found["unknown"] and "sorry" in found["forbidden"]


CHEATING = """axiom cheat (p : Prop) : p
theorem cheating (p q : Prop) (h : p ∧ q) : q ∧ p := by
  sorry
"""


async def test_what_lean_refuses_of_accepted_proofs_is_told(bus: Bus, lean_proxy: object, tmp_path: Path) -> None:
    (tmp_path / "file.lean").write_text(CHEATING, encoding="utf-8")
    cheating = read_target([str(tmp_path / "file.lean"), "cheating"]).readings[0]
    file = written(tmp_path, {"cheating": ["exact cheat _", "exact ⟨h.2, h.1⟩"]})
    async with prover(bus, policy=f"proofs:{file}"):
        (result,) = await played(bus, [Task("a-1", cheating, 2, 1)])
    proofs = [(cheating, proof.script) for proof in result.proofs] + [(SWAP, script) for script in SCRIPTS["swap"][:2]]
    assert len(proofs) == 4, "the workers have accepted the proof by an axiom"
    wrong = [(SWAP, "intro h\nexact h"), (FALSE, "intro h\nassumption"), (SWAP, "sorry"), (SWAP, "")]
    async with proving_on(bus) as proving, asyncio.timeout(90):
        verdicts = dict([each async for each in proving.verify([*proofs, *wrong])])
    assert sorted(verdicts) == list(range(8))
    refused = {number for number, verdict in verdicts.items() if not verdict.accepted}
    cheats = {number for number, (_, script) in enumerate(proofs) if "cheat" in script}
    assert refused == cheats | {4, 5, 6, 7} and "cheat" in verdicts[cheats.pop()].reason
    assert all(verdicts[number].reason for number in refused)


async def test_work_side_by_side_ends_with_its_first_error_and_leaves_nothing_behind() -> None:
    from common.life.waiting import side_by_side

    at_work: set[int] = set()
    together: list[int] = []

    async def work(number: int) -> int:
        at_work.add(number)
        together.append(len(at_work))
        try:
            await asyncio.sleep(0)
            if number == 7:
                raise BusError("no")
            return number
        finally:
            at_work.discard(number)

    assert sorted([each async for each in side_by_side(work, range(6), 2)]) == list(range(6)) and max(together) == 2
    with pytest.raises(BusError, match="no"):
        async for _ in side_by_side(work, itertools.count(), 3):
            pass
    assert not at_work
