"""Views of what makes a run slow: where the time of attempts goes, which resource is full, who worked when."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import asdict
from typing import Any, Literal

import msgspec

from common.protocol.messages import Span
from common.records import readers
from common.records.lately import MUCH, SLOW_SECONDS, Lately, cause, course, slowest, suspects
from common.records.rows import PARTS
from common.watch import spans
from ui.mesh_state import LARGEST_VALUE
from ui.runs import Kind, Run
from ui.views import NoQuery, View
from ui.views.learning import VERDICT_SECONDS, sums_of

LONGEST_NAME = 240
"""Most characters of a theorem's name in a list."""

COURSE_BUCKETS = 60
"""Points of the curves over the run."""

SLOWEST = 20
"""Attempts that are listed as the slowest."""


class WhyQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which attempts are listed as the slowest."""

    of: Literal["lately", "run"] = "lately"
    by: Literal["all", "played"] = "all"
    """`played`: without the time before a prover took it."""


def why(run: Run, query: WhyQuery) -> dict[str, Any]:
    """What makes the run slow: the verdict with what it follows from, the parts of the time of the latest attempts, how
    full the resources are, and the slowest attempts."""
    found, silent, seconds = sums_of(run)
    verdict = cause(found, silent)
    has = found is not None and found.attempts > 0
    return {
        "kind": run.kind,
        "verdict": verdict,
        "seconds": seconds,
        "live": run.mesh is not None,
        "attempts": found.attempts if found is not None else 0,
        "evidence": [each._asdict() for each in suspects(found)] if found is not None and has else [],
        "parts": _parts(found) if found is not None and has else [],
        "much": {"share": MUCH, "seconds": SLOW_SECONDS},
        **resources(run, found, seconds),
        "slowest": _slowest(run, query),
    }


def _parts(found: Lately) -> list[dict[str, Any]]:
    """The parts in their order, and the time that the slots were free."""
    spent = asdict(found.parts)
    whole = sum(spent.values()) or 1.0
    return [
        {"part": name, **PARTS[name]._asdict(), "share": each / whole, "seconds": each / found.attempts}
        for name, each in spent.items()
    ]


def _slowest(run: Run, query: WhyQuery) -> list[dict[str, Any]] | None:
    """None: the records are not here."""
    if run.folder is None or run.kind is not Kind.LEARNER:
        return None
    seconds = VERDICT_SECONDS if query.of == "lately" else math.inf
    with readers.reading(run.records) as db:
        rows = slowest(db, SLOWEST, seconds, ("dispatch", "queue") if query.by == "played" else ())
    return [
        {
            "id": row.attempt_id,
            "theorem": row.theorem_id[:LONGEST_NAME],
            "outcome": row.outcome,
            "recorded": row.recorded,
            "parts": asdict(row.parts),
        }
        for row in rows
    ]


def why_course(run: Run, query: NoQuery) -> dict[str, Any]:
    """The share of each part of the attempts' time over the run."""
    if run.folder is None or run.kind is not Kind.LEARNER:
        return {"time": [], "attempts": [], "shares": {}}
    with readers.reading(run.records) as db:
        found = course(db, COURSE_BUCKETS)
    spent = [asdict(parts) for _, _, parts in found]
    return {
        "time": [time for time, _, _ in found],
        "attempts": [count for _, count, _ in found],
        "shares": {name: [each[name] / (sum(each.values()) or 1.0) for each in spent] for name in PARTS},
    }


# --- the resource that is full ----------------------------------------------------------------------------------------


class Resource(msgspec.Struct, frozen=True):
    """What attempts need, and how full it is. Means over the last minutes."""

    name: str
    nodes: int
    has: float | None
    """How much there is; None: it has no fixed number."""
    used: float | None
    """None: not known."""
    queue: float
    """How much waits for it at a time."""
    waits: float
    """Seconds that an attempt waits for it."""
    runs: float | None
    """Seconds that an attempt has it for; None: not known."""
    full: bool


BUSY = 0.9
"""Share of the search slots in use from which they are full."""

LONG_WAIT = 0.1
"""Seconds from which an attempt waits for a resource that is full: longer than it has it for, too."""


def resources(run: Run, found: Lately | None, seconds: float) -> dict[str, Any]:
    """How full each resource is, and in one sentence which one is. `found`: of the attempts of these last seconds."""
    roles = _means(run, seconds)
    if found is None or not found.attempts:
        return {"resources": [], "full": ""}
    spent = {name: each / found.attempts for name, each in asdict(found.parts).items()}

    def total(role: str, name: str) -> float:
        return sum(values.get(name, 0.0) for values in roles.get(role, []))

    def resource(name: str, role: str, has: float | None, queue: float, waits: float, runs: float) -> Resource:
        nodes = len(roles.get(role, []))
        # Proofs also wait until enough of them have come, which is no queue.
        full = waits >= max(LONG_WAIT, runs) and queue >= nodes
        return Resource(name, nodes, has, None, queue, waits, runs, full)

    slots, used = total("prover", "searches_max"), total("prover", "searches")
    waiting = total("broker", "attempts_waiting")
    played = (
        found.parts.search
        + found.parts.bus
        + sum(value for name, value in asdict(found.parts).items() if name.startswith(("policy", "lean", "verify")))
    )
    full = bool(slots) and used / slots >= BUSY and spent["queue"] >= LONG_WAIT
    nodes = len(roles.get("prover", []))
    listed = [
        Resource(
            "search slots", nodes, slots or None, used, waiting, spent["queue"], played / found.attempts, full
        ),
        resource(
            "inference", "inference", None, total("inference", "queue"),
            spent["policy_wait"], spent["policy_run"],
        ),
        resource(
            "Lean workers", "lean-proxy", total("lean-proxy", "workers") or None, total("lean-proxy", "queue"),
            spent["lean_wait"], spent["lean_run"],
        ),
        resource(
            "verification", "lean-proxy", None, total("lean-proxy", "verify_queue"),
            spent["verify_wait"], spent["verify_run"],
        ),
        resource(
            "learner", "learner", None, total("broker", "results_waiting"), spent["result_wait"], spent["store"]
        ),
    ]  # fmt: skip
    return {"resources": listed, "full": _full(listed)}


