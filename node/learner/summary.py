"""The summary of a run: compares two evaluations, and adds up the counters of the mesh's nodes.

The counters of provers and lean-proxies come from their heartbeats.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from common.protocol.messages import Heartbeat
from common.records.rows import TheoremRow
from common.statistics import bootstrap_interval

COUNTED_BY_OTHERS = {
    "prover": ("attempts", "roots_solved", "simulations", "expansions"),
    "lean-proxy": ("candidates", "proofs_accepted", "proofs_rejected"),
    "inference": ("states", "tokens"),
}
"""Counters of other roles, as they report them; each grows within one process."""

MOST_COUNTED = 2.0**53
"""A larger count is none: sums of such numbers would not be exact."""

Totals = dict[str, dict[str, float]]
"""Node id to its role's counters."""

Solved = Mapping[str, bool | None]
"""Whether each statement of an evaluation was solved; None: undecided (`node.learner.attempts.evaluation.solved`)."""


GONE_SECONDS = 5.0
"""A node that was not heard for so long has gone."""

SETTLING_SECONDS = 5.0
"""Longest wait for the last counters of other nodes."""


class Heard:
    """The counters of other nodes, from all heartbeats so far."""

    def __init__(self, totals: Totals | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.totals: Totals = totals if totals is not None else {}
        self._clock = clock
        self._beats = Counter[str]()
        self._last: dict[str, float] = {}
        self._beat = asyncio.Event()

    def hear(self, heartbeat: Heartbeat) -> None:
        """Add a heartbeat's counters. The last counts of a process stay when it has gone, so the sums never fall."""
        names = COUNTED_BY_OTHERS.get(heartbeat.role)
        if names is None:
            return
        counters = self.totals.setdefault(heartbeat.node_id, {})
        for name in names:
            # A node may send anything: numbers that cannot be added up would end the run at each start.
            if 0 <= (value := heartbeat.values.get(name, -1.0)) <= MOST_COUNTED:
                key = f"{heartbeat.role}.{name}"
                counters[key] = max(counters.get(key, 0.0), value)
        self._beats[heartbeat.node_id] += 1
        self._last[heartbeat.node_id] = self._clock()
        self._beat.set()

    async def settled(self) -> None:
        """Wait until every node that is there has sent two more heartbeats, but at most `SETTLING_SECONDS`. What a node
        has counted by now is in the second, because nodes update their values between heartbeats."""
        now = self._clock()
        wanted = {node: self._beats[node] + 2 for node, at in self._last.items() if now - at < GONE_SECONDS}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLING_SECONDS):
                while any(self._beats[node] < beats for node, beats in wanted.items()):
                    self._beat.clear()
                    await self._beat.wait()

    def sums(self) -> dict[str, int]:
        """Sums over all processes that ever sent a heartbeat."""
        added: dict[str, float] = defaultdict(float)
        for counters in self.totals.values():
            for key, value in counters.items():
                added[key] += value
        return {key: int(value) for key, value in added.items()}


@dataclass(frozen=True)
class Comparison:
    """Two evaluations of the same statements side by side."""

    total: int
    """Statements, undecided ones included."""
    before: int
    after: int
    """Solved statements."""
    both: int
    """Statements solved both times."""
    undecided_before: int
    undecided_after: int
    compared: int
    """Statements decided both times: the difference and its interval are of these alone."""
    difference: float
    """(solved after - solved before) / compared; 0 when nothing can be compared."""
    low: float
    high: float
    """Ends of the interval on the difference; -1 and 1 when nothing can be compared."""


def compare(before: Solved, after: Solved, seed: int, level: float = 0.95) -> Comparison:
    """Paired percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 13) over statements:
    each resample draws statements with both their outcomes. Statements that are undecided on either side are left out.

    Raises ValueError unless both evaluations are of the same statements.
    """
    if before.keys() != after.keys() or not before:
        raise ValueError(f"evaluations of different theorems cannot be compared ({len(before)} and {len(after)})")
    pairs = [(before[name], after[name]) for name in sorted(before)]
    decided = [(first, second) for first, second in pairs if first is not None and second is not None]
    difference, low, high = bootstrap_interval(decided, seed, level)
    return Comparison(
        total=len(pairs),
        before=sum(first is True for first, _ in pairs),
        after=sum(second is True for _, second in pairs),
        both=pairs.count((True, True)),
        undecided_before=sum(first is None for first, _ in pairs),
        undecided_after=sum(second is None for _, second in pairs),
        compared=len(decided),
        difference=difference,
        low=low,
        high=high,
    )


def in_both(outcomes: Mapping[str, Solved]) -> tuple[dict[str, dict[str, bool | None]], int]:
    """The outcomes of the statements that the evaluations `before` and `after` both have, and how many only one of them
    has: a run may have gone on with settings that choose other statements."""
    outcomes = {"before": {}, "after": {}, **outcomes}  # a run may have had no evaluation when it began
    before, after = outcomes["before"].keys(), outcomes["after"].keys()
    both = before & after
    kept = {label: {name: of for name, of in found.items() if name in both} for label, found in outcomes.items()}
    return kept, len(before ^ after)


def by_group(rows: list[TheoremRow], before: Solved, after: Solved) -> dict[str, Any]:
    """Solved before and after, by family and by level: {"family": {name: [total, before, after]}, "level": ...}."""
    tables: dict[str, dict[str, list[int]]] = {"family": {}, "level": {}}
    for row in (each for each in rows if each.theorem.name in before):
        for kind, name in (("family", row.family), ("level", str(row.level))):
            cell = tables[kind].setdefault(name, [0, 0, 0])
            cell[0] += 1
            cell[1] += before[row.theorem.name] is True
            cell[2] += after[row.theorem.name] is True
    return {kind: dict(sorted(table.items())) for kind, table in tables.items()}


def by_bank(before: Solved, after: Solved, bank_of: Mapping[str, str], seed: int) -> dict[str, dict[str, Any]]:
    """The comparison of each bank's statements, by the bank's name, if there are several banks."""
    of_bank: dict[str, list[str]] = defaultdict(list)
    for name in before:
        if name in bank_of:
            of_bank[bank_of[name]].append(name)
    return {
        bank: comparison_fields(
            compare({name: before[name] for name in names}, {name: after[name] for name in names}, seed)
        )
        for bank, names in sorted(of_bank.items())
    }


def comparison_fields(comparison: Comparison) -> dict[str, Any]:
    """The evaluations' part of the summary. The interval is in shares of the compared statements."""
    return {
        "test_total": comparison.total,
        "solved_before": comparison.before,
        "solved_after": comparison.after,
        "both_solved": comparison.both,
        "undecided_before": comparison.undecided_before,
        "undecided_after": comparison.undecided_after,
        "compared": comparison.compared,
        "difference": round(comparison.difference, 4),
        "ci_low": round(comparison.low, 4),
        "ci_high": round(comparison.high, 4),
    }
