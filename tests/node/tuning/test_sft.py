"""Supervised fine-tuning with the real TRL and PEFT, in tiny form: what is learned, written, resumed and refused."""

import errno
import json
import math
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from node.data.errors import InputError, NotFinite, TrainingError
from node.llm.hub.loading import load
from node.llm.settings import HubSettings
from node.tuning import commands
from node.tuning.base_model import base_of
from node.tuning.run_folder import RunFolder
from node.tuning.settings import LlamaShape, LoraSettings, SftSettings
from tests.files import limit_files
from tests.node.tuning.conftest import command_of_card, short, write_steps
from tests.parsing import refusal_of

pytestmark = pytest.mark.compute


def run(wanted: SftSettings, how: str = "run") -> Any:
    from node.tuning import sft  # with transformers and TRL, which takes seconds

    return getattr(sft, how)(wanted)


def settings(model: Path | str, data: Path, out: Path, steps: int = 4, rate: float = 1e-3, **more: Any) -> SftSettings:
    given = short(steps, rate, cooldown=0.5) | {"held_out": 0, "batch": 4} | more
    return SftSettings(model=str(model), data=(str(data),), out=out, **given)


def curve(out: Path) -> list[dict[str, float]]:
    return [json.loads(line)["values"] for line in (out / "metrics.jsonl").read_text().splitlines()]


def same(first: Path, second: Path, name: str = "model.safetensors") -> bool:
    one, other = load_file(first / "model" / name), load_file(second / "model" / name)
    return one.keys() == other.keys() and all(torch.equal(one[key], other[key]) for key in one)


