"""The folder of a training: its identity, checkpoints, curves and result.

base/           the model with fresh weights that a training from scratch begins with; written first
run.json        all that determines the result: the same command resumes, another one is refused
checkpoints/    checkpoint-STEP, each with `complete.json` when it is completely written
metrics.jsonl   curves
model/          the trained model, or only its adapter; written at the end of the training
summary.json    numbers; written last
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from common.curves import decode_line
from common.files import NOT_JSON, sync, write_whole
from common.run_folder import LOCK, changes
from node.data.errors import InputError
from node.data.grammar import modern

BASE = "base"
RUN, SUMMARY, METRICS, COMPLETE = "run.json", "summary.json", "metrics.jsonl", "complete.json"

_STEP = re.compile(r"checkpoint-(\d+)")


@dataclass(frozen=True)
class Checkpoint:
    """A complete checkpoint."""

    path: Path
    step: int
    seconds: float
    """Seconds of training until this checkpoint."""


class RunFolder:
    """The folder of one training."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.model = path / "model"
        self.metrics = path / METRICS

    def check(self, identity: Mapping[str, Any], *, fresh: bool = False) -> None:
        """Checks that a run with this identity may start or resume here. `fresh`: the files of an earlier run may be
        deleted.

        Raises InputError if the folder holds a run with another identity, or something else.
        """
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise InputError(f"--out {self.path}: is a file; name a folder")
        if not (self.path / RUN).is_file():
            if any(each.name not in (LOCK, BASE) for each in self.path.iterdir()):
                raise InputError(f"--out {self.path}: holds something else (no {RUN}): name another folder")
            return
        if fresh:
            return
        if changed := changes(_comparable(self._read(RUN)), _comparable(identity)):
            raise InputError(
                f"--out {self.path}: holds a run with other settings ({'; '.join(map(str, changed))}): name another "
                "folder, or start from scratch with --fresh"
            )

    def begin(self, identity: Mapping[str, Any], *, fresh: bool = False) -> None:
        """Creates the folder, or deletes an earlier run in it if `fresh`. Raises OSError."""
        if fresh and (self.path / RUN).is_file():
            for name in (SUMMARY, METRICS):
                (self.path / name).unlink(missing_ok=True)
            for folder in (self.checkpoints, self.model):
                shutil.rmtree(folder, ignore_errors=True)
        self.checkpoints.mkdir(parents=True, exist_ok=True)
        write_whole(self.path / RUN, msgspec.json.format(msgspec.json.encode(identity)))

    def summary(self) -> dict[str, Any] | None:
        """The summary of a finished run; None if it is not finished. Raises InputError."""
        return self._read(SUMMARY) if (self.path / SUMMARY).is_file() else None

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Writes the summary and deletes the checkpoints. Raises OSError."""
        write_whole(self.path / SUMMARY, msgspec.json.format(msgspec.json.encode(summary)))
        shutil.rmtree(self.checkpoints, ignore_errors=True)

    def last(self) -> Checkpoint | None:
        """The newest complete checkpoint. Deletes incomplete ones that a killed process left."""
        complete: list[Checkpoint] = []
        for path in self.checkpoints.glob("checkpoint-*"):
            match = _STEP.fullmatch(path.name)
            try:
                content = msgspec.json.decode((path / COMPLETE).read_bytes())
            except (OSError, *NOT_JSON):
                shutil.rmtree(path, ignore_errors=True)
                continue
            if match:
                complete.append(Checkpoint(path, int(match[1]), float(content["seconds"])))
        return max(complete, key=lambda each: each.step, default=None)

    def curve(self, name: str) -> list[tuple[int, float]]:
        """(step, value) of a figure, in the order in which they were written. Raises OSError."""
        lines = self.metrics.read_bytes().splitlines() if self.metrics.exists() else []
        points = [point for line in lines if (point := decode_line(line)) is not None]
        return [(point.step, point.values[name]) for point in points if name in point.values]

    def value(self, name: str, step: int) -> float | None:
        """The value of a figure at a step, rounded to four digits; None if it was not measured."""
        values = [value for at, value in self.curve(name) if at == step]
        return round(values[-1], 4) if values else None

    def completed(self, step: int, seconds: float) -> None:
        """Marks the checkpoint of a step as complete, after all its files are on the disk. Raises OSError."""
        folder = self.checkpoints / f"checkpoint-{step}"
        for path in folder.rglob("*"):
            sync(path)
        write_whole(folder / COMPLETE, msgspec.json.encode({"step": step, "seconds": seconds}))

    def _read(self, name: str) -> dict[str, Any]:
        path = self.path / name
        try:
            return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        except (OSError, *NOT_JSON) as error:
            raise InputError(
                f"{path}: cannot be read ({error}): name another folder, or start from scratch with --fresh"
            ) from error


def _comparable(identity: Mapping[str, Any]) -> dict[str, Any]:
    """The identity as it looks after writing and reading it, with its sources of data in today's spelling."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(identity))
    return plain | {"data": [modern(each) for each in plain["data"]]} if "data" in plain else plain
