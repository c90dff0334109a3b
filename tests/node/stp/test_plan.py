"""What a recipe of self-play says, and what is told of one that says it wrongly."""

from pathlib import Path

import pytest

from common.config import ConfigError, merged
from node.stp.settings import read_plan
from node.training.settings import STAGES

POCKET = Path(__file__).parents[3] / "scripts/recipes/stp-pocket.toml"


def _written(folder: Path, text: str) -> Path:
    file = folder / "recipe.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_recipe_for_pocket_lean_is_whole() -> None:
    plan = read_plan(POCKET)
    assert (plan.name, plan.settings.data, plan.settings.statements) == ("stp-pocket", "bank", 800)
    assert plan.trainings["round"].rates.warmup == 5 and plan.trainings["round"].rates.clip == STAGES["sft"].rates.clip
    assert plan.mesh["up"]["learner"] == 0


def test_flags_change_the_recipe_and_data_may_be_named_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = _written(tmp_path, '[stp]\ndata = "mine"\nrounds = 3\n[stp.prover]\nsamples = 5\n')
    plan = read_plan(file, {"run": {"name": "other"}, "stp": {"rounds": 4, "prover": {"first_samples": 6}}})
    assert plan.name == "other" and plan.settings.data == str(tmp_path / "mine")
    assert (plan.settings.rounds, plan.settings.prover.samples, plan.settings.prover.first_samples) == (4, 5, 6)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[learner]\nahead = 2.0\n", r"\[learner\]: self-play has no learner; use the sections initial, round, final"),
        ("[rounds]\n", r"\[rounds\]: unknown section"),
        ("stp = 3\n", r"stp: expected a section \[stp\], got a value"),
        ("[stp]\nround = 3\n", r"\[stp\].*round"),
        ("[stp.prover]\nsamples = 0\n", r"\[stp\].*samples"),
        ("[stp.conjecturer]\nshare = 2.0\n", r"\[stp\].*share"),
        ('[round]\nrun = "mine"\n', r"\[round\] run: the run chooses it; leave it out"),
        ("[final]\nlength = 512\nbatch_tokens = 256\n", r"\[final\]:? batch_tokens is 256, less than one row of 512"),
        ('[initial]\npreset = "huge"\n', r"\[initial\]:? there is no preset `huge`"),
        ("[stp\n", "recipe.toml"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_section(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as told:
        read_plan(_written(tmp_path, text))
    assert "recipe.toml" in str(told.value)


def test_a_recipe_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_plan(tmp_path / "none.toml")


def test_tables_are_merged_key_by_key_and_left_as_they_were() -> None:
    base = {"a": {"x": 1, "y": {"z": 2}}, "b": 3}
    assert merged(base, {"a": {"y": {"w": 4}}, "b": {"c": 5}}) == {"a": {"x": 1, "y": {"z": 2, "w": 4}}, "b": {"c": 5}}
    assert base == {"a": {"x": 1, "y": {"z": 2}}, "b": 3}
