"""Recipes: read, refused, carried out."""

import subprocess
import sys
from pathlib import Path

import pytest

from common.config import ConfigError
from node.model import checkpoint
from node.model.checkpoint_folders import latest
from node.training import __main__ as cli, recipe
from node.training.recipe import mesh
from node.training.settings import STAGES
from tests.node.training.small import rows, write_jsonl

ROOT = Path(__file__).parents[3]
SCRATCH = ROOT / "scripts" / "recipes" / "scratch.toml"

SMALL = """
[recipe]
name = "little"
directory = "{folder}/runs"
[all]
vocab_size = 420
steps = 2
length = 96
batch_tokens = 192
threads = 1
device = "cpu"
[all.model]
depth = 1
width = 32
heads = 2
kv_heads = 1
hidden = 64
context = 96
[all.data]
window = 2
valid_tokens = 200
cache = "{folder}/cache"
[pretrain.data]
sources = ["text:bank"]
[midtrain.data]
sources = ["transitions:{folder}/t.jsonl*2", "lean:pocket"]
[sft]
value_targets = "two-hot"
[sft.data]
sources = ["transitions:{folder}/t.jsonl"]
shuffle_hypotheses = false
"""


def test_the_recipe_in_the_repository_chains_its_stages() -> None:
    found = recipe.read(SCRATCH)
    assert list(found.stages) == ["pretrain", "midtrain", "sft"]
    assert [settings.start for settings in found.stages.values()] == [
        "",
        "runs/scratch-pretrain",
        "runs/scratch-midtrain",
    ]
    assert found.rl is None
    assert {settings.preset for settings in found.stages.values()} == {"demo"}


def test_flags_carry_all_settings(tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text(SMALL.format(folder=tmp_path))
    for stage, settings in recipe.read(file).stages.items():
        assert cli.parsed(stage, recipe.flags(stage, settings)).settings == settings
    assert recipe.flags("sft", STAGES["sft"]) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[sfd]\nsteps = 3", r"\[sfd\]: unknown section"),
        ("[sft]\nstep = 3", "did you mean `steps`"),
        ("[sft]\nsteps = -3", "must be at least 1"),
        ('[recipe]\nstages = ["sft", "poetry"]', "no stage `poetry`"),
        ('[recipe]\nstages = ["rl"]', "comes last, after a stage"),
        ("[rl]\nhours = 3", "unknown key"),
        ("[sft", "is not TOML"),
    ],
)
def test_a_senseless_recipe_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        recipe.read(tmp_path / "r.toml")
    assert cli.main(["recipe", str(tmp_path / "r.toml")]) == 2


def test_reinforcement_learning_goes_on_from_the_last_checkpoint(tmp_path: Path) -> None:
    content = mesh({"learner": {"ahead": 2.0}}, tmp_path / "step-000009")
    assert content["learner"]["warm_start"]["checkpoint"] == str(tmp_path / "step-000009")
    assert content["learner"]["ahead"] == 2.0
    assert content["learner"]["plan"]["evaluate"] is True


@pytest.mark.slow
def test_one_command_runs_all_stages_and_goes_on_where_it_was(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "t.jsonl", rows(40))
    file = tmp_path / "r.toml"
    file.write_text(SMALL.format(folder=tmp_path))
    command = [sys.executable, "-m", "node.training", "recipe", str(file)]
    for _ in range(2):
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "little-sft" in done.stdout
    found = [checkpoint.load(latest(tmp_path / "runs" / f"little-{stage}" / "checkpoints")) for stage in STAGES]  # type: ignore[arg-type]
    assert len({each.tokenizer.digest for each in found}) == 1
    assert [each.config["stage"] for each in found] == list(STAGES)
