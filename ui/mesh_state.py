"""The monitor's state of the mesh: a pure fold of telemetry messages, with bounded memory.

Counters in heartbeats are totals of one process. When a node leaves, its last counters are added to a sum over all
departed nodes, so the totals of the mesh never fall when a prover is killed.
"""

from __future__ import annotations

import math
import threading
from array import array
from bisect import bisect_left
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from common.lean import outcome_values
from common.protocol.messages import Heartbeat, LogRecord, NodeInfo, Point, ProofFound
from common.watch.nodes import NodeSample

OUTCOMES = tuple(outcome_values({}))
"""Values that count the outcomes of tactics in Lean, by kind."""

MOST_COUNTED = 1e15
"""More than any node has counted."""

COUNTERS = {
    "prover": ("attempts", "roots_solved", "simulations", "expansions", *OUTCOMES),
    "lean-proxy": ("candidates", "proofs_accepted", "proofs_rejected", "worker_restarts", "failures", *OUTCOMES),
    "inference": ("states", "tokens"),
    "learner": ("attempts_dispatched", "results", "proofs_verified", "transitions", "train_steps"),
}
"""Heartbeat values that only grow, by role; everything else is a gauge."""

RATES = ("prover.attempts", "prover.expansions", "lean-proxy.candidates", "inference.states")
"""Totals whose rate is drawn."""

RATE_WINDOW = 10.0
"""Seconds over which a rate is averaged: long enough that a pause for a training step does not look like a stop."""

GONE_AFTER = 60.0
"""Seconds for which a node that has left stays in the list."""

KNOWN_POINTS = 40_000
"""Points remembered to recognise repeated ones: twice the size of the broker's history, which may send all again."""


SILENT_AFTER = 10.0
"""Seconds without a heartbeat after which a node is sick: one comes every second."""

LAG_SHOWN = 500.0
"""Milliseconds of event-loop lag that a person should see."""

LARGEST_VALUE = 1e100
"""Larger values are no measurements; their sums could be infinite. NaN is not smaller, either."""

EVALUATIONS = 2000
"""Most evaluations shown of a run: more than a chart has pixels across."""


LOGS_SHOWN = 400
"""Latest log records that the page shows."""

REMEMBER_EVERY = 5.0
"""Seconds between two samples of a node's values that are remembered."""

SAMPLES = 300
"""Most samples that are remembered of a node."""

NAMES = 64
"""Most values that are remembered of a node; ours have at most forty. So 1,000 nodes take at most 150 MB, and those of
a real mesh some 50 MB."""

DRIFT = 0.001
"""Seconds by which the estimate of a clock is loosened at each heartbeat, so that a clock that was set is seen."""


class Memory:
    """The values of one node over time, thinned: the newest ones every few seconds, older ones less often. A thread may
    read it."""

    def __init__(self) -> None:
        self._times = array("d")
        self._values: dict[str, array[float]] = {}
        self._lock = threading.Lock()

    def add(self, time: float, values: dict[str, float]) -> None:
        """Remember values, unless the latest ones are not old enough. `time`: Unix."""
        if self._times and time - self._times[-1] < REMEMBER_EVERY:
            return
        with self._lock:
            new = [name for name in values if name not in self._values]
            for name in new[: max(0, NAMES - len(self._values))]:
                self._values[name] = array("d", [math.nan] * len(self._times))
            self._times.append(time)
            for name, column in self._values.items():
                column.append(values.get(name, math.nan))
            if len(self._times) > SAMPLES:
                for column in (self._times, *self._values.values()):
                    del column[1:-1:2]

    def means(self, since: float) -> dict[str, float]:
        """The mean of each value since a Unix time."""
        with self._lock:
            begin = bisect_left(self._times, since)
            parts = {name: [x for x in column[begin:] if not math.isnan(x)] for name, column in self._values.items()}
        return {name: sum(part) / len(part) for name, part in parts.items() if part}

    def read(self) -> tuple[list[float], dict[str, list[float]]]:
        """Unix times, and the values at these times by name; NaN where a name had none."""
        with self._lock:
            return self._times.tolist(), {name: column.tolist() for name, column in self._values.items()}


