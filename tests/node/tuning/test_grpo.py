"""GRPO with the real TRL in tiny form: what is learned, resumed, lost and refused; and rewards of users: found by name,
called as TRL calls them, and refused in one line where they are wrong."""

import asyncio
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from node.data.errors import InputError
from node.tuning.grpo_data import checked, numbers, users
from node.tuning.settings import EvaluationSettings, GrpoSettings, LoraSettings
from tests.node.bank.stand_ins import lines
from tests.node.tuning.conftest import command_of_card, short
from tests.parsing import refusal_of

pytestmark = pytest.mark.compute

SAME = {"theorem": "theorem same (p : Prop) : p → p", "state": "p : Prop\nh : p\n⊢ p"}
ROWS = [
    {"theorem": "theorem swap (p q : Prop) : p ∧ q → q ∧ p", "state": "p q : Prop\n⊢ p ∧ q → q ∧ p", "note": ""},
    {**SAME, "steps": ["intro h"], "note": "mine"},
]

REWARDS = """
import os

def many_a(completions, note, **kwargs):
    return [each.count("a") / (1 + len(each)) for each in completions]

def none(completions, log_extra, **kwargs):
    log_extra("reason", ["Lean is away"] * len(completions))
    return [None] * len(completions)

def bad_at_two(completions, trainer_state, **kwargs):
    return [float("nan") if trainer_state.global_step >= 2 else float(len(each)) for each in completions]
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = lines(tmp_path / "rows.jsonl", ROWS)
    (tmp_path / "grpo_test_rewards.py").write_text(REWARDS)
    monkeypatch.chdir(tmp_path)
    return path


def run(wanted: GrpoSettings) -> dict[str, Any]:
    from node.tuning import grpo  # with transformers and TRL, which takes seconds

    return grpo.run(wanted)


def settings(model: Path | str, data: Path | str, out: Path, *, steps: int = 2, **more: Any) -> GrpoSettings:
    given = {"reward": "grpo_test_rewards:many_a", "prompts": 2, "generations": 4, "max_tokens": 6, "at_once": 1}
    return GrpoSettings(model=str(model), data=(str(data),), out=out, **(short(steps, 1e-2) | given | more))


def curve(out: Path, name: str) -> list[float]:
    values = [json.loads(line)["values"] for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [each[name] for each in values if name in each]


@pytest.mark.slow
def test_what_is_paid_becomes_more_frequent(tiny, data, tmp_path):
    found = run(settings(tiny, data, tmp_path / "out", steps=25, prompts=4))
    assert found["reward_last"] > 2 * found["reward_first"]
    assert found["use"] == f"hf:{tmp_path / 'out' / 'model'}" and found["completions"] == 25 * 16
    assert run(settings(tiny, data, tmp_path / "out", steps=25, prompts=4)) == found  # is not repeated


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_weights(tiny, data, tmp_path, monkeypatch):
    from node.tuning.grpo_trainer import GrpoWatch

    whole = settings(tiny, data, tmp_path / "whole", steps=4)
    run(whole)

    class Killed(BaseException):
        pass

    def dies(self: GrpoWatch, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.global_step == 3:
            raise Killed

    cut = settings(tiny, data, tmp_path / "cut", steps=4)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(GrpoWatch, "on_step_end", dies)
        run(cut)
    run(cut)
    one, other = (load_file(tmp_path / name / "model" / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[key], other[key]) for key in one)
    assert curve(tmp_path / "whole", "reward") == curve(tmp_path / "cut", "reward")


@pytest.mark.lean
def test_lean_pays_steps_and_an_adapter_is_saved_alone(tiny, data, tmp_path, monkeypatch):
    lora = LoraSettings(on=True, rank=2, alpha=4)
    held_out = EvaluationSettings("pocket:test", statements=1, samples=2)
    found = run(settings(tiny, data, tmp_path / "out", reward="lean", lora=lora, beta=0.1, evaluation=held_out))
    folder = tmp_path / "out" / "model"
    assert found["use"] == f"hf:{tiny}+{folder}" and not (folder / "model.safetensors").exists()
    assert (folder / "adapter_model.safetensors").is_file()
    assert found["pass_at_1_before"] is not None and found["pass_at_1"] is not None
    assert sum(curve(tmp_path / "out", "lean/error")) > 0 and all(map(math.isfinite, curve(tmp_path / "out", "kl")))
    assert refusal_of(command_of_card(folder), monkeypatch) == ""


def test_steps_without_any_reward_end_the_run_and_the_last_checkpoint_stays(tiny, data, tmp_path):
    from node.tuning.grpo_trainer import RewardLost

    lost = settings(tiny, data, tmp_path / "out", steps=5, reward="grpo_test_rewards:none", lost_steps=3)
    told = "3 consecutive steps had no reward at all: Lean is away; the checkpoint of step 2 is kept"
    with pytest.raises(RewardLost, match=told):
        run(lost)
    shutil.rmtree(tmp_path / "out")
    bad = settings(tiny, data, tmp_path / "out", steps=5, reward="grpo_test_rewards:bad_at_two")
    with pytest.raises(InputError, match=r"returned nan for completion 0.*checkpoint of step 2 is kept"):
        run(bad)


def test_what_cannot_be_trained_is_refused_before_anything_is_written(tiny, data, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "wrong.jsonl").write_text('{"state": "⊢ True"}')
    for given, words in (
        ({"data": tmp_path / "empty.jsonl"}, "nothing to train on"),
        ({"data": tmp_path / "wrong.jsonl"}, "wrong.jsonl, line 1: no text `theorem`"),
        ({"data": "nowhere.jsonl"}, "no such file"),
        ({"kind": "proofs"}, "is for steps"),
        ({"reward": "lean", "url": "http://127.0.0.1:9"}, "does not answer"),
        ({"reward": "lean", "url": "127.0.0.1"}, "--url"),
    ):
        with pytest.raises(InputError, match=words):
            run(settings(tiny, given.pop("data", data), tmp_path / "out", **given))
    assert not (tmp_path / "out").exists()


# --- rewards of users -------------------------------------------------------------------------------------------------
COLUMNS = ("prompt", "theorem")

OWN_REWARDS = """
THREE = 3

