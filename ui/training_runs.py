"""Finds training runs for the monitor and follows their curves.

`look` reads files and may run in a thread. `take` changes the shown data and must run on the event loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.curves import ABOUT, METRICS, About, Tail, read_about
from common.protocol.messages import Point

RUNS = 12
"""Number of latest runs that are shown."""

POINTS = 2000
"""Most points kept of a run: more than a chart has pixels across."""


@dataclass(frozen=True)
class Change:
    """New data of a run."""

    name: str
    about: About
    points: list[Point]
    whole: bool
    """True if `points` are all points of the run, False if only new ones."""

    def shown(self) -> dict[str, Any]:
        """As the page gets it."""
        points = msgspec.to_builtins(self.points)
        about: dict[str, Any] = msgspec.to_builtins(self.about)
        return {"name": self.name, **about, "whole": self.whole, "points": points}


@dataclass
class _Watched:
    tail: Tail
    about: About | None = None


@dataclass
class TrainingRuns:
    """The training runs in a folder of run directories."""

    directory: Path
    _watched: dict[str, _Watched] = field(default_factory=dict, init=False)
    _shown: dict[str, Change] = field(default_factory=dict, init=False)

    def look(self) -> list[Change]:
        """The changes since the last call. Reads files, and does not change the shown data."""
        changes, earlier = [], self._watched
        self._watched = {}
        for name in self._latest():
            folder = self.directory / name
            watched = self._watched[name] = earlier.get(name) or _Watched(Tail(folder / METRICS))
            about = read_about(folder)
            if about is None:
                continue
            news = watched.tail.read()
            if news.points or news.again or about != watched.about:
                whole = news.again or watched.about is None
                changes.append(Change(name, about, news.points, whole))
            watched.about = about
        return changes

    def take(self, changes: Sequence[Change]) -> None:
        """Add changes from `look` to the shown data."""
        for change in changes:
            before = self._shown.get(change.name)
            points = change.points if change.whole or before is None else before.points + change.points
            self._shown[change.name] = Change(change.name, change.about, thinned(points), True)
        for name in sorted(self._shown, key=self._started)[:-RUNS]:
            del self._shown[name]

    def shown(self) -> list[dict[str, Any]]:
        """All runs, the latest first, as a page gets them when it opens."""
        return [self._shown[name].shown() for name in sorted(self._shown, key=self._started, reverse=True)]

    def _started(self, name: str) -> tuple[float, str]:
        return self._shown[name].about.started, name

    def _latest(self) -> list[str]:
        """Folders with training runs, the latest ones."""
        folders = []
        for file in self.directory.glob(f"*/{ABOUT}"):
            try:
                folders.append((file.stat().st_mtime, file.parent.name))
            except OSError:
                continue  # the run was just deleted
        return [name for _, name in sorted(folders)[-RUNS:]]


def thinned(points: list[Point]) -> list[Point]:
    """At most POINTS points: every second one is dropped until they are few enough, points of evaluations last."""
    while len(points) > POINTS:
        steps = [point for point in points if not _evaluation(point)]
        few = len(steps) < len(points) // 2
        dropped = set(map(id, points[1:-1:2] if few else steps[1:-1:2]))
        points = [point for point in points if id(point) not in dropped]
    return points


def _evaluation(point: Point) -> bool:
    return any(name.startswith("valid_") for name in point.values)
