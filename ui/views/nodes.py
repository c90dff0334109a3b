"""Views of nodes: all of them, and one with its values over time and its log."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

import msgspec

from common.protocol.messages import LogRecord
from common.watch.logs import LOGS, LogFiles
from common.watch.nodes import NodeSample, does
from ui.mesh_state import COUNTERS, NodeView, troubles
from ui.runs import NotHere, Run
from ui.views import View

HEARD_WELL = 3.0
"""Seconds without a heartbeat that are not worth a number: one comes every second."""

LONGEST_LINE = 240
"""Most characters of a reason or an error in a list; the page of a node has all of it."""

GONE, LEFT = "gone", "left"

# --- nodes ------------------------------------------------------------------------------------------------------------


class NodeRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node in the list. What is not known is left out."""

    id: str
    role: str
    state: str
    """As it says. `gone`: it has left the mesh, or is lost. `left`: a run's files end with others, without it."""
    host: str = ""
    since: float | None = None
    """Unix time at which it came."""
    heard: float | None = None
    """From files: Unix time of its last sample."""
    silent: float | None = None
    """Whole seconds since its last heartbeat, if they are worth a word."""
    cpu: float | None = None
    """Share of a core."""
    memory: float | None = None
    """Bytes."""
    gpu: float | None = None
    """How busy its busiest GPU is, from 0 to 1."""
    gpu_memory: float | None = None
    lag: float | None = None
    """Longest delay of its event loop in the last second, in milliseconds."""
    ahead: float | None = None
    """Seconds that its clock is ahead of the monitor's."""
    restarts: float | None = None
    """Of its Lean workers."""
    does: dict[str, float] = {}
    why: str = ""
    """What is wrong with it; empty: nothing."""
    error: str = ""
    error_time: float | None = None


Size = Annotated[int, msgspec.Meta(ge=1, le=100)]
Place = Annotated[int, msgspec.Meta(ge=0, le=10**9)]


class NodesQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"start": "from"}):
    """Which nodes, in which order."""

    text: str = ""
    """Part of the id, host, or what is wrong."""
    role: str = ""
    state: str = ""
    """A state; `sick`: something is wrong with it."""
    order: str = "sick"
    start: Place = 0
    limit: Size = 50


def nodes(run: Run, query: NodesQuery) -> dict[str, Any]:
    """The nodes of a mesh, or those that a run has had: how many of each role and state, and a part of the list."""
    rows = _rows(run)
    roles: dict[str, Counter[str]] = {}
    for row in rows:
        counted = roles.setdefault(row.role, Counter())
        counted[row.state] += 1
        counted["sick"] += bool(row.why)
    wanted = [row for row in rows if _wanted(row, query)]
    key = ORDERS.get(query.order, ORDERS["sick"])
    wanted.sort(key=lambda row: (*key(row), row.role, row.id))
    return {
        "live": run.mesh is not None,
        "roles": {role[:LONGEST_LINE]: dict(counted.most_common(20)) for role, counted in sorted(roles.items())[:30]},
        "total": len(wanted),
        "rows": [_short(row) for row in wanted[query.start : query.start + query.limit]],
    }


def _rows(run: Run) -> list[NodeRow]:
    """All nodes: of the mesh now, else those in the run's files."""
    errors = run.errors()
    if run.mesh is not None:
        now = time.time()
        return [_of_mesh(view, now, errors.get(view.info.node_id)) for view in run.mesh.views()]
    history = run.node_history()
    end = max((samples[-1].time for samples in history.values()), default=0.0)
    return [_of_files(samples, end, errors.get(node)) for node, samples in history.items()]


def _of_mesh(view: NodeView, now: float, error: LogRecord | None) -> NodeRow:
    info, silent = view.info, now - view.heard if view.heard else None
    return NodeRow(
        info.node_id,
        info.role,
        view.state,
        info.host,
        since=info.started,
        silent=float(int(silent)) if silent is not None and silent >= HEARD_WELL else None,
        ahead=round(view.ahead, 3) if view.ahead is not None else None,
        why="; ".join(troubles(view, now)),
        **_measured(info.role, view.values),
        **_last(error),
    )


