"""The parts of a round, one by one: seeds, conjectures, what is learned from, when rounds end, one statement alone."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from common.protocol.subjects import check_run_name
from node.stp import network, rounds
from node.stp.network import Network, Question
from node.stp.readers import is_finished, rounds_are_over
from node.stp.records import FILE, Attempted, Fate, Output, Part, Proof, RoundKind, RoundRow, Stage, Statement, StpError
from node.stp.rounds import (
    Focus,
    begin,
    choose,
    choose_final,
    draw_seeds,
    focus_name,
    focused_plan,
    initial_draw,
    joined,
    make_conjectures,
    most_conjectures,
    nearest,
    replayed,
)
from node.stp.settings import StpSettings
from node.stp.store import StpStore
from node.stp.work import Work
from tests.node.stp.filled import TEST as HELD_OUT, filled
from tests.node.stp.tiny_run import GIVEN, SCRIPT, TEST, TRAIN, tiny_plan, work_of

# --- conjectures, from a round's seeds to what Lean is to see, also by a run that was killed on the way ---------------
Writer = Callable[..., Any]


def _writer(asked: list[tuple[str, int]], fail_after: int = 1_000) -> Writer:
    """A network's answers, which depend on seed and number alone: what a run sees of inference nodes."""

    async def conjecture(bus: object, question: Question) -> list[Output]:
        if len(asked) >= fail_after:
            raise ConnectionError("killed here")
        asked.append((question.seed.theorem.name, question.rng_seed))
        number = question.rng_seed % 1000
        texts = [
            f"example (a b : Nat) : a + b + {number} = {number} + (a + b)",  # new
            f"example (x : Nat) : x + {TRAIN[0].conclusion.split()[2]} = 5 + x",  # a statement to be proved
            "example (n : Nat) : n + 8 = 8 + n",  # one that is measured on
            "exampl",
        ]
        return [Output(text, complete=True, tokens=9) for text in texts[: question.samples]]

    return conjecture


def _begun(folder: Path, **conjecturer: object) -> Work:
    work = work_of(tiny_plan(folder, conjecturer={"empty_lemma": 1.0, "lemma_share": 1.0, **conjecturer}))
    work.store.begin_round(1, 1, time.time())
    return work


def _told(work: Work) -> list[tuple[str, str, str]]:
    return [(each.name, each.output, each.fate) for each in work.store.conjectures(1)]


async def test_conjectures_are_a_share_of_the_unproved_and_expert_iteration_asks_for_none(tmp_path: Path) -> None:
    work = _begun(tmp_path, most=0)
    settings = work.settings.conjecturer
    for share, most, expected in ((1.0, 0, len(TRAIN)), (0.4, 0, 3), (0.4, 50, 50), (0.0, 0, 0)):
        settings.share, settings.most = share, most
        assert most_conjectures(work) == expected
    draw_seeds(work, 1)
    await make_conjectures(work, 1, weights=1)
    row = work.store.round(1)
    assert row is not None and row.stage is Stage.CONJECTURED
    assert work.store.seeds_of(1) == [] and work.store.conjectures(1) == []


async def test_seeds_are_given_proofs_until_statements_are_solved(tmp_path: Path) -> None:
    work = _begun(tmp_path, most=6)
    draw_seeds(work, 1)
    seeds = work.store.seeds_of(1)
    assert {each.theorem for each in seeds} == set(GIVEN)
    assert {each.lemma.name for each in seeds} == {"Nat.add_comm", "true"} and len(seeds) == 2 * len(GIVEN)
    draw_seeds(work, 1)
    assert work.store.seeds_of(1) == seeds


async def test_what_is_known_or_measured_on_is_no_conjecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = _begun(tmp_path, most=12)
    monkeypatch.setattr(network, "conjecture", _writer([]))
    draw_seeds(work, 1)
    await make_conjectures(work, 1, weights=1)
    fates: dict[str, set[str]] = {}
    for each in work.store.conjectures(1):
        fates.setdefault(each.output.partition(") : ")[2][:1] or each.output, set()).add(each.fate)
    assert fates["n"] == {Fate.KNOWN}, f"{TEST[0].signature} is measured on"
    assert fates["x"] == {Fate.KNOWN} and fates["exampl"] == {Fate.REFUSED} and Fate.NEW in fates["a"]


async def test_a_run_that_was_killed_makes_equal_conjectures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "BLOCK", 3)
    calm = _begun(tmp_path, most=6)
    draw_seeds(calm, 1)
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(network, "conjecture", _writer(asked))
    await make_conjectures(calm, 1, weights=1)
    assert len(asked) == 8
    undisturbed = _told(calm)
    calm.store.close()

    for file in calm.directory.glob("stp.sqlite*"):
        file.unlink()
    killed = _begun(tmp_path, most=6)
    draw_seeds(killed, 1)
    monkeypatch.setattr(network, "conjecture", _writer([], fail_after=4))
    with pytest.raises(ConnectionError):
        await make_conjectures(killed, 1, weights=1)
    assert killed.store.conjectures(1) == []
    after: list[tuple[str, int]] = []
    monkeypatch.setattr(network, "conjecture", _writer(after))
    await make_conjectures(killed, 1, weights=1)
    assert after == asked[3:], "the first block was recorded"
    assert _told(killed) == undisturbed


