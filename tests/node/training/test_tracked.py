"""Curves in trackio, where it is installed; a clear refusal where it is not."""

import importlib.util
from pathlib import Path

import pytest

from node.data.errors import InputError
from node.training.stage import run_stage
from tests.node.training.small import curve, small


@pytest.mark.skipif(importlib.util.find_spec("trackio") is not None, reason="trackio is installed")
def test_without_the_package_it_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"pip install 'proofmesh\[trackio\]'"):
        run_stage("sft", small(tmp_path, steps=1, trackio="project"))


def test_a_run_has_the_same_curves_in_trackio_and_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip("trackio")
    from trackio.sqlite_storage import SQLiteStorage

    run_stage("sft", small(tmp_path, steps=2, evaluate_every=2, trackio="project", minutes=0.0))  # ends after a step
    run_stage("sft", small(tmp_path, steps=2, evaluate_every=2, trackio="project"))
    assert SQLiteStorage.get_runs("project") == ["run"]
    logs = SQLiteStorage.get_logs("project", "run")
    assert {line["step"]: line["loss"] for line in logs if "loss" in line} == pytest.approx(curve(tmp_path))
    assert any("valid_loss" in line for line in logs)
