"""Reads the logs of a run's nodes: the monitor, `proofmesh logs`, `attempt` and `up` show them from here.

A node's file has JSON lines (`common.life.logging`). What the node or a library says outside its log, such as the
stacks of SIGUSR1, is in the same file as plain lines. They get the time of the line before them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from common.files import NOT_JSON, NewLines
from common.life.logging import LEVELS, kept_files
from common.protocol.messages import LogRecord

LOGS = "logs"
"""The folder of the logs in a run directory."""

TEXT = "text"
"""The level of a plain line."""

_APART = ("time", "timestamp", "level", "event", "node", "role")
"""Keys of a line that are no further fields."""


class LogFiles:
    """The logs in a folder, one file for each node. `read` returns what is new."""

    def __init__(self, folder: Path, *, last_bytes: int | None = None) -> None:
        """`last_bytes`: begin with this much of the end of each log. None: with the oldest line that is kept."""
        self._folder = folder
        self._last_bytes = last_bytes
        self._files: dict[Path, NewLines] = {}

    def read(self, containing: str = "") -> Iterator[LogRecord]:
        """The new records of all nodes by time. `containing`: only lines with this text in them."""
        wanted = containing.encode()
        files = [self._new(path, wanted) for path in sorted(self._folder.glob("*.log"))]
        return heapq.merge(*files, key=lambda record: record.time)

    def _new(self, path: Path, wanted: bytes) -> Iterator[LogRecord]:
        files = [self._files[path]] if path in self._files else _end_of(path, self._last_bytes)
        self._files[path] = files[-1]  # rotated ones get no new lines
        return _records((line for file in files for line in file.read()), path.stem, wanted)


def _end_of(path: Path, last_bytes: int | None) -> list[NewLines]:
    """The files of a log, the oldest first, each from where its last bytes begin; None: with all of it."""
    files: list[NewLines] = []
    for file in reversed(kept_files(path)):
        if last_bytes is not None and last_bytes <= 0 and files:
            break
        files.append(NewLines(file, last_bytes))
        if last_bytes is not None:
            last_bytes -= _size(file)
    return files[::-1]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _records(lines: Iterable[bytes], name: str, wanted: bytes) -> Iterator[LogRecord]:
    """The records of those lines of the file `name` that have a text in them."""
    time = 0.0
    for line in lines:
        if wanted in line and line.strip():
            record = parsed(line, name, time)
            time = record.time
            yield record


FIRST_BYTES = 512 * 1024
"""Bytes that are read first of the ends of all logs together; eight times as many if too few records in them are
wanted."""

LEAST_BYTES = 8 * 1024
"""What is read of each log at least."""

MOST_BYTES = 64 * 2**20
"""Most bytes that are read of all logs together."""


def latest_records(
    folder: Path, limit: int, wanted: Callable[[LogRecord], bool], node: str = ""
) -> tuple[list[LogRecord], bool]:
    """The latest records of all nodes that are wanted, the oldest first, and whether there may be older ones. Logs are
    read from their ends, as far as it takes; of one that is busier than the others less time was read, so what the
    others say of the time before is left out. `node`: how the ids of the nodes begin."""
    logs = sorted(folder.glob("*.log"))
    sizes = {path: sum(map(_size, kept_files(path))) for path in logs}
    share = max(LEAST_BYTES, FIRST_BYTES // max(1, len(logs)))
    while True:
        found: list[LogRecord] = []
        begin = -math.inf
        # 1. What the ends of the logs have.
        for path in logs:
            lines = [line for file in _end_of(path, share) for line in file.read()]
            if sizes[path] > share:
                # A plain line has no time of its own.
                begin = max(begin, next((at for line in lines if (at := parsed(line, path.stem).time)), begin))
            of_node = b"" if path.stem.startswith(node) else node.encode()
            found += (record for record in _records(lines, path.stem, of_node) if wanted(record))
        # 2. Only from where all of them were read.
        found = sorted((record for record in found if record.time >= begin), key=lambda record: record.time)
        whole = max(sizes.values(), default=0) <= share
        if len(found) >= limit or whole or 8 * share * len(logs) > MOST_BYTES:
            return found[-limit:], len(found) > limit or not whole
        share *= 8


def parsed(line: bytes, name: str, time: float = 0.0) -> LogRecord:
    """A line of the file `name`. `time`: of the line before it, for a plain line."""
    try:
        found = msgspec.json.decode(line)
        at = float(found["time"])
        event, level = str(found["event"]), str(found.get("level", TEXT))
    except (*NOT_JSON, TypeError, KeyError, ValueError):
        text = line.decode(errors="replace").rstrip("\r\n")
        return LogRecord(node_id=name, role=name, time=time, level=TEXT, event=text)
    fields = {key: str(value) for key, value in found.items() if key not in _APART}
    node, role = str(found.get("node", name)), str(found.get("role", name))
    return LogRecord(node_id=node, role=role, time=at, level=level, event=event, fields=fields)


def rank(record: LogRecord) -> int:
    """How serious a record is, as in `LEVELS`. A plain line may be anything, so it counts as a warning."""
    return LEVELS.get(record.level, LEVELS["warning"])


def in_words(record: LogRecord) -> str:
    """A record for people: `TIME LEVEL NODE EVENT KEY=VALUE ...`, with a traceback below it. The time is UTC."""
    if record.level == TEXT:
        return record.event
    at = datetime.fromtimestamp(record.time, UTC).isoformat(" ", "milliseconds").removesuffix("+00:00")
    fields = "".join(f" {key}={value}" for key, value in record.fields.items() if key != "exception")
    # In one line: what a node logs of others' texts must not look like a record of its own.
    text = " ".join(f"{at} {record.level:<7} {record.node_id} {record.event}{fields}".splitlines())
    return f"{text}\n{trace}" if (trace := record.fields.get("exception")) else text
