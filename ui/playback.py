"""`proofmesh ui --demo`: plays a recorded run back, to look around without training.

The recording is a run's folder, made small: `python -m ui.playback runs/NAME` writes it. Playing it writes a folder in
which the run grows again, some times as fast, so all pages show it as they would show the run itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import sqlite3
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from common import curves
from common.curves import METRICS
from common.output.command import UserError
from common.output.visible import say
from common.records import readers, searches
from common.records.schema import MIGRATIONS
from common.watch import nodes, spans
from common.watch.logs import LOGS
from ui.runs import SUMMARY

RECORDING = Path(__file__).parent / "recording.tar.xz"

SPEED = 8.0
"""Seconds of the run that a second shows."""

SEARCHES = 60
"""Searches of a recording, the most interesting ones."""

TRACED = 30
"""Attempts of a recording that keep their spans."""

LINES = {name: re.compile(rb'"time":\s*([0-9.]+)') for name in (METRICS, curves.EVALUATIONS, nodes.FILE, LOGS)}
LINES[spans.FILE] = re.compile(rb'"endTimeUnixNano":\s*"([0-9]+)"')
"""Files with a line for each event, and where a line says its time: in seconds, or in nanoseconds."""

ROWS = {
    "weights": "created",
    "evaluations": "created",
    "attempts": "created",
    "results": "recorded",
    "timelines": "(SELECT recorded FROM old.results WHERE attempt_id = old.timelines.attempt_id)",
    "proofs": "(SELECT recorded FROM old.results WHERE attempt_id = old.proofs.attempt_id)",
    "transitions": "(SELECT recorded FROM old.results WHERE attempt_id = old.transitions.attempt_id)",
}
"""Tables that grow, in an order that keeps references whole, and when a row was written."""

_STATISTICS = next(each for each in MIGRATIONS if "INSERT INTO theorem_statistics" in each)
_COUNT_AGAIN = _STATISTICS[_STATISTICS.index("INSERT INTO theorem_statistics") :]


@contextmanager
def playing(recording: Path = RECORDING) -> Iterator[Player]:
    """A player whose folders are removed at the end. Raises UserError."""
    with tempfile.TemporaryDirectory(prefix="proofmesh-recording-") as scratch:
        try:
            with tarfile.open(recording) as packed:
                packed.extractall(Path(scratch) / "recorded", filter="data")
        except (OSError, tarfile.TarError) as error:
            raise UserError(f"{recording}: the recording cannot be read ({error})") from error
        yield Player(Path(scratch) / "recorded", Path(scratch) / "runs" / "recorded-demo")


class Player:
    """Plays the run in one folder into another one."""

    def __init__(self, recorded: Path, folder: Path) -> None:
        self.folder = folder
        self._recorded = recorded
        self._lines = {name: _timed(recorded / name, said) for name, said in LINES.items() if name != LOGS}
        for log in sorted((recorded / LOGS).glob("*.log")):
            self._lines[f"{LOGS}/{log.name}"] = _timed(log, LINES[LOGS])
        times = [time for lines in self._lines.values() for time, _ in lines if time]
        self.begin, self.end = min(times), max(times)
        """Unix times of the run."""
        self._at = -1.0
        self._start()

    def _start(self) -> None:
        """The folder as the run had it at its beginning: theorems, and no attempt."""
        (self.folder / LOGS).mkdir(parents=True)
        for name in ("config.toml", "mesh.toml"):
            if (self._recorded / name).exists():
                shutil.copy(self._recorded / name, self.folder / name)
        for name in (readers.DATABASE, searches.FILE):
            shutil.copy(self._recorded / name, self.folder / name)
        with closing(sqlite3.connect(self.folder / readers.DATABASE, isolation_level=None)) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            for table in (*reversed(ROWS), "theorem_statistics"):
                db.execute(f"DELETE FROM {table}")
        with closing(sqlite3.connect(self.folder / searches.FILE, isolation_level=None)) as db:
            db.execute("DELETE FROM searches")

    def play(self, at: float) -> bool:
        """Add all that had happened by this Unix time, which never goes back. Returns whether the run has ended."""
        if at > self._at:
            self._add_lines(at)
            self._add_rows(at)
            self._at = at
        if at >= self.end and not (self.folder / SUMMARY).exists() and (self._recorded / SUMMARY).exists():
            shutil.copy(self._recorded / SUMMARY, self.folder / SUMMARY)
        return at >= self.end

    def _add_lines(self, at: float) -> None:
        for name, lines in self._lines.items():
            if new := b"".join(line for time, line in lines if self._at < time <= at):
                with (self.folder / name).open("ab") as file:
                    file.write(new)

    def _add_rows(self, at: float) -> None:
        with closing(sqlite3.connect(self.folder / readers.DATABASE, isolation_level=None)) as db:
            db.execute("ATTACH ? AS old", (str(self._recorded / readers.DATABASE),))
            db.execute("BEGIN")
            added = 0
            for table, when in ROWS.items():
                added += db.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT * FROM old.{table} WHERE {when} > ? AND {when} <= ?",
                    (self._at, at),
                ).rowcount
            if added:
                db.execute("UPDATE evaluations SET finished = NULL WHERE finished > ?", (at,))
                db.execute(
                    "UPDATE evaluations SET finished = (SELECT finished FROM old.evaluations AS told"
                    " WHERE told.evaluation_id = main.evaluations.evaluation_id AND told.finished <= ?)",
                    (at,),
                )
                db.execute("DELETE FROM theorem_statistics")
                db.execute(_COUNT_AGAIN)
            db.execute("COMMIT")
        with closing(sqlite3.connect(self.folder / searches.FILE, isolation_level=None)) as db:
            db.execute("ATTACH ? AS old", (str(self._recorded / searches.FILE),))
            db.execute(
                "INSERT OR IGNORE INTO main.searches SELECT * FROM old.searches WHERE recorded > ? AND recorded <= ?",
                (self._at, at),
            )

    async def run(self, speed: float = SPEED) -> None:
        """Play the whole run, and then leave it as it is."""
        began = time.monotonic()
        ended = False
        while not ended:
            await asyncio.sleep(1.0)
            ended = await asyncio.to_thread(self.play, self.begin + speed * (time.monotonic() - began))


def _timed(path: Path, said: re.Pattern[bytes]) -> list[tuple[float, bytes]]:
    """The lines of a file, each with its time; one that has none has that of the line before it."""
    found, at = [], 0.0
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        if match := said.search(line):
            at = float(match.group(1))
            at = at / 1e9 if at > 1e15 else at
        found.append((at, line))
    return found


# --- making a recording -----------------------------------------------------------------------------------------------


def record(folder: Path, recording: Path = RECORDING) -> None:
    """Write a recording of a run that has ended."""
    place = str(folder.resolve().parent)

    def copy(name: str) -> None:
        text = (folder / name).read_text(encoding="utf-8").replace(place, "runs").replace(str(Path.home()), "~")
        (small / name).write_text(text, encoding="utf-8")

    with tempfile.TemporaryDirectory() as scratch:
        small = Path(scratch) / "small"
        (small / LOGS).mkdir(parents=True)
        for name in (METRICS, curves.EVALUATIONS, nodes.FILE, SUMMARY, "config.toml"):
            copy(name)
        for log in sorted((folder / LOGS).glob("*.log")):
            copy(f"{LOGS}/{log.name}")
        _small_database(folder / readers.DATABASE, small / readers.DATABASE, _SMALL_RECORDS)
        _small_database(folder / searches.FILE, small / searches.FILE, _FEW_SEARCHES)
        (small / spans.FILE).write_text("".join(_few_spans(folder / spans.FILE)), encoding="utf-8")
        with tarfile.open(recording, "w:xz", preset=9) as packed:
            packed.add(small, arcname=".")


_FEW_SEARCHES = (
    f"DELETE FROM searches WHERE number NOT IN (SELECT number FROM searches ORDER BY interest DESC LIMIT {SEARCHES})",
)

_SMALL_RECORDS = (
    "DELETE FROM theorems WHERE theorem_id NOT IN (SELECT theorem_id FROM attempts)",
    "DELETE FROM outbox",
    "DELETE FROM parts",
)


def _small_database(path: Path, copy: Path, commands: Sequence[str]) -> None:
    with closing(sqlite3.connect(path)) as old, closing(sqlite3.connect(copy, isolation_level=None)) as new:
        old.backup(new)
        for command in commands:
            new.execute(command)
        new.execute("PRAGMA journal_mode = DELETE")
        new.execute("VACUUM")


def _few_spans(path: Path) -> Iterator[str]:
    """The lines with the spans of the attempts that have most of them, without the others'."""
    messages = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    scopes = [scope for each in messages for part in each["resourceSpans"] for scope in part["scopeSpans"]]
    counts = Counter(_attempt_of(span) for scope in scopes for span in scope["spans"])
    chosen = {attempt for attempt, _ in counts.most_common(TRACED)}
    for scope in scopes:
        scope["spans"] = [span for span in scope["spans"] if _attempt_of(span) in chosen]
    for each in messages:
        if any(scope["spans"] for part in each["resourceSpans"] for scope in part["scopeSpans"]):
            yield json.dumps(each, separators=(",", ":")) + "\n"


def _attempt_of(span: dict[str, Any]) -> str:
    return next((each["value"]["stringValue"] for each in span["attributes"] if each["key"] == "proofmesh.attempt"), "")


if __name__ == "__main__":
    record(Path(sys.argv[1]))
    say(f"{RECORDING}: {RECORDING.stat().st_size / 1000:.0f} kB")
