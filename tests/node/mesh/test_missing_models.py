"""A model's folder that does not exist is named before Lean starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from node.lean.toolchain import find as finding
from node.mesh import cli


@pytest.mark.parametrize("command", ["prove", "fill"])
@pytest.mark.parametrize("model", ["models/nowhere", "./nowhere", "nowhere"])
def test_a_model_folder_that_does_not_exist_is_named_at_once(
    command: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers")

    def starts(*_: object) -> None:
        raise AssertionError("Lean is looked for first")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(finding, "find", starts)
    (tmp_path / "A.lean").write_text("theorem a : 1 = 1 := by sorry\n")
    target = "theorem t (n : Nat) : n = n" if command == "prove" else "A.lean"
    assert cli.main([command, target, "--policy", f"hf:{model}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and model in said and ("no such folder" in said or "there is no folder" in said)
