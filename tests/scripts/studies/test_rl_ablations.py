"""Short runs of reinforcement learning without one part each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from common import config
from common.recipes import recipe
from node.learner.settings import LearnerSettings
from node.prover.settings import ProverSettings
from scripts.studies.rl_ablations import PARTS, difference
from scripts.studies.runs import changed

ROOT = Path(__file__).parents[3]


def test_every_part_is_left_out_by_keys_that_the_roles_know(tmp_path: Path) -> None:
    recipe_content = config.read(recipe("demo"))
    for part, changes in PARTS.items():
        content = changed(recipe_content, changes)
        assert (content != recipe_content) == bool(changes), part
        file = tmp_path / f"{part}.toml"
        file.write_text(_toml(content), encoding="utf-8")
        config.load(LearnerSettings, file, "learner")
        config.load(ProverSettings, file, "prover")


def test_the_recipe_itself_stays_as_it_is() -> None:
    content = config.read(recipe("demo"))
    changed(content, {"learner.matchmaker": {"explore_chance": 0.0}})
    assert content == config.read(recipe("demo"))


def test_undecided_statements_do_not_count_in_a_difference() -> None:
    first = {"a": True, "b": True, "c": False, "d": None, "e": True}
    second = {"a": True, "b": False, "c": False, "d": True, "e": None}
    points, p = difference(first, second)
    assert points.startswith("-33.3 [")  # one of a, b, c
    assert p == "1.000"


@pytest.mark.process
def test_an_unknown_part_ends_with_the_names_of_those_that_exist() -> None:
    command = [sys.executable, "-m", "scripts.studies.rl_ablations", "--only", "no-such-part"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert "no-such-part" in result.stderr and "no-exploration" in result.stderr


def _toml(content: dict[str, object]) -> str:
    import tomli_w

    return tomli_w.dumps(content)
