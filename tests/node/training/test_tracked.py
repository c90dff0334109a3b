"""Curves in trackers, of those that are installed; a clear refusal of the others."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.output.command import UserError
from common.watch import tracking
from common.watch.tracking import TRACKERS, Tracked, Tracker, check_tracker
from node.training.stage import run_stage
from tests.node.training.small import curve, small


def tensorboard(run: Path) -> Iterator[tuple[int, dict[str, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(run / "tensorboard"))
    found.Reload()
    for name in found.Tags()["scalars"]:
        yield from ((event.step, {name: event.value}) for event in found.Scalars(name))


def trackio(run: Path) -> Iterator[tuple[int, dict[str, float]]]:
    from trackio.sqlite_storage import SQLiteStorage

    assert SQLiteStorage.get_runs("project") == [run.name]
    yield from ((line["step"], line) for line in SQLiteStorage.get_logs("project", run.name))


def wandb(run: Path) -> Iterator[tuple[int, dict[str, float]]]:
    from wandb.proto.wandb_internal_pb2 import Record

    files = sorted((run / "wandb").glob("offline-run-*/run-*.wandb"))
    assert len({file.name for file in files}) == 1  # both processes write into one record
    for file in files:
        for data in records(file.read_bytes()):
            record = Record()
            record.ParseFromString(data)
            line = {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}
            if "step" in line:
                yield int(line["step"]), line


def records(content: bytes) -> Iterator[bytes]:
    """The records of a file of W&B: LevelDB's log format after 7 bytes, with headers of 7 bytes in blocks of 32 KiB."""
    place, found = 7, b""
    while place + 7 <= len(content):
        if 32768 - place % 32768 < 7:
            place += 32768 - place % 32768
        size, kind = int.from_bytes(content[place + 4 : place + 6], "little"), content[place + 6]
        found += content[place + 7 : place + 7 + size]
        place += 7 + size
        if kind in (1, 4):  # whole, or the last part
            yield found
            found = b""


@pytest.mark.process  # W&B asks git about the folder, and has a program of its own
@pytest.mark.parametrize("read", [tensorboard, trackio, wandb])
def test_a_run_has_the_same_curves_in_a_tracker_and_goes_on_there(
    read: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = read.__name__  # type: ignore[attr-defined]
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # read when it is imported
    for package in (name, TRACKERS[name][1]):
        pytest.importorskip(package)
    tracker = f"{name}:project"
    run_stage("sft", small(tmp_path, steps=2, evaluate_every=2, tracker=tracker, minutes=0.0))  # ends after a step
    run_stage("sft", small(tmp_path, steps=2, evaluate_every=2, tracker=tracker))
    found = list(read(tmp_path / "runs/run"))  # type: ignore[operator]
    assert {step: line["loss"] for step, line in found if "loss" in line} == pytest.approx(curve(tmp_path))
    assert any("valid_loss" in line for _, line in found)


def test_a_tracker_that_is_unknown_or_not_installed_is_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install 'proofmesh\[wandb\]'"):
        check_tracker("wandb:p")
    with pytest.raises(UserError, match="no tracker 'mlflow'; use ten"):
        check_tracker("mlflow")


def test_training_goes_on_without_a_tracker_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Told(Tracker):
        def __init__(self, project: str, *_: object) -> None:
            self.project = project

        def write(self, step: int, values: object) -> None:
            heard.append(f"{self.project} {step}")
            if self.project == "full":
                raise OSError("disk full")

        def close(self) -> None:
            heard.append(f"{self.project} closed")

    monkeypatch.setattr(tracking, "TRACKERS", {"bad": (Told, "json"), "good": (Told, "json")})
    tracked = Tracked("bad:full, good", tmp_path, {})
    for step in (1, 2):
        tracked.write(step, {"loss": 1.0})
    tracked.close()
    assert heard == ["full 1", "proofmesh 1", "proofmesh 2", "proofmesh closed"]
