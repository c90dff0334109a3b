"""Names that are mistyped are told before Lean, a broker or a node starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.command import cli, up
from node.lean.toolchain import find as finding, find as starting


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder without models, on a machine without a network, where Lean cannot start."""

    def starts(*_: object) -> None:
        raise AssertionError("Lean is looked for first")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding, "find", starts)
    monkeypatch.setattr(starting, "find", starts)
    monkeypatch.setattr(starting, "detect", starts)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize("command", ["prove", "fill", "eval"])
@pytest.mark.parametrize("model", ["models/nowhere", "./nowhere", "nowhere", "models/nowhere@bfs-prover-v1"])
def test_a_model_folder_that_does_not_exist_is_named_at_once(
    command: str, model: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")
    (here / "A.lean").write_text("theorem a : 1 = 1 := by sorry\n")
    target = {"prove": ["theorem t (n : Nat) : n = n"], "fill": ["A.lean"], "eval": ["--bench", "A.lean"]}[command]
    assert cli.main([command, *target, "--policy", f"hf:{model}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and model.partition("@")[0] in said
    assert "no such folder" in said or "there is no folder" in said


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--bench", "pocket:tets", "--policy", "tactics"], "tets"),
        (["--bench", "nowhere.lean", "--policy", "tactics"], "nowhere.lean: no such file"),
        (["--bench", "nowhere.lean", "--url", "nats://127.0.0.1:1"], "nowhere.lean: no such file"),
        (["--bench", "pocket:test", "--policy", "own:nowhere"], "nowhere: there is no such checkpoint"),
        (["--bench", "pocket:test", "--policy", "tactics:nowhere"], "nowhere: the list of tactics cannot be read"),
        (["--bench", "pocket:test", "--policy", "tactic"], "tactic"),
    ],
)
def test_an_evaluation_names_what_it_does_not_find_before_anything_starts(
    flags: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["eval", *flags]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and says in said


def test_a_mesh_that_misses_a_model_starts_no_node(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starts(*_: object) -> None:
        raise AssertionError("the nodes start first")

    pytest.importorskip("transformers")
    monkeypatch.setattr(up, "run", starts)
    assert cli.main(["up", "--learner", "0", "--models", "hf:models/nowhere@bfs-prover-v1"]) == 2
    assert "[up] models: hf:models/nowhere: there is no such folder" in capsys.readouterr().err
