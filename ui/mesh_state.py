"""What the monitor knows about the mesh: a pure fold of telemetry messages, with bounded memory.

Counters in heartbeats are totals of one process. A node that leaves takes its counters with it; they are added to what
has departed: the totals of the mesh never go down when a prover is killed.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

import msgspec

from common.evaluations import Evaluated
from common.lean import outcome_values
from common.messages import Heartbeat, LogRecord, NodeInfo, Point, ProofFound

OUTCOMES = tuple(outcome_values({}))
"""Values that count what Lean said of tactics, by kind."""

COUNTERS = {
    "prover": ("attempts", "roots_solved", "simulations", "expansions", *OUTCOMES),
    "lean-proxy": ("candidates", "proofs_accepted", "proofs_rejected", "worker_restarts", "failures", *OUTCOMES),
    "inference": ("states", "tokens"),
    "learner": ("attempts_dispatched", "results", "proofs_verified", "transitions", "train_steps"),
}
"""Heartbeat values that only grow, by role; everything else is a gauge."""

RATES = ("prover.expansions", "lean-proxy.candidates", "inference.states")
"""Totals whose speed is drawn."""

RATE_WINDOW = 10.0
"""Seconds over which a speed is taken: long enough that a pause for a training step does not read as a stop."""

GONE_AFTER = 60.0
"""Seconds for which a node that left is still listed, so that a person sees that it was there."""

KNOWN_POINTS = 40_000
"""Points by which repeated ones are known: twice what the broker's history holds, which may bring them all again."""


EVALUATIONS = 2000
"""Evaluations of a run that are shown: more than a chart has pixels across."""


@dataclass
class NodeView:
    """One node as the page shows it."""

    info: NodeInfo
    values: dict[str, float] = field(default_factory=dict)
    state: str = "starting"
    seen: float = 0.0
    """Unix time of the last heartbeat or registry entry."""
    gone_since: float | None = None


class MeshState:
    """Fold of everything the monitor has heard. Times are Unix seconds and come from the caller."""

    def __init__(self, *, logs: int = 400, proofs: int = 100, points: int = 4000, speeds: int = 3600) -> None:
        self.nodes: dict[str, NodeView] = {}
        self.logs: deque[LogRecord] = deque(maxlen=logs)
        self.proofs: deque[ProofFound] = deque(maxlen=proofs)
        self.points: deque[Point] = deque(maxlen=points)
        self.speeds: deque[dict[str, float]] = deque(maxlen=speeds)
        self._known_points: OrderedDict[tuple[float, int], None] = OrderedDict()
        self.evaluations: OrderedDict[tuple[float, int], dict[str, Any]] = OrderedDict()
        """By time and training step. Kept apart from the points, of which a long run has too many to keep all."""
        self._departed: Counter[str] = Counter()
        self._recent: deque[tuple[float, dict[str, float]]] = deque()

    # --- what arrives -----------------------------------------------------------------------------------------------

    def see_registry(self, infos: list[NodeInfo], now: float) -> None:
        """Take over the registry: new nodes appear, missing ones are marked as gone and later dropped."""
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

    def see_heartbeat(self, heartbeat: Heartbeat) -> None:
        """Heartbeats of nodes that the registry has not shown yet are ignored; they come again in a second."""
        node = self.nodes.get(heartbeat.node_id)
        if node is None or node.gone_since is not None:
            return
        node.values, node.state, node.seen = heartbeat.values, heartbeat.state, heartbeat.time

    def see_log(self, record: LogRecord) -> None:
        self.logs.append(record)

    def see_proof(self, proof: ProofFound) -> bool:
        """True if the proof is new: it is shown once, also when a restarted learner announces it again."""
        new = all(proof.attempt_id != known.attempt_id for known in self.proofs)
        if new:
            self.proofs.append(proof)
        return new

    def see_point(self, point: Point) -> bool:
        """True if the point is new: the run's file, the broker's history and telemetry may all bring it."""
        known = (point.time, point.step)
        new = known not in self._known_points
        if new:
            self._known_points[known] = None
            self.points.append(point)
            if (evaluation := evaluation_of(point)) is not None:
                self.see_evaluation(evaluation)
            if len(self._known_points) > KNOWN_POINTS:
                self._known_points.popitem(last=False)
        return new

    def see_evaluation(self, evaluation: dict[str, Any]) -> bool:
        """True if the evaluation is new: the run's files and its points may both bring it."""
        known = (evaluation["time"], evaluation["step"])
        new = known not in self.evaluations
        if new:
            self.evaluations[known] = evaluation
            if len(self.evaluations) > EVALUATIONS:
                self.evaluations.popitem(last=False)
        return new

    def tick(self, now: float) -> None:
        """Once a second: note the totals, so that speeds can be taken."""
        totals = self.totals()
        self._recent.append((now, totals))
        while len(self._recent) > 2 and now - self._recent[0][0] > RATE_WINDOW:
            self._recent.popleft()
        self.speeds.append({"time": now, **self.rates()})

    # --- what the page shows ----------------------------------------------------------------------------------------

    def totals(self) -> dict[str, float]:
        """Counters of the whole mesh, `role.name` -> total over living and departed nodes."""
        totals = Counter(self._departed)
        for node in self.nodes.values():
            totals.update(_counters(node))
        return dict(totals)

    def rates(self) -> dict[str, float]:
        """Speeds per second over the last RATE_WINDOW seconds."""
        if len(self._recent) < 2:
            return dict.fromkeys(RATES, 0.0)
        (start, before), (end, after) = self._recent[0], self._recent[-1]
        seconds = max(end - start, 1e-9)
        return {name: max(0.0, after.get(name, 0.0) - before.get(name, 0.0)) / seconds for name in RATES}

    def overview(self, now: float) -> dict[str, Any]:
        """What changes every second: nodes, totals, speeds."""
        order = sorted(self.nodes.values(), key=lambda node: (node.info.role, node.info.started))
        return {
            "time": now,
            "nodes": [_node(node, now) for node in order],
            "totals": self.totals(),
            "rates": self.rates(),
        }

    def history(self) -> dict[str, Any]:
        """What a page needs once, when it opens."""
        return {
            "logs": msgspec.to_builtins(list(self.logs)),
            "proofs": msgspec.to_builtins(list(self.proofs)),
            "points": msgspec.to_builtins(list(self.points)),
            "evaluations": sorted(self.evaluations.values(), key=lambda each: float(each["time"])),
            "speeds": list(self.speeds),
        }

    def _drop(self, node_id: str) -> None:
        self._departed.update(_counters(self.nodes.pop(node_id)))


def evaluation_of(point: Point) -> dict[str, Any] | None:
    """The evaluation that a point tells of, as the page gets it. One of an older learner has its solve rate alone."""
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


def evaluation_shown(found: Evaluated) -> dict[str, Any]:
    """The same of a line of a run's evaluations, which has a label."""
    names = ("time", "step", "label", "beside", "statements", "solved", "undecided", "simulations")
    return {name: getattr(found, name) for name in names} | {"rate": found.solve_rate}


def _counters(node: NodeView) -> dict[str, float]:
    role = node.info.role
    return {f"{role}.{name}": node.values[name] for name in COUNTERS.get(role, ()) if name in node.values}


def _node(node: NodeView, now: float) -> dict[str, Any]:
    return {
        "id": node.info.node_id,
        "role": node.info.role,
        "host": node.info.host,
        "pid": node.info.pid,
        "version": node.info.version,
        "state": node.state,
        "uptime": max(0.0, now - node.info.started),
        "silent": max(0.0, now - node.seen),
        "capacity": node.info.capacity,
        "values": node.values,
    }
