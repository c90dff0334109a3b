"""What a training run leaves in its folder for whoever draws it: `training.json` says what it is, and `metrics.jsonl`
has a line for each report, {"time", "step", "values"}. Trainers write them, the monitor reads them; neither knows the
other.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from common.files import write_whole
from common.messages import Point

METRICS = "metrics.jsonl"
ABOUT = "training.json"


class About(msgspec.Struct, frozen=True, kw_only=True):
    """A training run as `training.json` says it."""

    stage: str
    steps: int
    """Of the whole stage."""
    parameters: int = 0
    started: float = 0.0
    """Unix time at which this process began or went on with it."""


class _Line(msgspec.Struct):
    time: float
    step: int
    values: dict[str, float | None]


_about = msgspec.json.Decoder(About)
_line = msgspec.json.Decoder(_Line)


def write_about(directory: Path, about: About) -> None:
    """Whole or not at all. Raises OSError."""
    write_whole(directory / ABOUT, msgspec.json.encode(about) + b"\n")


def read_about(directory: Path) -> About | None:
    """None for a folder that holds no training run."""
    try:
        return _about.decode((directory / ABOUT).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def encode_line(time: float, step: int, values: dict[str, float]) -> bytes:
    """A line with its end. Values that are no finite numbers are left out: JSON has no word for them."""
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    return msgspec.json.encode({"time": time, "step": step, "values": finite}) + b"\n"


def decode_line(line: bytes) -> Point | None:
    """None for what is no line of a metrics file."""
    try:
        found = _line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    values = {name: value for name, value in found.values.items() if value is not None and math.isfinite(value)}
    return Point(time=found.time, step=found.step, values=values)


@dataclass(frozen=True)
class News:
    """What a look at a metrics file brought."""

    points: list[Point]
    again: bool
    """The file is another one than before (a run that went on from a checkpoint took lines back): these are all."""


@dataclass
class Tail:
    """Reads what is appended to a metrics file. A last line without its end is left for the next time."""

    path: Path
    _offset: int = field(default=0, init=False)
    _file: int = field(default=-1, init=False)

    def read(self) -> News:
        """Points of the lines that are new; lines that are no points are passed over. No file: nothing new."""
        try:
            with self.path.open("rb") as file:
                found = os.fstat(file.fileno())
                again = found.st_ino != self._file or found.st_size < self._offset
                if again:
                    self._file, self._offset = found.st_ino, 0
                file.seek(self._offset)
                content = file.read()
        except OSError:
            return News([], False)
        whole = content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        points = [point for line in whole.splitlines() if (point := decode_line(line)) is not None]
        return News(points, again)


def append_line(path: Path, line: bytes) -> None:
    """Append a line, which has its end, whole or not at all. Raises OSError: disk full, read-only.

    A torn line that a kill left before is ended first, so that it spoils no other.
    """
    with path.open("ab+", buffering=0) as file:
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
            line = line if file.read(1) == b"\n" else b"\n" + line
        try:
            unwritten = memoryview(line)
            while unwritten:
                unwritten = unwritten[file.write(unwritten) :]
        except OSError:
            file.truncate(end)
            raise
