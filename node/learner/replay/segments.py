"""Append-only segment files of transitions, read through memory maps by the trainer.

A segment is two files. `NAME.data` holds msgpack-encoded transitions one after another. `NAME.index` holds one entry
of fixed size per transition: its offset and length, a checksum, and its id in the database. Data is written before its
index entry, and entries that point past the end of the data are ignored, so an interrupted write is never read.
"""

from __future__ import annotations

import mmap
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from common.protocol.attempts import Transition

ENTRY = np.dtype([("id", "<u8"), ("offset", "<u8"), ("length", "<u4"), ("crc", "<u4")])
"""24 bytes per transition."""

REMEDY = "`proofmesh replay rebuild RUN_DIRECTORY` makes a replay buffer anew"
"""Advice at the end of error texts about a replay buffer."""

_decoder = msgspec.msgpack.Decoder(Transition)


class SegmentError(ValueError):
    """A segment's data is damaged or missing. The message names the file."""


def data_path(base: Path) -> Path:
    return base.with_suffix(".data")


def index_path(base: Path) -> Path:
    return base.with_suffix(".index")


class SegmentWriter:
    """Appends to one segment, after the last whole transition."""

    def __init__(self, base: Path) -> None:
        base.parent.mkdir(parents=True, exist_ok=True)
        whole = read_index(base)
        self.count = len(whole)
        self.last_id = int(whole["id"][-1]) if self.count else 0
        self._end = int(whole["offset"][-1] + whole["length"][-1]) if self.count else 0
        self._data = data_path(base).open("ab")
        self._index = index_path(base).open("ab")
        self._data.truncate(self._end)
        self._index.truncate(self.count * ENTRY.itemsize)

    def append(self, rows: Iterable[tuple[int, Transition]]) -> int:
        """Append transitions with their database ids; returns how many. Readers can read them when this returns."""
        entries = []
        for row_id, transition in rows:
            payload = msgspec.msgpack.encode(transition)
            self._data.write(payload)
            entries.append((row_id, self._end, len(payload), zlib.crc32(payload)))
            self._end += len(payload)
        self._data.flush()
        self._index.write(np.array(entries, dtype=ENTRY).tobytes())
        self._index.flush()
        self.count += len(entries)
        if entries:
            self.last_id = entries[-1][0]
        return len(entries)

    def close(self) -> None:
        self._data.close()
        self._index.close()


def read_index(base: Path) -> np.ndarray:
    """Index entries of a segment whose data is complete, in order. A missing segment has none."""
    if not index_path(base).exists() or not data_path(base).exists():
        return np.zeros(0, ENTRY)
    raw = index_path(base).read_bytes()
    entries = np.frombuffer(raw[: len(raw) // ENTRY.itemsize * ENTRY.itemsize], ENTRY)
    size = data_path(base).stat().st_size
    fits = entries["offset"] + entries["length"] <= size
    return entries if fits.all() else entries[: int(np.argmin(fits))]


class SegmentReader:
    """Reads transitions of one segment by position. The segment may grow meanwhile."""

    def __init__(self, base: Path) -> None:
        self._base = base
        self._entries = np.zeros(0, ENTRY)
        self._data: mmap.mmap | None = None

    def read(self, position: int) -> Transition:
        """Transition number `position`. Raises SegmentError if it is missing or damaged."""
        if position >= len(self._entries):
            self._refresh()
        if position >= len(self._entries) or self._data is None:
            raise SegmentError(
                f"{self._base}: transition {position} is missing, the segment has {len(self._entries)}; {REMEDY}"
            )
        entry = self._entries[position]
        start, length = int(entry["offset"]), int(entry["length"])
        payload = self._data[start : start + length]
        if zlib.crc32(payload) != int(entry["crc"]):
            raise SegmentError(f"{self._base}: transition {position} is damaged; {REMEDY}")
        return _decoder.decode(payload)

    def _refresh(self) -> None:
        self._entries = read_index(self._base)
        if len(self._entries):
            with data_path(self._base).open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
