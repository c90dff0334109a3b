"""Counters, gauges and histograms of this process, for `/metrics`. Names start with `proofmesh_` and follow Prometheus'
conventions: base units as suffixes (`_seconds`, `_bytes`, `_ratio`), and labels from closed sets of values.

Declaring the same name twice returns the same metric, so each module can declare the metrics that it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics import MetricWrapperBase

PREFIX = "proofmesh_"

LATENCY_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600)
"""Bucket limits in seconds: from a request to the broker (0.2 ms) to a verification or a snippet that takes minutes."""

ATTEMPT_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 180, 600, 1800, 3600, 7200)
"""Bucket limits in seconds for attempts and their parts: attempts may take hours."""

disable_created_metrics()  # type: ignore[no-untyped-call]  # when each series began: a fifth of a page, asked by nobody

M = TypeVar("M", bound=MetricWrapperBase)


CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""Of a page: the text format with its version."""


class Metrics:
    """A set of metrics with one page. A process uses `METRICS`; tests may have their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._metrics: dict[str, MetricWrapperBase] = {}
        self.before_render: list[Callable[[], None]] = []
        """Called before each page, for numbers that nobody counts meanwhile."""

    def describe(self, **facts: str) -> None:
        """Show the process as `target_info`, OpenMetrics' name for it: its run, role and version as labels."""
        self.registry.set_target_info(facts)

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
        for look in self.before_render:
            look()
        return generate_latest(self.registry)

    def find(self, name: str) -> MetricWrapperBase | None:
        """A metric that was declared; None: it was not."""
        return self._metrics.get(f"{PREFIX}{name}")

    def values(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a gauge by its labels; none if it was not declared."""
        found = self.find(name)
        samples = [] if found is None else [each for family in found.collect() for each in family.samples]
        return {tuple(sample.labels.values()): sample.value for sample in samples}

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


# --- GPUs -------------------------------------------------------------------------------------------------------------


def show_gpus(metrics: Metrics = METRICS) -> bool:
    """Show the machine's NVIDIA GPUs with these metrics, if there are some and the package nvidia-ml-py is installed.

    Returns whether it does. For nodes that compute on GPUs. What a GPU or its mode (MIG) does not tell is left out.
    """
    try:
        import pynvml as nvml

        nvml.nvmlInit()
        gpus = {str(n): nvml.nvmlDeviceGetHandleByIndex(n) for n in range(nvml.nvmlDeviceGetCount())}
    except ImportError:
        return False
    except nvml.NVMLError:  # no driver
        return False
    # 1. What is shown, in base units, and how NVML tells it.
    gauges: dict[Gauge, Callable[[Any], float]] = {
        metrics.gauge("gpu_busy_ratio", "Share of the last second in which the GPU computed", ["gpu"]): (
            lambda gpu: nvml.nvmlDeviceGetUtilizationRates(gpu).gpu / 100
        ),
        metrics.gauge("gpu_memory_used_bytes", "Memory of a GPU that is in use, by all processes", ["gpu"]): (
            lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).used
        ),
        metrics.gauge("gpu_memory_bytes", "Memory that a GPU has", ["gpu"]): (
            lambda gpu: nvml.nvmlDeviceGetMemoryInfo(gpu).total
        ),
        metrics.gauge("gpu_temperature_celsius", "Temperature of a GPU", ["gpu"]): (
            lambda gpu: nvml.nvmlDeviceGetTemperature(gpu, nvml.NVML_TEMPERATURE_GPU)
        ),
        metrics.gauge("gpu_power_watts", "Power that a GPU draws", ["gpu"]): (
            lambda gpu: nvml.nvmlDeviceGetPowerUsage(gpu) / 1000
        ),
    }
    energy = metrics.counter("gpu_energy_joules", "Energy that a GPU has used since its driver was loaded", ["gpu"])

    # 2. Asked for each page. A series begins when there is a first value.
    def look() -> None:
        for number, gpu in gpus.items():
            for gauge, ask in gauges.items():
                with suppress(nvml.NVMLError):
                    value = ask(gpu)
                    gauge.labels(number).set(value)
            with suppress(nvml.NVMLError):
                joules = nvml.nvmlDeviceGetTotalEnergyConsumption(gpu) / 1000
                followed.setdefault(number, Followed(energy.labels(number))).follow(joules)

    followed: dict[str, Followed] = {}
    metrics.before_render.append(look)
    return bool(gpus)


def gpu_values(metrics: Metrics = METRICS) -> dict[str, float]:
    """Of the GPUs that `show_gpus` shows, for heartbeats, from 0 to 1: how busy the busiest is (`gpu_share`), and how
    full the memory of the fullest (`gpu_memory_share`). Without GPUs: nothing. It asks the driver, in milliseconds."""
    if metrics.find("gpu_busy_ratio") is None:
        return {}
    for look in metrics.before_render:
        look()
    busy, used, whole = (metrics.values(f"gpu_{name}") for name in ("busy_ratio", "memory_used_bytes", "memory_bytes"))
    full = [used[gpu] / size for gpu, size in whole.items() if size and gpu in used]
    shares = {"gpu_share": busy.values(), "gpu_memory_share": full}
    return {name: round(max(of), 3) for name, of in shares.items() if of}
