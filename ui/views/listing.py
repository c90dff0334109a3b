"""The list of all runs, and what those that are compared have reached: their curves, results and settings."""

from __future__ import annotations

import math
import time
import tomllib
from bisect import bisect_right
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from common.config import without_secrets
from common.files import NOT_JSON
from common.records import readers
from common.records.readers import UnreadableRecords
from ui.runs import EVALUATION, Kind, NotHere, Run, Runs, changed_at
from ui.views.learning import Share, decided_share

RUNNING_SECONDS = 60.0
"""A run whose files have changed within this time is taken for running."""

MOST_RUNS = 2000
MOST_COMPARED = 8

CONFIGURATION = ("config.toml", "mesh.toml", EVALUATION)
"""The first of these that a folder has is its configuration."""

RESULTS = ("solved_before", "solved_after", "test_total", "difference", "proofs_verified", "attempts", "train_steps")
"""Numbers of summary.json that are compared."""


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of each run."""

    short: int = 0
    """1: names, kinds and states only."""
    compare: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    """Names with commas: curves, results and settings of these."""
    quantity: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """The curve of those: a value of their metrics; empty: their evaluations alone."""


class _Known(NamedTuple):
    """What was read of a run when its files had this version."""

    version: str
    row: dict[str, Any]


class Listing:
    """The list of all runs; a run whose files have not changed is not read again."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._known: dict[str, _Known] = {}

    def answer(self, query: ListQuery) -> dict[str, Any] | list[dict[str, Any]]:
        """The rows of all runs, the watched one first, then the one that changed last; with `compare` an object."""
        rows = []
        for name in self._runs.names()[:MOST_RUNS]:
            try:
                run = self._runs.get(name)
            except NotHere:  # removed a moment ago
                continue
            rows.append(_short(run) if query.short else self._row(run))
        if query.short or not query.compare:
            return rows
        names = list(dict.fromkeys(query.compare.split(",")))[:MOST_COMPARED]
        chosen = [found for name in names if (found := self._found(name)) is not None]
        return {
            "runs": rows,
            "compared": [_compared(run, query.quantity) for run in chosen],
            "settings": _settings(chosen),
        }

    def _found(self, name: str) -> Run | None:
        """A run that is compared; None if it was removed."""
        try:
            return self._runs.get(name)
        except NotHere:
            return None

    def _row(self, run: Run) -> dict[str, Any]:
        version = " ".join(run.versions().values()) if run.mesh is None else str(time.time())
        known = self._known.get(run.name)
        if known is None or known.version != version:
            known = self._known[run.name] = _Known(version, _content(run))
        changed = known.row["changed"]
        state = "live" if run.mesh is not None else "finished" if known.row["finished"] else "stopped"
        if state == "stopped" and changed and time.time() - changed < RUNNING_SECONDS:
            state = "running"
        return known.row | _short(run) | {"state": state}


def _short(run: Run) -> dict[str, Any]:
    return {"name": run.name, "kind": run.kind, "live": run.mesh is not None}


def _content(run: Run) -> dict[str, Any]:
    """What a row says of a run, as far as its files are readable."""
    points, summary = run.points(), run.summary()
    times = [point.time for point in points]
    changed = changed_at(run.folder) if run.folder is not None else 0.0
    try:
        evaluations = run.evaluations()
    except NotHere:
        evaluations = []
    first, last = (evaluations[0], evaluations[-1]) if evaluations else (None, None)
    about = run.about()
    return {
        "finished": summary is not None
        or (run.kind is Kind.EVALUATION and bool(evaluations))
        or (about is not None and bool(points) and points[-1].step >= about.steps),
        "started": min(times, default=None),
        "changed": changed or max(times, default=None),
        "steps": points[-1].step if points else None,
        "stage": about.stage if about is not None else "",
        "proofs": _proofs(run),
        "before": _share(first) if first is not last else None,
        "after": _share(last),
    }


def _proofs(run: Run) -> int | None:
    if run.folder is None or run.kind is not Kind.LEARNER:
        return None
    try:
        with readers.reading(run.records) as db:
            return int(db.execute("SELECT COUNT(*) FROM proofs").fetchone()[0])
    except (UnreadableRecords, NotHere):
        return None


def _share(evaluation: dict[str, Any] | None) -> Share | None:
    return decided_share(evaluation) if evaluation is not None and evaluation["statements"] else None


def _compared(run: Run, quantity: str) -> dict[str, Any]:
    """A curve of a run, the names of all, its evaluations, and the numbers of its summary. What it had spent by then is
    null if its points do not say how many expansions there were."""
    points = run.points()
    spent = [(point.time, point.values["expansions"]) for point in points if "expansions" in point.values]

    def expansions(at: float) -> float | None:
        """Of learning, up to a Unix time."""
        place = bisect_right(spent, (at, math.inf))
        return (spent[place - 1][1] if place else 0.0) if spent else None

    names = sorted({name for point in points for name in point.values})
    summary = run.summary() or {}
    begin = points[0].time if points else 0.0
    return {
        "name": run.name,
        "names": names,
        "curve": [
            (point.step, point.time - begin, expansions(point.time), point.values[quantity])
            for point in points
            if quantity in point.values
        ],
        "evaluations": [
            {
                "step": each["step"],
                "seconds": each["time"] - begin,
                "expansions": expansions(each["time"]),
                "share": _share(each),
            }
            for each in run.evaluations()
        ],
        "results": {name: summary[name] for name in RESULTS if isinstance(summary.get(name), int | float)},
    }


def _settings(runs: list[Run]) -> list[dict[str, Any]]:
    """The settings in which these runs differ, one row each; a value that a run does not have is null."""
    flat = [_flat("", _configuration(run.folder)) for run in runs]
    keys = sorted({key for each in flat for key in each})
    return [
        {"name": key, "values": [each.get(key) for each in flat]}
        for key in keys
        if len({repr(each.get(key)) for each in flat}) > 1
    ]


def _configuration(folder: Path | None) -> dict[str, Any]:
    for name in CONFIGURATION if folder is not None else ():
        assert folder is not None
        try:
            text = (folder / name).read_text(encoding="utf-8")
            read = msgspec.json.decode(text, type=dict[str, Any]) if name == EVALUATION else tomllib.loads(text)
            return without_secrets(read)
        except (OSError, ValueError, *NOT_JSON):
            continue
    return {}


def _flat(prefix: str, content: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in content.items():
        if isinstance(value, dict):
            found |= _flat(f"{prefix}{key}.", value)
        else:
            found[prefix + key] = f"{value}"
    return found
