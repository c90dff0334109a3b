"""Views of the overview: is it learning, is it healthy, what limits it now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from common.protocol.messages import ProofFound
from common.records import readers
from common.records.lately import WINDOW, Cause, Lately, cause, lately
from common.statistics import wilson
from ui.runs import Kind, Run
from ui.views import NoQuery, View

VERDICT_SECONDS = 600.0
"""The verdict on a run without a mesh is about its last ten minutes."""

PROOFS = 20
"""Latest proofs that the overview shows."""


class Share(msgspec.Struct, frozen=True):
    """Statements that were solved, with a 95% interval (Wilson)."""

    solved: int
    of: int
    rate: float
    low: float
    high: float


def share(solved: int, of: int) -> Share:
    low, high = wilson(solved, of)
    return Share(solved, of, solved / of if of else 0.0, low, high)


def overview(run: Run, query: NoQuery) -> dict[str, Any]:
    """Everything of the overview but the curves: evaluations with intervals, counters, nodes that are sick, the
    verdict on what is slow, the latest proofs."""
    verdict = verdict_of(run)
    return {
        "name": run.name,
        "kind": run.kind,
        "summary": run.summary(),
        "evaluations": [evaluation(each) for each in run.evaluations()],
        "counters": counters(run),
        "verdict": {"fault": verdict.fault, "text": verdict.text, "advice": verdict.advice},
        "sick": run.sick(),
        "proofs": proofs(run),
    }


def evaluation(found: Mapping[str, Any]) -> dict[str, Any]:
    """An evaluation with intervals, for all its statements and for each level, family and bank."""
    parts: dict[str, Any] = {"share": decided_share(found)}
    for name in ("levels", "families", "banks"):
        parts[name] = {key: decided_share(each) for key, each in (found.get(name) or {}).items()}
    return {**found, **parts}


def decided_share(part: Mapping[str, Any]) -> Share:
    """The solved ones of an evaluation's decided statements, or of those of a part of it."""
    return share(int(part["solved"] or 0), max(0, int(part["statements"] or 0) - int(part["undecided"] or 0)))


def counters(run: Run) -> dict[str, float]:
    """Totals of the run: from the mesh while it is watched, else from its records and its summary."""
    if run.mesh is not None:
        return run.mesh.totals() | {f"rate.{name}": value for name, value in run.mesh.rates().items()}
    if run.kind is not Kind.LEARNER:
        return {}
    with readers.reading(run.records) as db:
        row = db.execute(
            "SELECT (SELECT COUNT(*) FROM attempts), (SELECT COUNT(*) FROM results), (SELECT COUNT(*) FROM proofs),"
            " (SELECT COUNT(*) FROM transitions), (SELECT TOTAL(expansions) FROM results)"
        ).fetchone()
    names = ("attempts_dispatched", "results", "proofs_verified", "transitions")
    found = {f"learner.{name}": float(value) for name, value in zip(names, row, strict=False)}
    return found | {"prover.expansions": float(row[4])}


def verdict_of(run: Run) -> Cause:
    """What makes the run slow: now, or in its last ten minutes."""
    found, silent, _ = sums_of(run)
    return cause(found, silent)


def sums_of(run: Run) -> tuple[Lately | None, float, float]:
    """Where the time of the latest attempts went (None: not known), seconds since the learner was heard, and over how
    many seconds the sums are."""
    if run.mesh is not None and (learner := run.mesh.learner()) is not None:
        # The monitor's own clock: that of the learner may be wrong.
        silent = max(0.0, time.time() - learner.heard) if learner.heard else 0.0
        return Lately.of_values(learner.values), silent, WINDOW
    if run.folder is None or run.kind is not Kind.LEARNER:
        return None, 0.0, VERDICT_SECONDS
    with readers.reading(run.records) as db:
        return lately(db, VERDICT_SECONDS), 0.0, VERDICT_SECONDS


def proofs(run: Run) -> list[ProofFound]:
    """The latest verified proofs, the newest first."""
    if run.folder is not None and run.kind is Kind.LEARNER:
        return [proof for _, proof in readers.latest(run.records, PROOFS)][::-1]
    return [] if run.mesh is None else list(run.mesh.proofs)[::-1][:PROOFS]


class CurveQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which curves: names with commas; empty: all."""

    names: str = ""


def curves(run: Run, query: CurveQuery) -> dict[str, Any]:
    """The curves of the run's metrics, by columns: `time` (Unix), `step`, and each name with null where it has no
    value."""
    points = run.points()
    wanted = [name for name in query.names.split(",") if name] or sorted({n for each in points for n in each.values})
    kept = [each for each in points if any(name in each.values for name in wanted)]
    return {
        "time": [each.time for each in kept],
        "step": [each.step for each in kept],
        "values": {name: [each.values.get(name) for each in kept] for name in wanted},
    }


VIEWS = {"overview": View(NoQuery, overview), "curves": View(CurveQuery, curves)}
