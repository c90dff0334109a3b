"""Views of training: curves by name, the versions of the weights, and what a training run is."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.curves import About
from common.protocol.messages import Point
from common.records import readers
from ui.runs import Kind, Run
from ui.views import NoQuery, View

POINTS = 200
"""Most points of a curve: a chart is some 500 pixels wide, and all curves of a run are one answer."""

VERSIONS = 50
"""Most versions of the weights that are listed, the newest."""

PACE = 50
"""Latest reports that the time left is estimated from."""

SEARCHING = ("solve_rate", "eval_solve_rate")
"""Curves that begin with reinforcement learning: what is before them is the warm start."""

Curves = dict[str, list[tuple[int, float]]]
"""(step, value) by name."""


def training(run: Run, query: NoQuery) -> dict[str, Any]:
    """The curves of the warm start and of what follows, apart; of a run of a training stage also what it is and how far
    it is; of a learner the newest versions of the weights."""
    points = run.points()
    begins = learning_begins(points) if run.kind in (Kind.LEARNER, Kind.MESH) else 0
    total, versions = _weights(run)
    return {
        "kind": run.kind,
        "time": time.time(),
        "live": run.mesh is not None,
        "last": points[-1].time if points else None,
        "step": points[-1].step if points else None,
        "warm": curves(points[:begins]),
        "curves": curves(points[begins:]),
        "progress": _progress(about, points) if (about := run.about()) is not None else None,
        "versions": versions,
        "all_versions": total,
    }


def learning_begins(points: Sequence[Point]) -> int:
    """The index of the first point after a learner's warm start; their number while that goes on."""
    first = (place for place, point in enumerate(points) if any(name in point.values for name in SEARCHING))
    return next(first, len(points))


def curves(points: Sequence[Point]) -> Curves:
    """Each name's points, at most POINTS: of more, each that is shown is the mean of as many neighbours. Evaluations
    are left out; they have a page of their own."""
    found: Curves = {}
    for point in points:
        for name, value in point.values.items():
            if not name.startswith("eval_"):
                found.setdefault(name, []).append((point.step, value))
    return {name: [_mean(each) for each in _parts(values)] for name, values in found.items()}


def _parts(values: list[tuple[int, float]]) -> list[list[tuple[int, float]]]:
    size = -(-len(values) // POINTS)
    return [values[place : place + size] for place in range(0, len(values), size)]


def _mean(part: list[tuple[int, float]]) -> tuple[int, float]:
    """The last step of a part, and the mean value. Each is divided before they are summed: huge ones overflow."""
    mean = sum(value / len(part) for _, value in part)
    return part[-1][0], float(f"{mean:.6g}")


def _progress(about: About, points: Sequence[Point]) -> dict[str, Any]:
    """What a training run is, and `left`: seconds to its last step at the pace of its latest reports; null: not
    known."""
    left, step = None, points[-1].step if points else 0
    # A run that was resumed has a gap before its present process began.
    lately = [point for point in points if point.time >= about.started][-PACE:]
    if step < about.steps and len(lately) > 1 and lately[-1].step > lately[0].step:
        left = (about.steps - step) * (lately[-1].time - lately[0].time) / (lately[-1].step - lately[0].step)
    return {**msgspec.to_builtins(about), "left": left, "done": step >= about.steps}


def _weights(run: Run) -> tuple[int, list[dict[str, Any]]]:
    """The number of versions, and the newest. `age`: seconds since it was published, until now, or until the last
    change of a run that no mesh works on; `results`: attempts that ended with it, and `proved` of these."""
    if run.kind is not Kind.LEARNER:
        return 0, []
    total, found = readers.read_weights(run.records, VERSIONS)
    now = time.time()
    if run.mesh is None:
        now = max([run.records.stat().st_mtime, *(each.created for each in found)])
    used = _used(run.records)
    told = []
    for each in found:
        results, proved = used.get(each.version, (0, 0))
        told.append(each._asdict() | {"age": max(0.0, now - each.created), "results": results, "proved": proved})
    return total, told


@dataclass
class _Used:
    """What was counted of a run's results, which are only ever added to: a whole count takes 0.2 s for 100,000."""

    file: int
    """Its inode: another run of the same name has another file."""
    last: int = 0
    by_version: dict[int, tuple[int, int]] = field(default_factory=dict)


_all_used: dict[Path, _Used] = {}
_counting = threading.Lock()


def _used(path: Path) -> dict[int, tuple[int, int]]:
    """By version of the weights: results and proofs."""
    with _counting:
        known, file = _all_used.get(path), path.stat().st_ino
        if known is None or known.file != file:
            known = _all_used[path] = _Used(file)
        known.last, news = readers.results_by_weights(path, known.last)
        for version, results, proved in news:
            before = known.by_version.get(version, (0, 0))
            known.by_version[version] = (before[0] + results, before[1] + proved)
        return dict(known.by_version)


VIEWS = {"training": View(NoQuery, training)}
