"""The history of a run's nodes: their heartbeats, thinned, in `nodes.jsonl` of the run's folder.

The learner writes it. The monitor shows it, also after the run: what each node did, and when it came and went. Losing
the file loses no result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from common.files import NOT_JSON, NewLines
from common.life.logging import LinesFile, kept_files
from common.protocol.messages import Heartbeat, Moment

FILE = "nodes.jsonl"

EVERY_SECONDS = 5.0
"""Seconds between two lines of a node, while there are few."""

BYTES_PER_SECOND = 4000
"""What all lines together may take. With 1,000 nodes, each has a line about every two minutes."""


DOES = {
    "prover": ("searches", "searches_max", "expansions"),
    "lean-proxy": ("workers", "queue", "verify_queue"),
    "inference": ("queue", "paused", "weights"),
    "learner": ("attempts_outstanding", "results", "train_steps", "solve_rate"),
    "broker": ("attempts_waiting", "results_waiting", "connections"),
}
"""The most telling values of heartbeats, by role."""


def does(role: str, values: Mapping[str, float]) -> dict[str, float]:
    """The most telling values of a node's heartbeat, as far as it has them."""
    return {name: values[name] for name in DOES.get(role, ()) if name in values}


class NodeSample(msgspec.Struct, frozen=True):
    """What a node said at one time."""

    time: Moment
    """Unix time."""
    node: str
    role: str
    state: str
    values: dict[str, float]


_sample = msgspec.json.Decoder(NodeSample)


class NodeHistory:
    """Writes heartbeats into a run's folder, as often as its size allows."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises OSError if the folder is not writable."""
        self._file = LinesFile(folder / FILE)
        self._clock = clock
        self._next = clock()
        self._latest: dict[str, NodeSample] = {}

    def hear(self, heartbeat: Heartbeat) -> None:
        """Take a heartbeat, and write all nodes' latest ones if it is time."""
        values = {name: value for name, value in heartbeat.values.items() if math.isfinite(value)}
        sample = NodeSample(heartbeat.time, heartbeat.node_id, heartbeat.role, heartbeat.state, values)
        self._latest[sample.node] = sample
        if self._clock() >= self._next:
            self._write()

    def _write(self) -> None:
        written = 0
        for sample in self._latest.values():
            line = msgspec.json.encode(sample).decode()
            self._file.write(line)
            written += len(line) + 1
        self._latest.clear()
        self._next = self._clock() + max(EVERY_SECONDS, written / BYTES_PER_SECOND)


class NodeFiles:
    """Reads the history. `read` returns what is new since the last call."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._files: list[NewLines] | None = None

    def read(self) -> Iterator[NodeSample]:
        """The new samples, the oldest first. Lines that cannot be decoded are skipped."""
        files = [] if self._files is None else self._files
        if self._files is None:
            files = [NewLines(path) for path in kept_files(self._path)]
            self._files = files[-1:]  # rotated ones get no new lines
        for lines in files:
            for line in lines.read():
                try:
                    yield _sample.decode(line)
                except NOT_JSON:
                    continue
