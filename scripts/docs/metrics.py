"""Generates `docs/metrics.md`: every metric that nodes show on `/metrics`."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.life.metrics import ATTEMPT_BUCKETS, LATENCY_BUCKETS, PREFIX
from scripts.docs import fields

ROOT = Path(__file__).parents[2]

INTRODUCTION = """\
# Metrics

Every node serves `/metrics` in Prometheus' text format, and `/healthz` as JSON. The address is in the node's log and in
the registry (`proofmesh status`). `[node] metrics_port` sets the port, and `[node] host` the address (default
loopback). `proofmesh serve` also has `/metrics`, on the port of its API.

`proofmesh targets` lists the addresses for Prometheus, with the labels `run`, `role` and `instance`; `scripts/deploy/`
has a configuration, alerts and dashboards ([operations.md](operations.md#prometheus-and-grafana)).

Names and values follow Prometheus' conventions, as `promtool check metrics` reads them: counters end in `_total` and
begin at 0 with the process; times are in seconds, sizes in bytes, shares from 0 to 1 (`_ratio`); a label has one of a
fixed set of values, so a restarted node adds none (`channel` is a name from [protocol.md](protocol.md), without the
run's). Histograms of seconds have the buckets {buckets};
those of attempts {attempts}. The mean is `rate(..._sum) / rate(..._count)`.
Every node also shows `process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_open_fds`,
`process_start_time_seconds` and the like, of its own process without its children, and `target_info`, which has its
run, role and version as labels. `gpu_...` is shown by inference nodes and learners, where NVML is (the extra `gpu`).
Heartbeats carry the most important of these numbers, so the monitor shows them without Prometheus.
"""

KINDS = {"counter": "counter", "gauge": "gauge", "histogram": "histogram", "CounterMetricFamily": "counter"}
"""Kinds of metrics, by the function that declares them."""

SHOWN_BY = {
    "common": "every node",
    "node.inference": "inference",
    "node.learner": "learner",
    "node.lean": "lean-proxy, serve",
    "node.lean_proxy": "lean-proxy",
    "node.llm": "inference, prover, and tools",
    "node.prover": "prover",
    "node.serve": "serve",
    "node.stp": "stp",
    "ui": "ui",
    "broker": "broker",
}
"""The roles and tools that show a package's metrics."""


class UnknownPackage(LookupError):
    """A package that declares metrics is missing in SHOWN_BY."""


@dataclass(frozen=True)
class Metric:
    """One metric that is declared in the code."""

    name: str
    """Name with prefix, and with the suffix `_total` for a counter."""
    kind: str
    labels: tuple[str, ...]
    help: str
    package: str
    file: str


def page() -> str:
    """The page as Markdown."""
    by_package: dict[str, dict[str, Metric]] = {}
    for metric in declared():
        by_package.setdefault(metric.package, {})[metric.name] = metric
    parts = [INTRODUCTION.format(buckets=_listed(LATENCY_BUCKETS), attempts=_listed(ATTEMPT_BUCKETS))]
    for package in sorted(by_package):
        if package not in SHOWN_BY:
            raise UnknownPackage(f"{package} declares metrics: add it to SHOWN_BY in scripts/docs/metrics.py")
        parts += [f"## {SHOWN_BY[package].capitalize()} (`{package}`)\n", _table(list(by_package[package].values()))]
    return "\n".join(parts).rstrip() + "\n"


def _listed(buckets: Sequence[float]) -> str:
    return ", ".join(f"{each:g}" for each in buckets)


def declared() -> Iterator[Metric]:
    """All metrics that the code declares, by file."""
    for folder in ("broker", "common", "node", "ui"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            text = file.read_text(encoding="utf-8")
            if not any(f"{kind}(" in text for kind in KINDS):
                continue  # skipped, since parsing every file takes seconds
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and (metric := _metric(node, file)) is not None:
                    yield metric


def _metric(call: ast.Call, file: Path) -> Metric | None:
    function = call.func
    kind = KINDS.get(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""), "")
    if not kind or len(call.args) < 2 or not all(_text(each) for each in call.args[:2]):
        return None
    name = _text(call.args[0]).removeprefix(PREFIX)
    labels = call.args[2] if len(call.args) > 2 else next((k.value for k in call.keywords if k.arg == "labels"), None)
    names = tuple(_text(each) for each in labels.elts) if isinstance(labels, (ast.List, ast.Tuple)) else ()
    path = file.relative_to(ROOT)
    package = ".".join(path.parts[:2]) if path.parts[0] == "node" else path.parts[0]
    full = PREFIX + name + ("_total" if kind == "counter" else "")
    return Metric(full, kind, names, _text(call.args[1]), package, str(path))


def _text(node: ast.expr) -> str:
    """The text of a string constant; empty for other expressions."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _table(metrics: list[Metric]) -> str:
    lines = ["| metric | type | labels | meaning | declared in |", "|---|---|---|---|---|"]
    for each in sorted(metrics, key=lambda metric: metric.name):
        labels = ", ".join(f"`{label}`" for label in each.labels)
        lines.append(f"| `{each.name}` | {each.kind} | {labels} | {fields.cell(each.help)} | `{each.file}` |")
    return "\n".join(lines) + "\n"
