"""Reads the logs of a run's nodes: the monitor, `proofmesh logs`, `attempt` and `up` show them from here.

A node's file has JSON lines (`common.life.logging`). What the node or a library says outside its log, such as the
stacks of SIGUSR1, is in the same file as plain lines. They get the time of the line before them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from common.files import NOT_JSON, NewLines
from common.life.logging import FILE_BACKUPS, LEVELS
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
        """`last_bytes`: begin with this much of the end of each file. None: with the oldest line that is kept."""
        self._folder = folder
        self._last_bytes = last_bytes
        self._files: dict[Path, NewLines] = {}

    def read(self, containing: str = "") -> Iterator[LogRecord]:
        """The new records of all nodes by time. `containing`: only lines with this text in them."""
        wanted = containing.encode()
        files = [self._new(path, wanted) for path in sorted(self._folder.glob("*.log"))]
        return heapq.merge(*files, key=lambda record: record.time)

    def _new(self, path: Path, wanted: bytes) -> Iterator[LogRecord]:
        lines = [self._files[path]] if path in self._files else []
        if not lines:
            # Rotated files have the oldest lines, and get no new ones.
            older = () if self._last_bytes is not None else range(FILE_BACKUPS, 0, -1)
            self._files[path] = NewLines(path, self._last_bytes)
            lines = [*(NewLines(path.with_name(f"{path.name}.{number}")) for number in older), self._files[path]]
        time = 0.0
        for each in lines:
            for line in each.read():
                if wanted in line and line.strip():
                    record = parsed(line, path.stem, time)
                    time = record.time
                    yield record


FIRST_BYTES = 256 * 1024
"""Bytes that are read first of the end of each file; twice as many if too few records in them are wanted."""

MOST_BYTES = 64 * 2**20
"""Most bytes that are read of the end of each file."""


def latest_records(
    folder: Path, limit: int, wanted: Callable[[LogRecord], bool], text: str = ""
) -> tuple[list[LogRecord], bool]:
    """The latest records of all nodes that are wanted, the oldest first, and whether there may be older ones. Files are
    read from their ends, as far as it takes. `text`: what each wanted record has in it; then more is read at once."""
    size = FIRST_BYTES if not text else 16 * FIRST_BYTES
    while True:
        records = [record for record in LogFiles(folder, last_bytes=size).read() if wanted(record)]
        whole = all(path.stat().st_size <= size for path in folder.glob("*.log"))
        if len(records) >= limit or whole or size >= MOST_BYTES:
            return records[-limit:], len(records) > limit or not whole
        size *= 8


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
