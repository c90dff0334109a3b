"""A stage as its user sees it: it learns, it goes on where it was, it says what is wrong."""

import gc
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

from common.life import faults
from node.data.errors import InputError, NotFinite
from node.model import checkpoint
from node.model.checkpoint_folders import complete, latest
from node.model.tokenizer import Tokenizer
from node.training import __main__ as cli, recipe, stage
from node.training.loader import PackedBatch
from node.training.settings import StageSettings
from node.training.stage import STABLE, check_same, load, resolve, run_stage
from node.training.trainer import Trainer
from tests.node.training.small import curve, rows, small, write_jsonl

pytestmark = pytest.mark.compute

ROOT = Path(__file__).parents[3]


def checkpoints(folder: Path, run: str = "run") -> Path:
    return folder / "runs" / run / "checkpoints"


def test_a_stage_learns_and_keeps_what_it_was(tmp_path: Path) -> None:
    metrics = run_stage("sft", small(tmp_path, steps=30, evaluate_every=30, save_every=30, log_every=8))
    losses = curve(tmp_path)
    assert list(losses) == [1, 8, 16, 24, 30] and losses[30] < 0.7 * losses[1]
    assert {"valid_loss", "valid_bits_per_byte", "valid_tactic_accuracy", "valid_value_error"} <= metrics.keys()
    assert (checkpoints(tmp_path) / STABLE).read_text().strip() == "step-000030"
    found = checkpoint.load(checkpoints(tmp_path) / "step-000030")
    assert found.config["settings"]["steps"] == 30 and found.config["tokenizer"] == found.tokenizer.digest
    assert found.tokenizer.value_bins == found.model.config.value_bins


def test_a_stage_says_how_many_rows_are_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = [row | {"tactic": "exact " + "⟩" * 60, "state": "⊢ q"} for row in rows(20)]
    mixed = [each for pair in zip(rows(20), long, strict=True) for each in pair]
    write_jsonl(tmp_path / "transitions.jsonl", mixed)
    run_stage("sft", small(tmp_path, steps=2, save_every=2, evaluate_every=2))
    said = " ".join(capsys.readouterr().err.split())
    for where in ("training", "evaluation"):
        found = re.search(rf"sft: (\d+) of (\d+) rows \([\d.]+%\) left out of {where}, .* at most 48 tokens", said)
        assert found and 0 < int(found[1]) < int(found[2])


@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 2])
def test_killed_in_a_step_it_goes_on_with_the_same_losses(tmp_path: Path, ranks: int) -> None:
    def trained(settings: StageSettings, **fault: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "node.training", "sft", *recipe.flags("sft", settings)]
        environment = {**os.environ, **fault}
        return subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)

    settings = small(tmp_path, ranks=ranks, save_every=2)
    assert trained(replace(settings, run="undisturbed")).returncode == 0
    died = trained(settings, **{faults.VARIABLE: f"trainer-{ranks - 1}:in-step#4"})
    assert died.returncode != 0 and (ranks == 1 or f"rank {ranks - 1} died (SIGKILL)" in died.stderr)
    assert trained(settings).returncode == 0
    for name in ("loss", "gradient_norm"):
        assert curve(tmp_path, name) == curve(tmp_path, name, run="undisturbed")


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = small(tmp_path)
    plain = Trainer.step

    def poisoned(self: Trainer, batches: list[PackedBatch], factor: float) -> dict[str, float]:
        if self.step_number == 4:
            with torch.no_grad():
                self.model.blocks[0].feed_forward.up.weight[0, 0] = float("nan")
        return plain(self, batches, factor)

    monkeypatch.setattr(Trainer, "step", poisoned)
    collector = Mock(get_freeze_count=lambda: 0)
    monkeypatch.setattr(stage, "gc", collector)
    with pytest.raises(NotFinite, match=r"step 5: the loss is nan.*step-000003"):
        run_stage("sft", settings)
    assert latest(checkpoints(tmp_path)) == checkpoints(tmp_path) / "step-000003"
    assert [name for name, *_ in collector.mock_calls] == ["collect", "freeze", "disable", "unfreeze", "enable"]
    monkeypatch.undo()
    gc.freeze()
    run_stage("sft", settings)
    assert max(curve(tmp_path)) == 6
    assert gc.get_freeze_count() and gc.isenabled(), "what a caller has frozen stays frozen"


