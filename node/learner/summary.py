"""The end of a run in numbers. What provers and lean-proxies counted is theirs, as their heartbeats said it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from common.messages import Heartbeat
from node.learner.statistics import Comparison
from node.learner.store.records import TheoremRow

COUNTED_BY_OTHERS = {
    "prover": ("attempts", "roots_solved", "simulations", "expansions"),
    "lean-proxy": ("candidates", "proofs_accepted", "proofs_rejected"),
    "inference": ("states", "tokens"),
}
"""Counters of other roles, as they report them; each grows within one process."""

Totals = dict[str, dict[str, float]]
"""Node id to its role's counters."""


def hear(totals: Totals, heartbeat: Heartbeat) -> None:
    """Take in a heartbeat. A process keeps its last counts when it has gone, so sums over all of them never fall."""
    names = COUNTED_BY_OTHERS.get(heartbeat.role)
    if names is None:
        return
    known = totals.setdefault(heartbeat.node_id, {})
    for name in names:
        if name in heartbeat.values:
            key = f"{heartbeat.role}.{name}"
            known[key] = max(known.get(key, 0.0), heartbeat.values[name])


def mesh_totals(totals: Totals) -> dict[str, int]:
    """Sums over all processes that were ever heard."""
    added: dict[str, float] = defaultdict(float)
    for counters in totals.values():
        for key, value in counters.items():
            added[key] += value
    return {key: int(value) for key, value in added.items()}


def by_group(rows: list[TheoremRow], before: Mapping[str, bool], after: Mapping[str, bool]) -> dict[str, Any]:
    """Solved before and after, by family and by level: {"family": {name: [total, before, after]}, "level": ...}."""
    tables: dict[str, dict[str, list[int]]] = {"family": {}, "level": {}}
    for row in rows:
        for kind, name in (("family", row.family), ("level", str(row.level))):
            cell = tables[kind].setdefault(name, [0, 0, 0])
            cell[0] += 1
            cell[1] += before[row.theorem.name]
            cell[2] += after[row.theorem.name]
    return {kind: dict(sorted(table.items())) for kind, table in tables.items()}


def comparison_fields(found: Comparison) -> dict[str, Any]:
    """The evaluation's part of the summary. The interval is in shares of the test statements."""
    return {
        "test_total": found.total,
        "solved_before": found.before,
        "solved_after": found.after,
        "both_solved": found.both,
        "difference": round(found.difference, 4),
        "ci_low": round(found.low, 4),
        "ci_high": round(found.high, 4),
    }