def test_it_learns_its_steps_by_heart_and_can_be_asked(
    tiny: Path, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = run(settings(tiny, steps, tmp_path / "out", steps=52, rate=1e-2, batch=6))
    losses = [each["loss"] for each in curve(tmp_path / "out") if "loss" in each]
    assert losses[-1] < 0.1 < losses[0]
    folder = tmp_path / "out" / "model"
    assert found["use"] == f"hf:{folder}"
    assert json.loads((folder / "config.json").read_text())["proofmesh_template"] == "bfs-prover-v1"
    assert (folder / "tokenizer.json").read_bytes() == (tiny / "tokenizer.json").read_bytes()
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("p q : Prop\nh : p ∨ q\n⊢ q ∨ p:::", return_tensors="pt")
    answer = model.generate(**ids, max_new_tokens=60, do_sample=False)[0, ids["input_ids"].shape[1] :]
    assert tokenizer.decode(answer) == "cases h with\n| inl a => exact Or.inr a\n| inr b => exact Or.inl b</s>"
    assert not (tmp_path / "out" / "checkpoints").exists()
    assert refusal_of(command_of_card(folder), monkeypatch) == ""


def test_an_adapter_is_saved_alone_and_used_on_its_base(tiny: Path, steps: Path, tmp_path: Path) -> None:
    lora = LoraSettings(on=True, rank=4, targets=("q_proj", "v_proj"))
    found = run(settings(tiny, steps, tmp_path / "out", steps=2, lora=lora, rate=1e-2))
    files = {"README.md", "adapter_config.json", "adapter_model.safetensors"}
    assert {each.name for each in (tmp_path / "out" / "model").iterdir()} == files
    assert found["use"] == f"hf:{tiny}+{tmp_path / 'out' / 'model'}"
    assert 0 < found["parameters_trained"] < 0.1 * found["parameters"]
    base = base_of(found["use"])
    with_it, without = (load(each, HubSettings(device="cpu")).model for each in (base.address, base.without_adapter))
    ids = torch.tensor([[1, 20, 30]])
    assert not torch.allclose(with_it(ids).logits, without(ids).logits)
    # It can be trained on, alone and merged into the weights.
    again = run(settings(found["use"], steps, tmp_path / "again", steps=1, lora=lora))
    assert again["use"] == f"hf:{tiny}+{tmp_path / 'again' / 'model'}"
    merged = run(settings(found["use"], steps, tmp_path / "merged", steps=1))
    assert merged["use"] == f"hf:{tmp_path / 'merged' / 'model'}"


def test_the_loss_weighs_examples(tiny: Path, tmp_path: Path) -> None:
    """By hand: sum of weight * -log p over the answers' tokens, divided by how many these are, micro-batches or not."""
    weights = {"swap": 0.5, "same": 2.0, "split": 0.0625, "add": 1.0}
    data = write_steps(tmp_path / "steps.jsonl", weights)
    model, tokenizer = AutoModelForCausalLM.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny)
    total, count = 0.0, 0
    for line in data.read_text().splitlines():
        row = json.loads(line)
        prompt = tokenizer(f"{row['state']}:::")["input_ids"]
        answer = [*tokenizer(row["tactic"], add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
        with torch.no_grad():
            logs = model(torch.tensor([prompt + answer])).logits[0].log_softmax(-1)
        total -= row["weight"] * sum(float(logs[len(prompt) - 1 + at, token]) for at, token in enumerate(answer))
        count += len(answer)
    norms = []
    for micro in (0, 2):
        out = tmp_path / f"micro-{micro}"
        run(settings(tiny, data, out, steps=1, batch=6, micro_batch=micro))
        assert curve(out)[0]["loss"] == pytest.approx(total / count, rel=1e-4)
        norms.append(load_file(out / "model/model.safetensors")["model.norm.weight"])
    assert torch.allclose(*norms, rtol=0.0, atol=1e-5)


class Killed(BaseException):
    """As a process that ends at once: nobody tidies up after it."""


def test_a_run_that_was_killed_goes_on_to_the_same_end(
    tiny: Path, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lora = LoraSettings(on=True, rank=2, dropout=0.1)
    run(settings(tiny, steps, tmp_path / "whole", steps=6, lora=lora))
    completed = RunFolder.completed

    def kill(folder: RunFolder, step: int, seconds: float) -> None:
        if step == 4:  # all files of the checkpoint are there, and nothing says so
            (folder.checkpoints / "checkpoint-4" / "optimizer.pt").write_bytes(b"half")
            raise Killed
        completed(folder, step, seconds)

    monkeypatch.setattr(RunFolder, "completed", kill)
    with pytest.raises(Killed):
        run(settings(tiny, steps, tmp_path / "out", steps=6, lora=lora))
    monkeypatch.undo()
    run(settings(tiny, steps, tmp_path / "out", steps=6, lora=lora))
    assert same(tmp_path / "whole", tmp_path / "out", "adapter_model.safetensors")
    kept = [[each["loss"] for each in curve(tmp_path / name) if "loss" in each] for name in ("whole", "out")]
    assert kept[0] == kept[1] and len(kept[0]) == 6


def test_a_finished_run_is_not_repeated_and_another_one_is_refused(tiny: Path, steps: Path, tmp_path: Path) -> None:
    first = run(settings(tiny, steps, tmp_path / "out", steps=1))
    assert run(settings(tiny, steps, tmp_path / "out", steps=1)) == first
    with pytest.raises(InputError, match=r"holds a run with other settings \(seed was 0, is 1\).*--fresh"):
        run(settings(tiny, steps, tmp_path / "out", steps=1, seed=1))
    assert run(settings(tiny, steps, tmp_path / "out", steps=2, fresh=True))["steps"] == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="holds something else"):
        run(settings(tiny, steps, tmp_path / "mine", fresh=True))


def test_a_loss_that_is_no_number_ends_the_training(tiny: Path, steps: Path, tmp_path: Path) -> None:
    broken = shutil.copytree(tiny, tmp_path / "broken")
    tensors = load_file(tiny / "model.safetensors")
    tensors["model.norm.weight"].fill_(math.nan)
    save_file(tensors, broken / "model.safetensors", {"format": "pt"})
    with pytest.raises(NotFinite, match=r"loss of step 1 is not a number; there is no checkpoint yet.*smaller --rate"):
        run(settings(broken, steps, tmp_path / "out"))
    assert not (tmp_path / "out" / "model").exists()


def test_a_full_disk_and_ctrl_c_keep_the_last_checkpoint(
    tiny: Path, steps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from node.tuning.carrying_out import Interrupted  # with transformers and TRL, which takes seconds

    completed = RunFolder.completed

    def then_full(folder: RunFolder, step: int, seconds: float) -> None:
        completed(folder, step, seconds)
        limit_files(0, 20_000)  # weights are larger

    monkeypatch.setattr(RunFolder, "completed", then_full)
    try:
        with pytest.raises(TrainingError, match=r"cannot be written .*; the checkpoint of step 2 is kept: make room"):
            run(settings(tiny, steps, tmp_path / "out"))
    finally:
        limit_files(0, -1)
    monkeypatch.undo()
    assert run(settings(tiny, steps, tmp_path / "out"))["steps"] == 4

    def interrupt(folder: RunFolder, step: int, seconds: float) -> None:
        completed(folder, step, seconds)
        if step == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(RunFolder, "completed", interrupt)
    with pytest.raises(Interrupted, match="stopped at step 3 of 6; the same command resumes it") as stopped:
        run(settings(tiny, steps, tmp_path / "stopped", steps=6))
    assert stopped.value.exit_code == 130
    last = RunFolder(tmp_path / "stopped").last()
    assert last is not None and last.step == 3


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(errno.EACCES, "no permission"), TrainingError),
        (RuntimeError("PytorchStreamWriter failed writing file data/0"), TrainingError),
        (RuntimeError("the tensors have other shapes"), RuntimeError),
    ],
)
def test_only_what_stops_the_writing_of_files_is_told_as_that(
    error: Exception, kind: type[Exception], tmp_path: Path
) -> None:
    from node.tuning.carrying_out import written

    with pytest.raises(kind) as raised, written(RunFolder(tmp_path)):
        raise error
    assert type(raised.value) is kind


