"""Counters, gauges and histograms of this process, for `/metrics`. Names start with `proofmesh_` and follow Prometheus'
conventions: base units as suffixes (`_seconds`, `_bytes`, `_ratio`), and labels from closed sets of values.

Declaring the same name twice returns the same metric, so each module can declare the metrics that it uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase

PREFIX = "proofmesh_"

LATENCY_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600)
"""Bucket limits in seconds: from a request to the broker (0.2 ms) to a verification or a snippet that takes minutes."""

M = TypeVar("M", bound=MetricWrapperBase)


class Metrics:
    """A set of metrics with one page. A process uses `METRICS`; tests may have their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
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


class Followed:
    """A counter of what something else counts: another program, or an object that is made anew now and then."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._last = 0.0

    def follow(self, total: float) -> None:
        """Count what was added since the last total. A smaller total than the last one has begun again at 0."""
        self._counter.inc(total - self._last if total >= self._last else total)
        self._last = total


METRICS = Metrics()
"""The metrics of this process."""

counter = METRICS.counter
gauge = METRICS.gauge
histogram = METRICS.histogram