def short(completions, **kwargs):
    return [1.0 / len(each) for each in completions]

def narrow(completions):
    return []

async def later(completions, theorem, **kwargs):
    return [None for _ in completions]
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "broken_rewards.py").write_text("1 / 0\n")
    (tmp_path / "missing_rewards.py").write_text("import no_such_package_here\n")
    (tmp_path / "own_rewards.py").write_text(OWN_REWARDS)
    monkeypatch.chdir(tmp_path)
    return "own_rewards"


def test_a_function_of_the_current_folder_is_found(module):
    reward = checked(users(f"{module}:short", COLUMNS), f"{module}:short")
    assert reward(completions=["ab"], theorem=["t"]) == [0.5] and reward.__name__ == "short"
    later = checked(users(f"{module}:later", COLUMNS), f"{module}:later")
    assert asyncio.run(later(completions=["ab", "c"], theorem=["t", "t"])) == [None, None]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere_rewards:f", "no module `nowhere_rewards`"),
        ("missing_rewards:f", "no module `no_such_package_here`, which `missing_rewards` imports"),
        ("broken_rewards:f", "`broken_rewards` cannot be imported: ZeroDivisionError"),
        ("own_rewards:no", "has no `no`"),
        ("own_rewards:THREE", "is not a function but int"),
        ("own_rewards:narrow", "cannot be called as TRL calls it"),
    ],
)
def test_what_is_no_reward_is_refused(module, name, words):
    with pytest.raises(InputError) as refused:
        users(name, COLUMNS)
    assert words in str(refused.value) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([1.0], "1 rewards for 2 completions"),
        ([1.0, float("nan")], "nan for completion 1"),
        ([float("inf"), 1.0], "inf for completion 0"),
        (["high", 1.0], "'high' for completion 0"),
        (0.5, "float; return a list"),
        (None, "NoneType; return a list"),
    ],
)
def test_answers_that_are_no_rewards_are_refused(found, words):
    with pytest.raises(InputError, match=words):
        numbers(found, 2, "m:f")
    assert numbers((None, 1), 2, "m:f") == [None, 1.0]