# --- what the trainings of a run read ---------------------------------------------------------------------------------
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
    found, given = store.prover_examples(3), {each.name for each in GIVEN}
    assert not {each.theorem.name for each in found} & {each.name for each in HELD_OUT}
    sampled = {(each.theorem.name, each.proof) for each in found if each.theorem.name not in given}
    assert sampled and sampled <= {(each.name, each.script) for each in store.proofs()}
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
    assert not sampled & {each.name for each in HELD_OUT}
    proofs = {(each.theorem.name, each.proof) for each in found if each.theorem.name in sampled}
    assert proofs <= {(each.name, each.script) for each in store.proofs()}
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


# --- when rounds are over, and when a run is --------------------------------------------------------------------------
def row(number: int, kind: RoundKind = RoundKind.SELF_PLAY, stage: Stage = Stage.DONE, cycle: int = 1) -> RoundRow:
    seconds = {Part.PROVING: 60.0}
    return RoundRow(number, 0 if kind is RoundKind.INITIAL else cycle, kind, stage, None, None, 0.0, 0.0, seconds)


FIRST, LAST = row(0, RoundKind.INITIAL), row(3, RoundKind.FINAL)
TWO = [FIRST, row(1), row(2)]


LATER = [*TWO, LAST, row(4, cycle=2), row(5, RoundKind.FINAL, cycle=2)]
UNFINISHED = [*LATER[:-1], row(5, RoundKind.FINAL, Stage.TRAINED, cycle=2)]


def test_rounds_are_over_after_those_of_the_cycle_and_when_all_is_solved_if_the_run_is_to_end_then() -> None:
    two, until_solved = StpSettings(rounds=2), StpSettings(until_solved=True)
    for rows, cycle, over in ((TWO, 1, True), (TWO[:2], 1, False), ([*TWO, LAST], 2, False)):
        assert rounds_are_over(rows, cycle, two, all_solved=False) is over
    assert [rounds_are_over(TWO, 1, each, all_solved=True) for each in (StpSettings(), until_solved)] == [False, True]
    assert is_finished(TWO, until_solved, all_solved=True)


def test_a_run_is_finished_after_the_last_training_from_the_base() -> None:
    settings = StpSettings(rounds=2, cycles=2)
    finished = [is_finished(rows, settings, all_solved=False) for rows in (TWO, LATER[:4], UNFINISHED, LATER)]
    assert finished == [False, False, False, True]


# --- rounds around one statement: what they begin with ----------------------------------------------------------------
FOCUS = Focus(conjectures=5, samples=3, rounds=2, minutes=1.0)


class ByLength(Network):
    """Statements of equal length point the same way."""

    def __init__(self) -> None:
        super().__init__({}, 1.0)

    def embed(self, checkpoint: Path, statements: Sequence[str]) -> np.ndarray:
        angles = np.array([len(each) for each in statements], np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_the_plan_proves_one_statement_and_ends_without_a_last_training(tmp_path: Path) -> None:
    plan = focused_plan(tiny_plan(tmp_path), TRAIN[0], FOCUS, seed=3)
    settings = plan.settings
    assert (settings.conjecturer.most, settings.prover.first_samples, settings.prover.samples) == (5, 3, 3)
    assert settings.until_solved and not settings.final.train and settings.evaluation.samples == 0
    assert plan.directory.parent == tmp_path / "runs/tiny/focus"


def test_names_are_legal_and_differ_where_statements_do() -> None:
    long = msgspec.structs.replace(TRAIN[0], name="A_name.of'many_parts" * 5)
    other = msgspec.structs.replace(long, conclusion="True")
    names = [focus_name("run", each, 0) for each in (TRAIN[0], TRAIN[1], long, other)]
    assert len(set(names)) == 4 and [check_run_name(each) for each in names] == names


def test_the_nearest_solved_statements_come_first() -> None:
    longer = msgspec.structs.replace(GIVEN[0], conclusion=f"{GIVEN[0].conclusion} ∧ True")
    solved = [(each, Proof(each.name, SCRIPT)) for each in (longer, GIVEN[1])]
    assert [theorem for theorem, _ in nearest(TRAIN[0], solved, ByLength(), Path("none"))] == [GIVEN[1], longer]
    with pytest.raises(StpError, match="no solved statement"):
        nearest(TRAIN[0], [], ByLength(), Path("none"))


def test_it_begins_with_the_newest_network_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("node.stp.rounds.network_of", lambda plan: ByLength())
    work = work_of(tiny_plan(tmp_path))
    plan = focused_plan(work.plan, TRAIN[0], FOCUS, seed=0)
    with pytest.raises(StpError, match="no trained network yet"):
        begin(plan, work.store, work.data, TRAIN[0])
    for number, checkpoint in enumerate(("first", "second")):
        work.store.begin_round(number, 0, 1.0)
        work.store.reach(number, Stage.TRAINED, 2.0, weights=number + 1, checkpoint=checkpoint)
        assert begin(plan, work.store, work.data, TRAIN[0]).statements == (Statement(TRAIN[0]),)
    store = StpStore(plan.directory / FILE, read_only=True)
    rows = store.rounds()
    assert [(each.number, each.stage, each.weights, each.checkpoint) for each in rows] == [(0, Stage.DONE, 1, "first")]
    store.close()
    work.store.close()
