"""Counters, gauges and histograms of this process, for `/metrics`. Names start with `proofmesh_`.

Declaring the same name twice returns the same metric, so each module can declare the metrics that it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics import MetricWrapperBase

PREFIX = "proofmesh_"

LATENCY_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bucket limits in seconds: from a request to the broker (0.2 ms) to a Lean candidate that times out (10 s and
more)."""

M = TypeVar("M", bound=MetricWrapperBase)


class Metrics:
    """A set of metrics with one page. A process uses `METRICS`; tests may have their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._metrics: dict[str, MetricWrapperBase] = {}

    def counter(self, name: str, help: str, labels: Sequence[str] = ()) -> Counter:
        """A number that only increases. Prometheus adds `_total` to its name."""
        return self._get(Counter, name, help, labels)

    def gauge(self, name: str, help: str, labels: Sequence[str] = ()) -> Gauge:
        """A number that goes up and down."""
        return self._get(Gauge, name, help, labels)

    def histogram(
        self, name: str, help: str, labels: Sequence[str] = (), buckets: Sequence[float] = LATENCY_BUCKETS
    ) -> Histogram:
        """A distribution of values, by default of seconds."""
        return self._get(Histogram, name, help, labels, buckets=tuple(buckets))

    def render(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return generate_latest(self.registry)

    def _get(self, kind: type[M], name: str, help: str, labels: Sequence[str], **options: Any) -> M:
        name = name if name.startswith(PREFIX) else PREFIX + name
        metric = self._metrics.get(name)
        if metric is None:
            metric = self._metrics[name] = kind(name, help, labels, registry=self.registry, **options)
        if not isinstance(metric, kind):
            raise ValueError(f"metric {name} is a {type(metric).__name__}, but was requested as a {kind.__name__}")
        return metric


METRICS = Metrics()
"""The metrics of this process."""

counter = METRICS.counter
gauge = METRICS.gauge
histogram = METRICS.histogram
