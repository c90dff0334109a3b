"""Files of a training run that the monitor draws: `training.json` describes the run, and `metrics.jsonl` has a line
{"time", "step", "values"} for each report; `evaluations.jsonl` has a line for each finished evaluation of a learner.
Trainers and learners write them, and the monitor reads them, without importing each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.files import NOT_JSON, NewLines, write_whole
from common.protocol.messages import Point

METRICS = "metrics.jsonl"
ABOUT = "training.json"
EVALUATIONS = "evaluations.jsonl"


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `training.json`: what the training run is."""

    stage: str
    steps: int
    """Steps of the whole stage."""
    parameters: int = 0
    started: float = 0.0
    """Unix time at which this process began or resumed the run."""


class _Line(msgspec.Struct):
    time: float
    step: int
    values: dict[str, float | None]


_about = msgspec.json.Decoder(About)
_line = msgspec.json.Decoder(_Line)


def write_about(directory: Path, about: About) -> None:
    """Write `training.json` atomically. Raises OSError."""
    write_whole(directory / ABOUT, msgspec.json.encode(about) + b"\n")


def read_about(directory: Path) -> About | None:
    """The run's description; None for a folder without a training run."""
    try:
        return _about.decode((directory / ABOUT).read_bytes())
    except (OSError, *NOT_JSON):
        return None


def encode_line(time: float, step: int, values: dict[str, float]) -> bytes:
    """One line, with its newline. Values that are not finite are left out: JSON cannot represent them."""
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    return msgspec.json.encode({"time": time, "step": step, "values": finite}) + b"\n"


def decode_line(line: bytes) -> Point | None:
    """The point of one line; None if it is not a line of a metrics file."""
    try:
        decoded = _line.decode(line)
    except NOT_JSON:
        return None
    values = {name: value for name, value in decoded.values.items() if value is not None and math.isfinite(value)}
    return Point(time=decoded.time, step=decoded.step, values=values)


@dataclass(frozen=True)
class News:
    """New points of a metrics file."""

    points: list[Point]
    again: bool
    """The file was replaced (a run that resumed from a checkpoint removed lines), so these are all its points."""


class Tail:
    """Reads the lines that are appended to a metrics file."""

    def __init__(self, path: Path) -> None:
        self._lines = NewLines(path)

    def read(self) -> News:
        """Points of the new lines. Lines that cannot be decoded are skipped. Without a file there are no points."""
        points = [point for line in self._lines.read() if (point := decode_line(line)) is not None]
        return News(points, self._lines.again)


# ----------------------------------------------------------------------------------------------------------------------
# Evaluations.


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of one level, or of one family."""

    statements: int
    solved: int
    undecided: int
    share: float
    """Share of the decided statements that were solved; 0 if none was decided."""


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation of a weight version."""

    label: str
    """`before`, `before-again` or `after` learning; `step-N` for one during learning."""
    beside: bool
    """It ran during learning, on a share of the search slots."""
    step: int
    """Training step of the weights."""
    weights: int
    """Version of the weights."""
    time: float
    """Unix time of its end."""
    worked: float | None = None
    """Seconds that the run had worked by then; None: an older version of proofmesh wrote the line."""
    statements: int
    solved: int
    undecided: int
    """Statements that count as neither solved nor unsolved, because infrastructure failed."""
    simulations: int
    """Budget per statement."""
    simulations_used: int
    lean_attempts: int
    """Tactics that were sent to Lean."""
    tokens: int | None = None
    """Tokens that the policy sampled; None: not known."""
    levels: dict[str, Part] = {}
    families: dict[str, Part] = {}
    banks: dict[str, Part] = {}
    """By the names of the banks' folders, of a run with several."""

    @property
    def solve_rate(self) -> float:
        """Share of the decided statements that were solved."""
        return self.solved / max(1, self.statements - self.undecided)


_evaluated = msgspec.json.Decoder(Evaluated)


def evaluation_line(evaluated: Evaluated) -> bytes:
    """One line, with its newline."""
    return msgspec.json.encode(evaluated) + b"\n"


def read_evaluations(path: Path) -> list[Evaluated]:
    """Every evaluation of a file, each label once. Lines that cannot be decoded (cut off by a kill) are skipped. A
    missing file gives an empty list.

    Raises OSError if the file exists and cannot be read.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    by_label: dict[str, Evaluated] = {}
    for line in content.splitlines():
        try:
            evaluated = _evaluated.decode(line)
        except NOT_JSON:
            continue
        by_label.setdefault(evaluated.label, evaluated)
    return list(by_label.values())
