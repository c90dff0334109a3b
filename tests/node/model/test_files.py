"""Checkpoints and weights files: complete or absent, and refused with a reason."""

import errno
import json
import os
from pathlib import Path

import pytest
import torch

from common.files import file_digest
from node.model import checkpoint, weights
from node.model.checkpoint import CheckpointError
from node.model.checkpoint_folders import newest_whole, set_aside
from node.model.optimizer import Optimizer
from node.model.tokenizer import Tokenizer
from node.model.weights import WeightsError
from tests.files import limited_files, truncate
from tests.node.model.tiny import tiny_loss, tiny_model, tiny_tokenizer


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    model = tiny_model().train()
    optimizer = Optimizer(model)
    tiny_loss(model).backward()
    optimizer.clip()
    optimizer.update()
    directory = tmp_path / "checkpoints" / checkpoint.name_of_step(7)
    said = {"optimizer": optimizer.state_dict(), "config": {"run": "demo"}, "extra": {"a": 1}}
    return checkpoint.save(directory, model, tiny_tokenizer(), step=7, **said)


def test_a_checkpoint_comes_back_whole(saved: Path) -> None:
    loaded = checkpoint.load(saved)
    assert (loaded.step, loaded.config, loaded.extra) == (7, {"run": "demo"}, {"a": 1})
    assert loaded.tokenizer.to_json() == tiny_tokenizer().to_json()
    optimizer = Optimizer(loaded.model)
    assert loaded.optimizer is not None
    optimizer.load_state_dict(loaded.optimizer)
    assert optimizer.steps == 1 and checkpoint.load(saved, optimizer=False).optimizer is None


@pytest.mark.parametrize("name", [checkpoint.MODEL, checkpoint.STATE])
@pytest.mark.parametrize("damage", ["missing", "truncated", "changed"])
def test_a_damaged_checkpoint_is_refused_by_name(saved: Path, name: str, damage: str) -> None:
    path = saved / name
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        truncate(path)
    else:
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(CheckpointError, match=name):
        checkpoint.load(saved)


def test_a_tokenizer_of_another_run_is_refused(saved: Path) -> None:
    larger = Tokenizer.train([f"lemma_{a}{b} {b}{a}{a}" for a in "abcdefgh" for b in "stuvwxyz"] * 9, 600)
    assert larger.vocab_size > tiny_tokenizer().vocab_size
    checkpoint.save(saved, tiny_model(), larger, step=7)
    with pytest.raises(CheckpointError, match="take both from the same run"):
        checkpoint.load(saved)


@pytest.mark.parametrize(
    ("changes", "model", "says"),
    [({"schema": 99}, {}, "schema 99"), ({}, {"width": 64}, "do not match"), ({}, {"experts": 8}, "experts")],
)
def test_a_state_that_does_not_fit_is_refused(
    saved: Path, changes: dict[str, int], model: dict[str, int], says: str
) -> None:
    state = json.loads((saved / checkpoint.STATE).read_text())
    (saved / checkpoint.STATE).write_text(json.dumps(state | changes | {"model": state["model"] | model}))
    with pytest.raises(CheckpointError, match=says):
        checkpoint.load(saved)


def test_what_an_interrupted_save_leaves_is_no_checkpoint(saved: Path) -> None:
    root = saved.parent
    (root / ".step-000009.1234.part").mkdir()
    (root / ".step-000009.1234.part" / checkpoint.MODEL).write_bytes(b"half")
    assert checkpoint.latest(root) == saved
    checkpoint.prune(root, keep=1)
    assert list(root.iterdir()) == [saved]


def test_newest_whole_checkpoint_is_found_behind_damaged_ones(tmp_path: Path) -> None:
    assert newest_whole(tmp_path) == (None, {})
    paths = [tmp_path / checkpoint.name_of_step(step) for step in (1, 2, 3, 4)]
    for step, path in enumerate(paths, start=1):
        checkpoint.save(path, tiny_model(), tiny_tokenizer(), step=step)
    truncate(paths[3] / checkpoint.MODEL)
    said = ("model", "config", "extra", "files")
    (paths[2] / checkpoint.STATE).write_text(json.dumps({"schema": 1, "step": 3} | dict.fromkeys(said, 1)))
    newest, problems = newest_whole(tmp_path)
    assert newest == paths[1] and list(problems) == [paths[3], paths[2]]
    assert "truncated" in problems[paths[3]] and "damaged" in problems[paths[2]]
    set_aside(paths[3])
    assert checkpoint.complete(tmp_path) == paths[:3]


@pytest.mark.parametrize("room", [100, 200_000])
def test_full_disk_leaves_the_checkpoint_that_stood_there_and_nothing_beside_it(saved: Path, room: int) -> None:
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    model = tiny_model()
    optimizer = {"state": torch.zeros(100_000)}
    weights_file = saved.parent / "weights.safetensors"
    with limited_files(room), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        checkpoint.save(saved, model, tiny_tokenizer(), step=7, optimizer=optimizer)
    with limited_files(100), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        weights.write(weights_file, model, tiny_tokenizer())
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name] and checkpoint.load(saved).step == 7


@pytest.mark.parametrize("tied", [False, True])
def test_a_weights_file_carries_all_that_inference_needs(tmp_path: Path, tied: bool) -> None:
    model, path = tiny_model(tied=tied), tmp_path / "weights.safetensors"
    digest = weights.write(path, model, tiny_tokenizer(), {"version": "3"})
    loaded = weights.read(path)
    assert all(torch.equal(*pair) for pair in zip(model.parameters(), loaded.model.parameters(), strict=True))
    assert not loaded.model.training and loaded.tokenizer.to_json() == tiny_tokenizer().to_json()
    assert loaded.information == {"version": "3"} and file_digest(path) == digest
    assert [entry.name for entry in tmp_path.iterdir()] == ["weights.safetensors"]


def test_bad_weights_files_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "weights.safetensors"
    with pytest.raises(WeightsError, match="no such weights file"):
        weights.read(path)
    weights.write(path, tiny_model(), tiny_tokenizer())
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(WeightsError, match="not a complete safetensors file"):
        weights.read(path)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(WeightsError, match="schema none"):
        weights.read(path)
    model = tiny_model()
    model.policy.weight.data[0, 0] = torch.nan
    weights.write(path, model, tiny_tokenizer())
    with pytest.raises(WeightsError, match="not finite"):
        weights.read(path)
