"""Views of what the nodes of one role do together (inference, Lean, broker), now and over the run; and of the logs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import msgspec

from common.life.logging import LEVELS
from common.protocol.messages import LogRecord
from common.records.readers import AttemptRecord, read_attempts
from common.watch.logs import LOGS, latest_records, rank
from common.watch.nodes import NodeSample
from ui.mesh_state import COUNTERS
from ui.runs import Kind, Run
from ui.views import View

BUCKETS = 120
"""Points of a curve over the run."""

MOST_SAMPLES = 10_000
"""Samples that the curves of a role are made of; each node has an equal share of them."""

LATEST, SLOWEST = 1000, 15
"""Of so many latest attempts, so many slowest ones are shown."""

MOST_NODES = 100
"""Most nodes of a role that are listed; the sums are of all."""

GROWING = {
    "inference": ("passes", "remembered", "cut_off"),
    "lean-proxy": ("verifications", "cache_hits"),
    "broker": ("messages_in", "messages_out", "bytes_in", "bytes_out"),
}
"""Values of heartbeats that only grow, beside `COUNTERS`: their curves are rates."""


class RoleQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The role, as nodes call it."""

    name: Annotated[str, msgspec.Meta(max_length=40)]


def role(run: Run, query: RoleQuery) -> dict[str, Any]:
    """What all nodes of a role do: the latest values of each, sums over all, and curves over the run. A curve has one
    value for each of `time` (Unix), null where no node said anything: of counters the rate per second, of others the
    sum over the nodes."""
    whole = run.node_history()
    history = {node: samples for node, samples in whole.items() if samples[0].role == query.name}
    if run.folder is None and run.mesh is not None:
        heard = {view.info.node_id: view.samples() for view in run.mesh.views() if view.info.role == query.name}
        history = {node: samples for node, samples in heard.items() if samples}
    growing = {*COUNTERS.get(query.name, ()), *GROWING.get(query.name, ())}
    nodes = _now(run, query.name) or [
        {"id": node, "state": samples[-1].state, "time": samples[-1].time, "values": samples[-1].values}
        for node, samples in history.items()
    ]
    totals: dict[str, float] = defaultdict(float)
    for node in nodes:
        for name, value in node["values"].items():
            totals[name] += value
    return {
        "nodes": sorted(nodes, key=lambda node: -node["time"])[:MOST_NODES],
        "count": len(nodes),
        "totals": totals,
        "outcomes": _outcomes(run, whole.values()) if query.name == "lean-proxy" else {},
        "slowest": _slowest(run) if query.name == "lean-proxy" else None,
        "troubles": [why for each in run.sick() if each["role"] == query.name for why in each["why"]],
        **curves(list(history.values()), growing),
    }


def _now(run: Run, name: str) -> list[dict[str, Any]]:
    """The nodes of a watched mesh."""
    if run.mesh is None:
        return []
    return [
        {"id": node.info.node_id, "state": node.state, "time": node.seen, "values": node.values}
        for node in run.mesh.views()
        if node.info.role == name
    ]


def _slowest(run: Run) -> list[AttemptRecord] | None:
    """The attempts that waited longest for Lean, of the latest ones; None if no attempts are here."""
    if run.folder is None or run.kind is not Kind.LEARNER:
        return None
    found = [each for each in read_attempts(run.records, LATEST) if each.seconds_lean]
    return sorted(found, key=lambda each: -(each.seconds_lean or 0.0))[:SLOWEST]


def _outcomes(run: Run, history: Iterable[Sequence[NodeSample]]) -> dict[str, dict[str, float]]:
    """How tactics ended, as lean-proxies answered them and as searches saw them: `lost` counts for no tactic."""
    found: dict[str, dict[str, float]] = {"lean-proxy": defaultdict(float), "prover": defaultdict(float)}
    if run.mesh is not None:
        for name, value in run.mesh.totals().items():
            role, _, kind = name.partition(".outcome_")
            if kind and role in found:
                found[role][kind] += value
        return found
    for samples in history:
        if (role := samples[-1].role) in found:
            for name, value in samples[-1].values.items():
                if name.startswith("outcome_"):
                    found[role][name.removeprefix("outcome_")] += value
    return found


def curves(nodes: Sequence[Sequence[NodeSample]], growing: Iterable[str]) -> dict[str, Any]:
    """The samples of some nodes in `BUCKETS` equal times, summed over the nodes; rates of the values that grow."""
    share = max(8, MOST_SAMPLES // max(1, len(nodes)))
    nodes = [_fewer(each, share) for each in nodes]
    samples = [sample for each in nodes for sample in each]
    if len(samples) < 2:
        return {"time": [], "values": {}}
    begin, end = min(each.time for each in samples), max(each.time for each in samples)
    width = max((end - begin) / BUCKETS, 1e-9)

    def bucket(at: float) -> int:
        return min(BUCKETS - 1, int((at - begin) / width))

    grows = set(growing)
    values: dict[str, list[float | None]] = defaultdict(lambda: [None] * BUCKETS)
    for each in nodes:
        said: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for sample in each:
            for name, value in sample.values.items():
                said[name].append((sample.time, value))
        for name, told in said.items():
            points = _rates(told) if name in grows else told
            for place, value in _held({bucket(at): value for at, value in points}).items():
                values[name][place] = (values[name][place] or 0.0) + value
    return {"time": [begin + (place + 0.5) * width for place in range(BUCKETS)], "values": values}


def _fewer(samples: Sequence[NodeSample], most: int) -> Sequence[NodeSample]:
    """At most so many samples of a node, the last one among them."""
    every = -(-len(samples) // most) or 1
    return samples[::-1][::every][::-1]


def _rates(told: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """What was counted in a second, at the end of each interval."""
    return [(t2, max(0.0, v2 - v1) / (t2 - t1)) for (t1, v1), (t2, v2) in pairwise(told) if t2 > t1]


def _held(points: Mapping[int, float]) -> dict[int, float]:
    """The values of one node by bucket, each held until the next one; a node has none before its first and after its
    last."""
    found: dict[int, float] = {}
    value = math.nan
    for place in range(min(points, default=0), max(points, default=-1) + 1):
        value = points.get(place, value)
        found[place] = value
    return found


# --- logs -------------------------------------------------------------------------------------------------------------


class LogsQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records."""

    node: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Beginning of a node's id or of its file's name; empty: all."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    text: Annotated[str, msgspec.Meta(max_length=200)] = ""
    before: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Unix time: only records before it; 0: the latest ones."""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 200


def logs(run: Run, query: LogsQuery) -> dict[str, Any]:
    """The latest records that a query asks for, the oldest first, and whether there are older ones."""

    def wanted(record: LogRecord) -> bool:
        text = query.text.lower()
        return (
            rank(record) >= LEVELS[query.level]
            and (not query.before or record.time < query.before)
            and record.node_id.startswith(query.node)
            and (not text or text in f"{record.node_id} {record.event} {' '.join(record.fields.values())}".lower())
        )

    if run.folder is None:
        found = [] if run.mesh is None else [record for record in list(run.mesh.logs) if wanted(record)]
        more = len(found) > query.limit
    else:
        found, more = latest_records(run.path(LOGS), query.limit, wanted, query.node)
    return {"records": found[-query.limit :], "more": more, "files": run.folder is not None}


VIEWS = {"role": View(RoleQuery, role), "logs": View(LogsQuery, logs)}
