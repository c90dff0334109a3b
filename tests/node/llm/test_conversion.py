"""`proofmesh models export` and `import`: what they write, and one line for what cannot be done."""

import json
import shutil

import pytest

from common.files import file_digest
from node.llm.command import main
from node.model import checkpoint
from node.model.checkpoint import read_weights
from node.model.weights import write
from tests.node.model.tiny import tiny_model, tiny_tokenizer

pytestmark = pytest.mark.compute

EVALUATED = {
    "label": "after", "beside": False, "step": 7, "weights": 1, "time": 0.0, "statements": 9, "solved": 5,
    "undecided": 1, "simulations": 16, "simulations_used": 99, "lean_attempts": 99,
}  # fmt: skip


def test_a_run_is_exported_and_comes_back_bit_by_bit(run_folder, tmp_path, capsys):
    (run_folder / "evaluations.jsonl").write_text(json.dumps(EVALUATED) + "\n")
    (run_folder / "config.toml").write_text("[learner.trainer]\nbatch = 77\n")
    out, back = tmp_path / "exported", tmp_path / "back"
    assert main(["export", f"own:{run_folder}", str(out)]) == 0
    shown, card = capsys.readouterr(), (out / "README.md").read_text()
    assert "of step 7" in shown.out and shown.err == ""
    assert "It proved 5 of 8 held-out theorems with 16 simulations each." in card and '"batch": 77' in card
    assert json.loads((out / "config.json").read_text())["proofmesh_template"] == "proofmesh"
    assert main(["import", str(out), str(back)]) == 0
    assert "step 7" in capsys.readouterr().out
    newest = run_folder / "checkpoints/step-000007"
    assert file_digest(back / "model.safetensors") == file_digest(newest / "model.safetensors")
    assert (back / "tokenizer.json").read_bytes() == (newest / "tokenizer.json").read_bytes()
    assert read_weights(back).information["step"] == "7"
    assert checkpoint.load(back).tokenizer.digest == tiny_tokenizer().digest


def test_a_weights_file_is_exported_says_what_it_was_trained_on_and_replaces_an_old_folder_when_asked(tmp_path, capsys):
    write(tmp_path / "net.safetensors", tiny_model(), tiny_tokenizer(), {"step": "3", "proofs": "yes"})
    out = tmp_path / "out"
    arguments = ["export", f"own:{tmp_path}/net.safetensors", str(out)]
    assert main(arguments) == 0
    assert main(arguments) == 2
    assert f"{out} exists already; name another folder, or replace it with --force" in capsys.readouterr().err
    (out / "old").touch()
    assert main([*arguments, "--force"]) == 0
    assert not (out / "old").exists() and (out / "config.json").exists()
    assert main(["import", str(out), str(tmp_path / "back")]) == 0
    assert read_weights(tmp_path / "back").information["proofs"] == "yes"


def refused(arguments, capsys) -> str:
    """The line with which a command refuses."""
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def test_what_cannot_be_exported_or_imported_is_one_line_and_force_replaces_nothing_else(tmp_path, capsys, run_folder):
    write(tmp_path / "net.safetensors", tiny_model(), tiny_tokenizer(), {"step": "3"})
    (tmp_path / "torn.safetensors").write_bytes(b"x")
    (tmp_path / "work").mkdir()
    (tmp_path / "work/thesis.txt").write_text("years")
    own, out, new, step = f"own:{tmp_path}", tmp_path / "out", tmp_path / "new", run_folder / "checkpoints/step-000003"
    for words, *arguments in (
        ("there is no such checkpoint, weights file", f"{own}/none", out),
        ("not a complete safetensors file", f"{own}/torn.safetensors", out),
        ("is not one of proofmesh's own networks", "openai:http://x#y", out),
        (
            "net.safetensors/out cannot be written: File exists",
            f"{own}/net.safetensors",
            f"{tmp_path}/net.safetensors/out",
        ),
        ("work holds other files", f"{own}/net.safetensors", tmp_path / "work", "--force"),
    ):
        assert words in refused(["export", *arguments], capsys)
    assert not out.exists() and (tmp_path / "work/thesis.txt").read_text() == "years"
    assert main(["export", own, str(out)]) == 0
    half = shutil.copytree(out, tmp_path / "half")
    (half / "model.safetensors").unlink()
    for words, *arguments in (
        (f"{step} exists already", out, step),
        ("holds no complete model", run_folder, new),
        ("no complete model in Hugging Face's", tmp_path / "nowhere", new),
        ("the folder is not complete", half, new),
        ("out holds other files (no state.json)", out, out, "--force"),
    ):
        assert words in refused(["import", *arguments], capsys)
    assert not new.exists()
