"""Bad input to `proofmesh stp` gives a one-line error before anything starts."""

from functools import partial
from pathlib import Path

import pytest

from common.output.command import Exit
from node.command.stp.command import main
from node.command.stp.run import RECIPE, keep_recipe
from node.stp.records import FILE
from node.stp.store import StpStore
from tests.commands import Called, Run
from tests.node.stp.works import tiny_plan


@pytest.fixture
def stp(called: Called) -> Run:
    return partial(called, main)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "no recipe given"),
        (["run", "none.toml"], "none.toml"),
        (["run", "learner.toml"], "self-play has no learner"),
        (["resume", "."], "holds no run of self-play"),
        (["focus", ".", "theorem t : 1 = 1"], "holds no run of self-play"),
        (["status", "."], "holds no run of self-play"),
        (["show", ".", "conjecture_1_1"], "holds no run of self-play"),
        (["play"], "no command `play`"),
    ],
)
def test_what_is_not_there_is_told_in_one_line(stp: Run, tmp_path: Path, arguments: list[str], says: str) -> None:
    (tmp_path / "learner.toml").write_text("[learner]\n")
    code, out, errors = stp(*arguments)
    assert code == Exit.UNUSABLE and not out
    assert says in errors and errors.count("\n") == 1


def test_a_run_that_has_begun_keeps_its_settings_and_says_which_have_changed(stp: Run, tmp_path: Path) -> None:
    plan = tiny_plan(tmp_path)
    plan.directory.mkdir(parents=True)
    keep_recipe(plan, "again")
    StpStore(plan.directory / FILE).close()
    before = (plan.directory / RECIPE).read_bytes()
    code, _, errors = stp("run", "tiny.toml", "--stp.seed", "5", "--stp.prover.samples", "3")
    assert code == Exit.UNUSABLE and errors.count("\n") == 1
    assert "other settings (stp.prover.samples, stp.seed;" in errors or "(stp.seed, stp.prover.samples;" in errors
    assert (plan.directory / RECIPE).read_bytes() == before