def test_held_out_theorems_are_measured_before_and_after(tiny: Path, steps: Path, tmp_path: Path) -> None:
    found = run(settings(tiny, steps, tmp_path / "out", held_out=2, steps=8, rate=1e-2))
    assert 0 < found["held_out_examples"] < 6 and found["examples"] + found["held_out_examples"] == 6
    assert found["held_out_loss_before"] == pytest.approx(math.log(331), abs=0.3)  # of random weights
    assert found["held_out_loss"] < found["held_out_loss_before"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lora": LoraSettings(on=True, targets=("query",))}, "no such layer; it has down_proj, "),
        ({"lora": LoraSettings(on=True, targets=("lm_head",))}, "an adapter on the output layer"),
        ({"kind": "proofs"}, "is for tactic; name one for whole-proof"),
        ({"kind": "both", "other_template": "stp"}, None),
        ({"other_template": "bfs-prover-v2"}, "is for tactic, like the model's own"),
        ({"max_tokens": 3}, r"there are no steps to train on \(left out: 6 longer than the model reads\)"),
    ],
)
def test_what_does_not_fit_is_refused(
    tiny: Path, steps: Path, tmp_path: Path, change: dict[str, Any], message: str | None
) -> None:
    wanted = settings(tiny, steps, tmp_path / "out", **change)
    if message is None:
        assert any("template bfs-prover-v1 and stp" in line for line in run(wanted, "dry_run"))
        return
    with pytest.raises(InputError, match=message):
        run(wanted)
    assert not (tmp_path / "out").exists()


def test_a_model_from_scratch_is_made_of_its_seed_and_resumed_like_any_other(steps: Path, tmp_path: Path) -> None:
    shape = LlamaShape(vocab_size=300, depth=1, width=32, heads=2, kv_heads=1, hidden=64, context=128)
    fresh = replace(settings("", steps, tmp_path / "one", steps=1), from_scratch=True, shape=shape)
    found = run(fresh)
    assert found["model"] == "from scratch" and found["use"] == f"hf:{tmp_path / 'one' / 'model'}"
    assert found["parameters_trained"] == found["parameters"]
    run(replace(fresh, out=tmp_path / "two"))
    assert same(tmp_path / "one", tmp_path / "two")
    shutil.rmtree(tmp_path / "one" / "base")
    assert run(fresh) == found, "the base is made again, and the run is not repeated"
    with pytest.raises(InputError, match=r"holds a run with other settings .*shape"):
        run(replace(fresh, shape=replace(shape, depth=2)))
    with pytest.raises(InputError, match="a fresh model reads no conversation"):
        run(replace(fresh, out=tmp_path / "chat", template="kimina-prover"))
    assert any("from scratch, template bfs-prover-v1" in line for line in run(fresh, "dry_run"))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"model": ""}, "give either this flag or the name of a model"),
        ({"from_scratch": True}, "give either this flag or the name of a model"),
        ({"model": "", "from_scratch": True, "lora": LoraSettings(on=True)}, "lora needs an existing model"),
        ({"model": "", "from_scratch": True, "shape": LlamaShape(heads=3)}, "must be an even number"),
    ],
)
def test_a_training_has_one_beginning(tmp_path: Path, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        replace(settings("model", tmp_path, tmp_path / "out"), **wrong).check()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--rate", "0"], "--rate: expected `float` > 0.0"),
        (["--batch", "6", "--micro-batch", "4"], "--batch 6: must be a multiple of --micro-batch 4"),
        (["--data", "nowhere"], "--data nowhere: no such file or folder"),
        (["--other-template", "no-such"], "--other-template: no template `no-such`"),
        (["--device", "gpu9"], "no such device"),
    ],
)
def test_what_is_wrong_is_one_line_and_code_2(
    tiny: Path, steps: Path, tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--data", str(steps), "--out", str(tmp_path / "out"), "--device", "cpu", "--keep-out", "--held-out", "0"]
    assert commands.sft([str(tiny), *place, *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("proofmesh train hf-sft: ") and message in said and said.count("\n") == 1
    assert not (tmp_path / "out").exists()
