"""`just gpu-check` with a CPU in place of the GPU."""

import json
from pathlib import Path

import pytest

from scripts.bench import gpu
from scripts.bench.gpu import CHECKS, PARTS_SECONDS, Gpu
from scripts.bench.harness import run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def test_a_part_that_fails_or_takes_too_long_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PARTS_SECONDS, "swap", 0)
    file = tmp_path / "gpu.json"
    parts = ("nothing", "swap", "device", "vllm")
    assert run(Gpu, "gpu", ["--device", "cpu", "--json", str(file), "--parts", *parts]) == 1
    found = json.loads(file.read_text())
    assert found["device"] == "cpu" and not found["sound"]
    assert "there is no part `nothing`" in found["results"]["nothing"]["problem"]
    assert "not finished" in found["results"]["swap"]["problem"]
    assert found["results"]["device"]["bandwidth_gb_per_s"] > 0
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("gpu-check ")]
    assert [line.split(":")[1].split()[0] for line in lines] == ["FAILED", "FAILED", "ok", "ok"]


def test_every_part_runs_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "PARTS_SECONDS", dict.fromkeys(PARTS_SECONDS, 300))  # the machine may have other load
    results = Gpu(device="cpu").measure()["results"]
    assert {part: row.get("problem") for part, row in results.items()} == dict.fromkeys(CHECKS)
    assert results["ranks"]["ddp"]["losses"] == pytest.approx(results["ranks"]["fsdp"]["losses"], abs=0.01)