STAYED = 30.0
"""Seconds before the last sample of a run within which a node has stayed to its end."""


def _of_files(samples: list[NodeSample], end: float, error: LogRecord | None) -> NodeRow:
    first, last = samples[0], samples[-1]
    values = {name: value for name, value in last.values.items() if abs(value) < 1e15}
    return NodeRow(
        last.node,
        last.role,
        last.state if end - last.time < STAYED else LEFT,
        since=first.time,
        heard=last.time,
        why="it was unhealthy when it was last heard" if last.state == "unhealthy" else "",
        **_measured(last.role, values),
        **_last(error),
    )


def _measured(role: str, values: Mapping[str, float]) -> dict[str, Any]:
    megabytes = values.get("memory_mb")
    return {
        "cpu": values.get("cpu_share"),
        "memory": 1e6 * round(megabytes) if megabytes is not None else None,
        "gpu": values.get("gpu_share"),
        "gpu_memory": values.get("gpu_memory_share"),
        "lag": values.get("loop_lag_ms"),
        "restarts": values.get("worker_restarts"),
        "does": does(role, values),
    }


def _last(error: LogRecord | None) -> dict[str, Any]:
    if error is None:
        return {}
    words = error.fields.get("reason") or error.fields.get("problem") or ""
    return {"error": f"{error.event}: {words}" if words else error.event, "error_time": error.time}


def _wanted(row: NodeRow, query: NodesQuery) -> bool:
    if query.role and row.role != query.role:
        return False
    if query.state and not (bool(row.why) if query.state == "sick" else row.state == query.state):
        return False
    text = query.text.lower()
    return not text or any(text in part.lower() for part in (row.id, row.host, row.why, row.error))


def _largest(name: str) -> Callable[[NodeRow], tuple[Any, ...]]:
    def key(row: NodeRow) -> tuple[Any, ...]:
        value = getattr(row, name)
        return (value is None, -(value or 0.0))

    return key


ORDERS: dict[str, Callable[[NodeRow], tuple[Any, ...]]] = {
    "sick": lambda row: (not row.why, row.state != "unhealthy", row.state == GONE),
    "node": lambda row: (row.id,),
    "host": lambda row: (row.host,),
    "state": lambda row: (row.state,),
    "up": lambda row: (row.since is None, row.since),
    "heard": lambda row: (-(row.silent or 0.0), -(row.heard or 0.0)),
    "clock": lambda row: (row.ahead is None, -abs(row.ahead or 0.0)),
    "error": lambda row: (row.error_time is None, -(row.error_time or 0.0)),
    **{name: _largest(name) for name in ("cpu", "memory", "gpu", "lag", "restarts")},
}
"""How the list is sorted, by the name of the order."""


def _short(row: NodeRow) -> NodeRow:
    """A row that is small whatever the node says."""
    cut = {name: getattr(row, name)[:LONGEST_LINE] for name in ("host", "why", "error")}
    return msgspec.structs.replace(row, **cut)


# --- one node ---------------------------------------------------------------------------------------------------------

LOG_RECORDS = 50
"""Latest records of a node's log that its page shows."""

LOG_BYTES = 64 * 1024
"""How far back each log of a run is read for them."""

LONGEST_TEXT, LONGEST_LIST = 2000, 40
"""Most characters of a text, and things in a list, that a node says and its page shows."""

POINTS = 300
"""Most points of a curve."""


class NodeQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which node."""

    id: str


def node(run: Run, query: NodeQuery) -> dict[str, Any]:
    """All that is known of a node but its curves. Raises NotHere."""
    error = run.errors().get(query.id)
    view = run.mesh.nodes.get(query.id) if run.mesh is not None else None
    history = run.node_history().get(query.id)
    if view is not None:
        now, info = time.time(), view.info
        return {
            "row": _of_mesh(view, now, error),
            "live": True,
            "why": troubles(view, now),
            "problems": _bounded(info.problems),
            "facts": _bounded(msgspec.to_builtins(info.facts)) if info.facts is not None else {},
            "about": {"version": info.version, "pid": info.pid, "metrics": info.metrics_url, "capacity": info.capacity},
            "values": dict(list(view.values.items())[:200]),
            "log": _log(run, query.id),
        }
    if not history:
        raise NotHere(f"run {run.name} has no node {query.id}; nodes that a mesh has lost long ago are not kept here")
    last = history[-1]
    end = max(samples[-1].time for samples in run.node_history().values())
    row = _of_files(history, end, error)
    return {
        "row": row,
        "live": False,
        "why": [row.why] if row.why else [],
        "problems": {},
        "facts": {},
        "about": {},
        "values": dict(list(last.values.items())[:200]),
        "log": _log(run, query.id),
    }


def _bounded(value: Any) -> Any:
    """What a node says, small enough for a page whatever it says."""
    if isinstance(value, str):
        return value[:LONGEST_TEXT]
    if isinstance(value, Mapping):
        return {str(key)[:LONGEST_LINE]: _bounded(each) for key, each in list(value.items())[:LONGEST_LIST]}
    if isinstance(value, (list, tuple)):
        return [_bounded(each) for each in value[:LONGEST_LIST]]
    return value


def _log(run: Run, node_id: str) -> list[dict[str, Any]]:
    """The latest records of a node's log, the newest first."""
    if run.folder is not None:
        found: Any = LogFiles(run.folder / LOGS, last_bytes=LOG_BYTES).read(containing=node_id)
    else:
        found = [] if run.mesh is None else list(run.mesh.logs)
    latest = deque((record for record in found if record.node_id == node_id), maxlen=LOG_RECORDS)
    return [
        {
            "time": each.time,
            "level": each.level,
            "event": each.event[:LONGEST_TEXT],
            "fields": {name: text[:LONGEST_LINE] for name, text in list(each.fields.items())[:12]},
        }
        for each in reversed(latest)
    ]


class CourseQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which node, and which of its values: names with commas; empty: what every node has."""

    id: str
    names: str = "cpu_share,memory_mb,loop_lag_ms"


def node_course(run: Run, query: CourseQuery) -> dict[str, Any]:
    """The values of a node over time: of its whole life from the run's files, else since the monitor listens. What only
    counts up is given per second (`rates` names it)."""
    times, role, columns = _remembered(run, query.id)
    names = list(dict.fromkeys(name for name in query.names.split(",") if name))[:20]
    every = max(1, -(-len(times) // POINTS))
    counters = set(COUNTERS.get(role, ()))
    shown = {name: columns.get(name, [math.nan] * len(times)) for name in names}
    rates = [name for name in names if name in counters]
    kept = times[::every]
    return {
        "time": kept,
        "values": {
            name: _per_second(kept, values[::every]) if name in counters else values[::every]
            for name, values in shown.items()
        },
        "rates": rates,
        "names": sorted(columns)[:200],
    }


def _remembered(run: Run, node_id: str) -> tuple[list[float], str, dict[str, list[float]]]:
    """Unix times, the role, and the values at these times by name."""
    samples = run.node_history().get(node_id)
    if samples:
        names = {name for each in samples for name in each.values}
        columns = {name: [each.values.get(name, math.nan) for each in samples] for name in names}
        return [each.time for each in samples], samples[-1].role, columns
    view = run.mesh.nodes.get(node_id) if run.mesh is not None else None
    if view is None:
        raise NotHere(f"run {run.name} has no node {node_id}")
    times, columns = view.memory.read()
    return times, view.info.role, columns


def _per_second(times: Sequence[float], totals: Sequence[float]) -> list[float]:
    """How fast a total grew up to each time; NaN at first, and where it began again."""
    found = [math.nan] if times else []
    for (before, less), (now, more) in pairwise(zip(times, totals, strict=True)):
        grown = more - less
        found.append(grown / (now - before) if now > before and grown >= 0 else math.nan)
    return found


VIEWS = {
    "nodes": View(NodesQuery, nodes),
    "node": View(NodeQuery, node),
    "node_course": View(CourseQuery, node_course),
}
