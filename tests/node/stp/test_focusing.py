"""Rounds around one statement: what they begin with. The rounds themselves are those of any run."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from common.protocol.subjects import check_run_name
from node.stp.network import Network
from node.stp.records import FILE, Proof, Stage, Statement, StpError
from node.stp.rounds import Focus, begin, focus_name, focused_plan, nearest
from node.stp.store import StpStore
from tests.node.stp.tiny_run import GIVEN, SCRIPT, TRAIN
from tests.node.stp.works import tiny_plan, work_of

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
