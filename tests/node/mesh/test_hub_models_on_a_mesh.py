"""`proofmesh up` with a model in transformers: real weights, real Lean, and the results of one process."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from node.command.cli import main
from node.command.evaluate import command as eval_command
from node.mesh.plan import free_port
from tests.node.llm.hub.tiny import SWAP, saved, taught
from tests.node.mesh.test_models_on_a_mesh import MESH, RUN, registered

ROWS = [
    {"name": "swap", "statement": "theorem swap (p q : Prop) : p ∧ q → q ∧ p"},
    {"name": "false", "statement": "theorem false (p q : Prop) : p → q"},
]


@pytest.mark.slow
@pytest.mark.process
def test_a_model_in_transformers_on_a_mesh_is_that_of_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(taught(SWAP), Path("swap-prover"))
    config = json.loads(Path("swap-prover/config.json").read_text())
    Path("swap-prover/config.json").write_text(json.dumps(config | {"proofmesh_template": "bfs-prover-v1"}))
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    port = free_port()
    Path("mesh.toml").write_text(MESH.format(folder=tmp_path, port=port), encoding="utf-8")
    url = f"nats://127.0.0.1:{port}"

    def results(out: str, *more: str) -> tuple[dict[str, str], dict[str, str]]:
        flags = ("--simulations", "8", "--samples", "2", "--out", out, "--searches", "1")
        assert eval_command.main(["--bench", "rows.jsonl", *flags, *more]) == Exit.DONE
        found = json.loads(Path(out, "results.json").read_text())["statements"]
        plan = json.loads(Path(out, "evaluation.json").read_text())
        return {row["name"]: row["standing"] for row in found}, plan["weights"]

    here, _ = results("here", "--policy", "hf:swap-prover")
    _, weights = results("named", "--policy", "hf:swap-prover@bfs-prover-v1")
    with asyncio.Runner() as runner:
        command = [sys.executable, "-m", "node.command.cli", "up", "mesh.toml", "--policy", "hf:swap-prover"]
        up = runner.run(spawn_child(command, stderr=asyncio.subprocess.DEVNULL))
        try:
            runner.run(registered(url, 4))
            there = results("there", "--url", url, "--run", RUN)
        finally:
            up.send_signal(signal.SIGTERM)
            runner.run(up.wait())
            runner.run(kill_group(up, grace=0))
    assert here == {"swap": "solved", "false": "unsolved"}
    assert there == (here, weights) and "weights" in weights["hf:swap-prover@bfs-prover-v1"]


def test_a_folder_that_is_none_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("BFS-Prover-V1").mkdir()
    assert main(["up", "--dry-run", "--policy", "hf:BFS-Prover-V1"]) == Exit.UNUSABLE
    error = capsys.readouterr().err
    assert "hf:BFS-Prover-V1" in error and error.count("\n") == 1
