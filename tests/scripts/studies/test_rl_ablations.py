"""Short runs of reinforcement learning without one part each."""

from __future__ import annotations

from pathlib import Path

from common import config
from common.files import recipe
from node.learner.settings import LearnerSettings
from node.prover.settings import ProverSettings
from scripts.studies.__main__ import Study, changed, filled, main, read
from scripts.studies.pages import difference
from tests.commands import Called

ROOT = Path(__file__).parents[3]


def study(tmp_path: Path) -> Study:
    """The study, in a folder with a finished whole run."""
    run = tmp_path / "rl-whole-0"
    for step in ("step-000004", "step-000009"):
        (run / "checkpoints" / step).mkdir(parents=True)
    (run / "summary.json").write_text('{"warm_start": {"steps": 4}, "train_steps": 5}')
    found, _, _ = read(["rl-ablations", "--runs", str(tmp_path)])
    return found


def test_every_part_is_left_out_by_keys_that_the_roles_know(tmp_path: Path) -> None:
    recipe_content = config.read(recipe("demo"))
    for name, values, table in study(tmp_path).cells():
        changes = filled(table["changes"], values)
        content = changed(recipe_content, changes)
        parts = {
            path: keys for path, keys in changes.items() if path not in ("learner.evaluation", "learner.warm_start")
        }
        assert (changed(recipe_content, parts) != recipe_content) == (name != "whole-0"), name
        if name != "whole-0":
            warm = str(tmp_path / "rl-whole-0" / "checkpoints" / "step-000004")
            assert content["learner"]["warm_start"]["checkpoint"] == warm
        file = tmp_path / f"{name}.toml"
        file.write_text(_toml(content), encoding="utf-8")
        config.load(LearnerSettings, file, "learner")
        config.load(ProverSettings, file, "prover")


def test_the_control_takes_as_many_steps_as_the_whole_run(tmp_path: Path) -> None:
    found = {name: (values, table) for name, values, table in study(tmp_path).cells()}
    values, table = found["control-0"]
    command = filled(table["command"], {**values, "recipe": "r.toml"})
    assert command[-3:] == ["--control", "--steps", "5"] and "--minutes" not in command


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


def test_an_unknown_part_ends_with_the_names_of_those_that_exist(called: Called) -> None:
    code, _, err = called(main, "rl-ablations", "--only", "no-such-part")
    assert code == 2 and "no-such-part" in err and "no-exploration" in err


def _toml(content: dict[str, object]) -> str:
    import tomli_w

    return tomli_w.dumps(content)