@dataclass
class NodeView:
    """One node as the page shows it."""

    info: NodeInfo
    values: dict[str, float] = field(default_factory=dict)
    state: str = "starting"
    seen: float = 0.0
    """Unix time of the last heartbeat or registry entry."""
    gone_since: float | None = None
    heard: float = 0.0
    """Unix time of the monitor's clock at the last heartbeat; 0: none was heard."""
    ahead: float | None = None
    """Seconds that its clock is ahead of the monitor's, by the heartbeat that was under way for the shortest time;
    None: not known."""
    error: LogRecord | None = None
    """The last error that it has logged."""
    memory: Memory = field(default_factory=Memory)

    def samples(self) -> list[NodeSample]:
        """What is remembered of it, as the history in a run's folder has it; its states are those of now."""
        times, columns = self.memory.read()
        rows = zip(*columns.values(), strict=True) if columns else ()
        return [
            NodeSample(
                at,
                self.info.node_id,
                self.info.role,
                self.state,
                {name: value for name, value in zip(columns, row, strict=True) if not math.isnan(value)},
            )
            for at, row in zip(times, rows, strict=False)
        ]


class MeshState:
    """The fold of all messages that the monitor got. Times are Unix seconds and come from the caller. One thread
    changes it; others may call what is below `views`."""

    def __init__(self, *, logs: int = LOGS_SHOWN, proofs: int = 100, points: int = 4000) -> None:
        self.nodes: dict[str, NodeView] = {}
        self.logs: deque[LogRecord] = deque(maxlen=logs)
        self.proofs: deque[ProofFound] = deque(maxlen=proofs)
        self.points: deque[Point] = deque(maxlen=points)
        self._known_points: OrderedDict[tuple[float, int], None] = OrderedDict()
        self.evaluations: OrderedDict[tuple[float, int], dict[str, Any]] = OrderedDict()
        """By time and training step. Stored separately from the points, because a long run has too many points to keep
        all."""
        self.ticks = 0
        self.heard = 0
        """Points and log records so far, the dropped ones too."""
        self._departed: Counter[str] = Counter()
        self._recent: deque[tuple[float, dict[str, float]]] = deque()

    # --- what arrives -----------------------------------------------------------------------------------------------

    def see_registry(self, infos: list[NodeInfo], now: float) -> None:
        """Update the nodes from the registry: add new ones, mark missing ones as gone, and drop them later."""
        present = {info.node_id: info for info in infos}
        for node_id, info in present.items():
            node = self.nodes.setdefault(node_id, NodeView(info, state=info.state))
            node.info, node.state, node.seen, node.gone_since = info, info.state, now, None
        for node_id, node in list(self.nodes.items()):
            if node_id in present:
                continue
            if node.gone_since is None:
                node.gone_since, node.state = now, "gone"
            elif now - node.gone_since > GONE_AFTER:
                self._drop(node_id)

    def see_heartbeat(self, heartbeat: Heartbeat, now: float = 0.0) -> None:
        """Update a node from its heartbeat. Heartbeats of nodes that are not in the registry yet are ignored; the next
        one comes in a second. `now`: Unix time of this clock."""
        node = self.nodes.get(heartbeat.node_id)
        if node is None or node.gone_since is not None:
            return
        node.values, node.state = finite(heartbeat.values), heartbeat.state
        node.seen = heartbeat.time if math.isfinite(heartbeat.time) else node.seen
        if now:
            # A heartbeat that was delayed makes the clock seem behind, so the largest difference counts.
            ahead = node.seen - now
            node.ahead = ahead if node.ahead is None else max(ahead, node.ahead - DRIFT)
            node.memory.add(now, node.values)
        node.heard = now

    def see_log(self, record: LogRecord) -> None:
        self.heard += 1
        self.logs.append(record)
        if record.level == "error" and (node := self.nodes.get(record.node_id)) is not None:
            node.error = record

    def see_proof(self, proof: ProofFound) -> bool:
        """Add a proof. Returns True if it is new: a restarted learner may announce a proof again."""
        new = all(proof.attempt_id != earlier.attempt_id for earlier in self.proofs)
        if new:
            self.proofs.append(proof)
        return new

    def see_point(self, point: Point) -> bool:
        """Add a point. Returns True if it is new: the run's file, the broker's history and telemetry may repeat it. A
        point without a time that is a number is ignored, because it could never be found again."""
        if not math.isfinite(point.time):
            return False
        point = msgspec.structs.replace(point, values=finite(point.values))
        key = (point.time, point.step)
        new = key not in self._known_points
        if new:
            self._known_points[key] = None
            self.heard += 1
            self.points.append(point)
            if (evaluation := evaluation_of(point)) is not None:
                self.see_evaluation(evaluation)
            if len(self._known_points) > KNOWN_POINTS:
                self._known_points.popitem(last=False)
        return new

    def see_evaluation(self, evaluation: dict[str, Any]) -> bool:
        """Add an evaluation. Returns True if it is new: it may come from the run's files and from its points."""
        key = (evaluation["time"], evaluation["step"])
        new = key not in self.evaluations
        if new:
            self.evaluations[key] = evaluation
            if len(self.evaluations) > EVALUATIONS:
                self.evaluations.popitem(last=False)
        return new

    def tick(self, now: float) -> None:
        """Record the totals for the rates; call it once a second."""
        self.ticks += 1
        totals = self.totals()
        self._recent.append((now, totals))
        while len(self._recent) > 2 and now - self._recent[0][0] > RATE_WINDOW:
            self._recent.popleft()

    # --- what the page shows ----------------------------------------------------------------------------------------

    def views(self) -> list[NodeView]:
        """All nodes at this moment: views run in threads, while nodes come and go."""
        return list(self.nodes.values())

    def learner(self) -> NodeView | None:
        """The learner of the mesh that was there first; None: there is none."""
        return next((view for view in self.views() if view.info.role == "learner" and view.gone_since is None), None)

    def totals(self) -> dict[str, float]:
        """Counters of the whole mesh, `role.name` -> total over living and departed nodes."""
        totals = Counter(self._departed)
        for node in self.views():
            totals.update(_counters(node))
        return dict(totals)

    def rates(self) -> dict[str, float]:
        """Rates per second over the last RATE_WINDOW seconds."""
        recent = list(self._recent)
        if len(recent) < 2:
            return dict.fromkeys(RATES, 0.0)
        (start, before), (end, after) = recent[0], recent[-1]
        seconds = max(end - start, 1e-9)
        return {name: max(0.0, after.get(name, 0.0) - before.get(name, 0.0)) / seconds for name in RATES}

    def sick(self, now: float) -> list[dict[str, Any]]:
        """The nodes that a person should look at, the worst first, each with its reasons."""
        found = [(view, reasons) for view in self.views() if (reasons := troubles(view, now))]
        order = sorted(found, key=lambda each: (each[0].state != "unhealthy", each[0].info.role, each[0].info.node_id))
        return [{"id": each.info.node_id, "role": each.info.role, "why": why} for each, why in order]

    def _drop(self, node_id: str) -> None:
        self._departed.update(_counters(self.nodes.pop(node_id)))