def test_a_checkpoint_of_before_settings_were_taken_out_goes_on_unless_one_was_on(tmp_path: Path) -> None:
    settings = small(tmp_path, steps=1)
    run_stage("sft", settings)
    path = resolve(str(tmp_path / "runs" / "run"))
    found = load(path, optimizer=False)
    old = found.config["settings"]
    old["after_weight"] = 0.1
    old["data"] |= {"canonical_names": True, "rename_hypotheses": False, "state_after": False}
    check_same(settings, found, path, 1)
    old["data"]["canonical_names"] = False
    with pytest.raises(InputError, match=r"data\.canonical_names was False, is True.*another --run"):
        check_same(settings, found, path, 1)


def test_what_does_not_fit_is_refused_with_the_reason(tmp_path: Path) -> None:
    settings = small(tmp_path, steps=2)
    run_stage("sft", settings)
    Tokenizer.train(["a b c"] * 5, 300).save(tmp_path / "other.json")
    start = str(tmp_path / "runs" / "run")
    for stage_name, changes, says in (
        ("sft", {"batch_tokens": 288}, r"batch_tokens was 192, is 288.*another --run"),
        ("midtrain", {}, "is a run of sft, not of midtrain"),
        ("sft", {"start": start, "tokenizer": str(tmp_path / "other.json")}, r"other\.json is not the tokenizer of"),
        ("sft", {"start": start, "length": 200, "batch_tokens": 400}, "is 200, and the network reads 96 tokens"),
        ("sft", {"start": str(tmp_path / "nowhere")}, "there is no checkpoint"),
    ):
        with pytest.raises(InputError, match=says):
            run_stage(stage_name, replace(settings, run="next" if "start" in changes else "run", **changes))


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--data.sources", "transitions:{folder}/empty.jsonl"], "there is nothing in it"),
        (["--data.sources", "transitions:{folder}/torn.parquet"], "cannot be read, is it corrupt"),
        (["--data.sources", "transitions:{folder}/lines.jsonl"], "line 2 is not JSON"),
        (["--data.sources", "transitions:{folder}/none.jsonl"], "there is no such file"),
        (["--data.sources", "proofs:{folder}/drafts.jsonl"], "drafts.jsonl: no whole proof: expected the texts"),
        (["--data.sources", "poems:bank"], "KIND:WHERE"),
        (["--preset", "huge"], "no preset `huge`"),
        (["--batch-tokens", "64"], "less than one row"),
        (["--steps", "0"], "at least 1"),
    ],
)
def test_bad_input_ends_with_code_2_and_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], said: str
) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "drafts.jsonl").write_text('{"name": "t", "proof": "rfl"}\n')
    (tmp_path / "torn.parquet").write_bytes(b"PAR1 this is no table PAR1")
    row = json.dumps({"state": "⊢ True", "tactic": "trivial", "remaining_steps": 1})
    (tmp_path / "lines.jsonl").write_text(f"{row}\n{{torn\n", encoding="utf-8")
    filled = [flag.format(folder=tmp_path) for flag in flags]
    code = cli.main(["sft", "--directory", str(tmp_path / "runs"), "--data.cache", str(tmp_path / "cache"), *filled])
    assert code == 2 and said in " ".join(capsys.readouterr().err.split())


def test_an_interrupted_stage_goes_on_with_the_losses_that_it_would_have_had_whatever_was_damaged(
    tmp_path: Path,
) -> None:
    settings = small(tmp_path, steps=4, save_every=2, evaluate_every=2)
    run_stage("sft", replace(settings, run="undisturbed"))
    run_stage("sft", replace(settings, minutes=0.0))  # ends after a step, with a checkpoint
    assert max(curve(tmp_path)) == 1
    run_stage("sft", settings)
    model = checkpoints(tmp_path) / "step-000004" / "model.safetensors"
    model.write_bytes(model.read_bytes()[:-100])
    run_stage("sft", settings)  # from the checkpoint before the damaged one
    assert [path.name for path in complete(checkpoints(tmp_path))] == ["step-000002", "step-000004"]
    for name in ("loss", "gradient_norm", "valid_loss"):
        undisturbed = curve(tmp_path, name, run="undisturbed")
        assert {step: value for step, value in curve(tmp_path, name).items() if step in undisturbed} == undisturbed
