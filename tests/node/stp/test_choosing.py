"""What the trainings of a run read: their own round's examples, those of earlier rounds, the initial data."""

from dataclasses import replace
from pathlib import Path

from node.stp.records import Attempted, Proof, RoundKind, Stage
from node.stp.rounds import choose, choose_final, initial_draw, joined, replayed
from node.stp.work import Work
from tests.node.stp.filled import TEST, filled
from tests.node.stp.tiny_run import GIVEN
from tests.node.stp.works import tiny_plan, work_of

UNWEIGHTED = {"reweight": False, "barely": 1.0, "elegance_cut": 0.0, "needs_lemma": False}


def _work(folder: Path, rounds: int, **stp: object) -> Work:
    """A run with made-up rounds; the settings are those of the tiny run."""
    plan = tiny_plan(folder, conjecturer=UNWEIGHTED, **stp)
    work = work_of(plan)
    work.store.close()
    (plan.directory / "stp.sqlite").unlink()
    return replace(work, store=filled(plan.directory, rounds))


def test_rounds_of_this_cycle_are_trained_on_again(tmp_path: Path) -> None:
    work = _work(tmp_path, 0, prover={"replay": 3})
    for number, cycle, kind in [(1, 1, "round"), (2, 1, "round"), (3, 1, "final"), (4, 2, "round"), (5, 2, "round")]:
        work.store.begin_round(number, cycle, 0.0, RoundKind(kind))
    for number in (6, 7):
        work.store.begin_round(number, 2, 0.0)
    assert [replayed(work, number) for number in (1, 2, 4, 5, 6, 7)] == [[], [1], [], [4], [4, 5], [5, 6]]
    work.plan.settings.prover.replay = 1
    assert replayed(work, 7) == []


def test_a_round_is_trained_on_verified_proofs_alone_and_on_no_statement_that_is_measured_on(tmp_path: Path) -> None:
    work = _work(tmp_path, 2, training={"initial": 1.0})
    store = work.store
    store.begin_round(3, 1, 0.0)
    choose(work, 3, tmp_path)
    row = store.round(3)
    assert row is not None and row.stage is Stage.SELECTED
    assert store.prover_examples(3, source=3) == [], "nothing was attempted in this round"
    for earlier in (1, 2):
        assert store.prover_examples(3, source=earlier) == store.prover_examples(earlier, source=earlier) != []
        assert store.conjecturer_examples(3, source=earlier) == store.conjecturer_examples(earlier, source=earlier)
    assert {each.theorem.name for each in store.prover_examples(3, source=0)} == {each.name for each in GIVEN}
    names = {each.theorem.name for each in store.prover_examples(3)}
    assert not names & {each.name for each in TEST}
    verified = {(each.name, each.script) for each in store.proofs()} | {(each.name, "x") for each in GIVEN}
    sampled = [each for each in store.prover_examples(3) if each.theorem.name not in {given.name for given in GIVEN}]
    assert sampled and all((each.theorem.name, each.proof) in verified for each in sampled)
    before = store.prover_examples(3), store.conjecturer_examples(3)
    choose(work, 3, tmp_path)  # as a run does that was killed before it noted the stage
    assert (store.prover_examples(3), store.conjecturer_examples(3)) == before


def test_the_last_training_reads_everything_verified_and_the_initial_data(tmp_path: Path) -> None:
    work = _work(tmp_path, 2)
    store = work.store
    store.begin_round(3, 1, 0.0, RoundKind.FINAL)
    choose_final(work, 3)
    found = store.prover_examples(3)
    sampled = {each.theorem.name for each in found} - {each.name for each in GIVEN}
    assert {each.theorem.name for each in store.solved()} <= sampled
    assert not sampled & {each.name for each in TEST}
    verified = {(each.name, each.script) for each in store.proofs()}
    assert all((each.theorem.name, each.proof) in verified for each in found if each.theorem.name in sampled)
    assert not any("native_decide" in each.proof for each in found), "verification has refused these"
    names = [each.name for each in store.conjecturer_examples(3) if each.name]
    assert names == [each.name for number in (1, 2) for each in store.conjecturer_examples(number, source=number)]
    assert len(store.conjecturer_examples(3)) == len(names) + len(work.data.conjectures)


def test_the_draw_of_the_initial_data_depends_on_the_round_alone(tmp_path: Path) -> None:
    work = _work(tmp_path, 0, training={"initial": 0.5})
    draws = [initial_draw(work, number) for number in (1, 1, 2, 3)]
    assert draws[0] == draws[1] and any(each != draws[0] for each in draws[2:])
    work.plan.settings.training.initial = 0.0
    assert initial_draw(work, 1) == ([], [])


def test_samples_of_several_rounds_are_added_up_and_proofs_are_there_once() -> None:
    first = Attempted("a", 8, 3, (Proof("a", "rfl"), Proof("a", "omega")))
    second = Attempted("a", 4, 1, (Proof("a", "omega"), Proof("a", "simp")))
    both = joined(first, second)
    assert (both.samples, both.correct, both.rate) == (12, 4, 1 / 3)
    assert [each.script for each in both.proofs] == ["rfl", "omega", "simp"]