def _full(listed: list[Resource]) -> str:
    """One sentence. The slots are full, too, when what searches wait for is: they are named only if nothing else is."""
    slots, *deeper = listed
    full = [each for each in deeper if each.full]
    if full:
        worst = max(full, key=lambda each: each.waits)
        return (
            f"Full: {worst.name}. An attempt waits {worst.waits:.1f} s in its queues, and has it for"
            f" {worst.runs or 0:.1f} s."
        )
    in_use = f"{slots.used or 0:.1f} of {slots.has or 0:.0f} search slots are in use"
    if slots.full:
        return (
            f"Full: the search slots ({in_use}, {slots.queue:.0f} attempts wait). Nothing that searches need is full:"
            " more provers, or more [prover] searches, would do more."
        )
    return f"No resource is full: {in_use}." if slots.has else "No resource is full."


def _means(run: Run, seconds: float) -> dict[str, list[dict[str, float]]]:
    """The values of each node by role, as means over these last seconds."""
    roles: dict[str, list[dict[str, float]]] = {}
    if run.mesh is not None:
        since = time.time() - seconds
        for view in run.mesh.views():
            if view.gone_since is None:
                roles.setdefault(view.info.role, []).append(view.memory.means(since) or view.values)
        return roles
    history = run.node_history()
    end = max((samples[-1].time for samples in history.values()), default=0.0)
    for samples in history.values():
        last = [each for each in samples if each.time >= end - seconds]
        if last:
            sums: Counter[str] = Counter()
            for each in last:
                sums.update({name: value for name, value in each.values.items() if abs(value) < LARGEST_VALUE})
            roles.setdefault(last[-1].role, []).append({name: value / len(last) for name, value in sums.items()})
    return roles


# --- who worked when --------------------------------------------------------------------------------------------------

LANE_SECONDS = 120.0
"""The lanes show so much of the end of the run."""

BINS = 120

MOST_LANES = 24

LANES = ("play", "policy", "lean", "verify", "store")
"""Names of spans that have a lane. What a node answered has one at that node."""


def lanes(run: Run, query: NoQuery) -> dict[str, Any]:
    """Who worked when in the last minutes, of the traced attempts: for each node and kind of work, how much of it was
    at work at a time, as digits from 0 to 9 (9: `most` at a time)."""
    found = spans.recent(run.folder, LANE_SECONDS) if run.folder is not None else []
    if not found:
        return {"end": 0.0, "seconds": LANE_SECONDS, "lanes": [], "count": 0}
    end = max(span.start + span.seconds for _, span in found)
    seconds = min(LANE_SECONDS, max(1.0, end - min(span.start for _, span in found)))
    begin, width = end - seconds, seconds / BINS
    busy: dict[tuple[str, str], list[float]] = {}
    for maker, span in found:
        start, seconds_worked, weight = _worked(span)
        if span.name not in LANES or not weight:
            continue
        lane = busy.setdefault((span.node or maker, span.name), [0.0] * BINS)
        first, last = (start - begin) / width, (start + seconds_worked - begin) / width
        for place in range(max(0, int(first)), min(BINS, int(last) + 1)):
            lane[place] += weight * max(0.0, min(last, place + 1) - max(first, place))
    busy = {lane: each for lane, each in busy.items() if any(each)}
    order = sorted(busy, key=lambda lane: (LANES.index(lane[1]), -sum(busy[lane])))
    return {
        "end": end,
        "seconds": seconds,
        "count": len(busy),
        "lanes": [_lane(node, kind, busy[node, kind]) for node, kind in order[:MOST_LANES]],
    }


def _worked(span: Span) -> tuple[float, float, float]:
    """When a span's work was done: its start, its seconds, and how much was done at a time. What another node did was
    under way before and after it for the same time."""
    if not span.requests:
        return span.start, span.seconds, 1.0
    seconds = min(span.ran, span.seconds)
    under_way = max(0.0, span.seconds - span.waited - seconds)
    start = span.start + span.seconds - seconds - under_way / 2
    return start, seconds, span.ran / seconds if seconds else 0.0


def _lane(node: str, kind: str, at_a_time: list[float]) -> dict[str, Any]:
    most = max(at_a_time)
    levels = "".join(str(min(9, math.ceil(9 * each / most))) if most else "0" for each in at_a_time)
    return {
        "node": node,
        "kind": kind,
        "mean": sum(at_a_time) / BINS,
        "most": most,
        "busy": sum(each > 0.01 for each in at_a_time) / BINS,
        "levels": levels,
    }


VIEWS = {
    "why": View(WhyQuery, why),
    "why_course": View(NoQuery, why_course),
    "lanes": View(NoQuery, lanes),
}