def finite(values: dict[str, float]) -> dict[str, float]:
    """The values that are numbers: one NaN in a sum would stay there for ever."""
    return {name: value for name, value in values.items() if abs(value) <= LARGEST_VALUE}


def evaluation_of(point: Point) -> dict[str, Any] | None:
    """The evaluation of a point, as the page gets it; None for other points. Older learners sent only a solve rate."""
    values = point.values
    if "eval_solve_rate" not in values:
        return None
    counts = {name: values.get(f"eval_{name}") for name in ("statements", "solved", "undecided", "simulations")}
    beside = bool(values.get("eval_beside"))
    return (
        {"time": point.time, "step": point.step, "label": "", "beside": beside}
        | counts
        | {"rate": values["eval_solve_rate"]}
    )


def _counters(node: NodeView) -> dict[str, float]:
    role = node.info.role
    known = {name: node.values[name] for name in COUNTERS.get(role, ()) if name in node.values}
    # What no node can have counted would stay in the totals after the node has left.
    return {f"{role}.{name}": value for name, value in known.items() if 0 <= value <= MOST_COUNTED}


def troubles(node: NodeView, now: float) -> list[str]:
    """What is wrong with a node, in words; empty: nothing."""
    if node.gone_since is not None:
        return [f"gone for {now - node.gone_since:.0f} s"]
    found = [f"{part}: {problem}" for part, problem in node.info.problems.items()]
    found += [f"misbehaves: {offender}" for offender in getattr(node.info.facts, "offenders", ())]
    if node.state == "unhealthy" and not found:
        found.append("unhealthy")
    if node.heard and now - node.heard > SILENT_AFTER:
        found.append(f"silent for {now - node.heard:.0f} s")
    if (lag := node.values.get("loop_lag_ms", 0.0)) >= LAG_SHOWN:
        found.append(f"its event loop stands still for {lag:.0f} ms at a time")
    return found
