"""Trainers as functions: flags from keyword arguments, and errors of the command as errors here."""

import pytest

import proofmesh
from proofmesh import train


def test_keyword_arguments_are_the_flags_of_the_command():
    given = {
        "data": ["bank", "traced"],
        "rate": 1e-4,
        "lora": True,
        "lora__rank": 8,
        "dry_run": False,
        "lean__fresh": False,
        "minutes": None,
        "from_": "x",
    }
    assert train.flags(given) == [
        *("--data", "bank", "traced", "--rate", "0.0001", "--lora", "--lora.rank", "8"),
        *("--no-dry-run", "--lean.no-fresh", "--from", "x"),
    ]


def test_a_reward_is_named_so_that_another_process_finds_it():
    with pytest.raises(proofmesh.BadInput, match="move it into a file"):
        train.grpo("model", reward=lambda **_: [], out="runs/x")


@pytest.mark.process
def test_what_the_command_refuses_is_an_error_with_its_line(tmp_path):
    with pytest.raises(proofmesh.BadInput, match=r"train hf-sft: .*--datta") as caught:
        train.sft("models/small-llama", datta=["bank"], out=tmp_path / "out", show=False)
    assert "\n" not in str(caught.value)


def test_a_training_without_a_folder_is_refused():
    with pytest.raises(proofmesh.BadInput, match="out='runs/hf-sft'"):
        train.sft("models/small-llama")
