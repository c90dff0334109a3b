import itertools
import sys
from types import SimpleNamespace

import pytest

from common.life.metrics import Followed, Metrics, gpu_values, show_gpus
from common.machine import LEAN_SHARE, LEAN_WORKER_MB, Machine, read_machine, sizes
from tests import prometheus


def test_a_metric_is_the_same_wherever_it_is_asked_for() -> None:
    metrics = Metrics()
    metrics.counter("attempts", "Attempts").inc()
    metrics.counter("proofmesh_attempts", "Attempts").inc(2)
    metrics.gauge("searches", "Searches", ["purpose"]).labels("train").set(5)
    histogram = metrics.histogram("lean_seconds", "Lean")
    for seconds in (0.2, 50, 170):
        histogram.observe(seconds)
    text = metrics.render().decode()
    assert "proofmesh_attempts_total 3.0" in text and 'proofmesh_searches{purpose="train"} 5.0' in text
    for bound, count in (("0.25", 1), ("60.0", 2), ("180.0", 3)):  # attempts of minutes are told apart
        assert f'proofmesh_lean_seconds_bucket{{le="{bound}"}} {count}.0' in text
    with pytest.raises(ValueError, match="is a Counter, but was requested as a Gauge"):
        metrics.gauge("attempts", "Attempts")
    # A total that begins again is counted on.
    followed = Followed(metrics.counter("drops", "Drops"))
    for total in (2, 5, 5, 1, 4):
        followed.follow(total)
    assert "proofmesh_drops_total 9.0" in metrics.render().decode()


def test_every_metric_that_the_code_declares_keeps_prometheus_conventions() -> None:
    assert prometheus.problems(prometheus.every_metric()) == []


@pytest.mark.process
def test_promtool_finds_nothing_in_any_metric_and_hears_what_is_against_the_conventions() -> None:
    assert prometheus.promtool("check", "metrics", text=prometheus.every_metric()) == ""
    metrics = Metrics()
    metrics.gauge("workers_rss_mb", "Memory")
    assert "abbreviated units" in prometheus.promtool("check", "metrics", text=metrics.render().decode())


@pytest.mark.parametrize(
    ("kind", "name", "help", "problem"),
    [
        ("gauge", "cache_hits", "Hits", "a gauge of what only grows"),
        ("gauge", "hits_total", "Hits", "`_total` is for counters"),
        ("gauge", "memory_mb", "Memory", "no base unit"),
        ("gauge", "seconds_of_work", "Work", "its unit is not at its end"),
        ("histogram", "lag", "Lag", "a histogram without a unit"),
        ("counter", "things", " ", "no help"),
        ("gauge", "queue_gauge", "Queue", "its type in its name"),
    ],
)
def test_what_is_against_the_conventions_is_seen(kind: str, name: str, help: str, problem: str) -> None:
    metrics = Metrics()
    getattr(metrics, kind)(name, help)
    assert problem in str(prometheus.problems(metrics.render().decode()))


class FakeNvml:
    """A machine with two GPUs, as NVML describes it; the second is in MIG mode and does not say how busy it is."""

    NVMLError = type("NVMLError", (Exception,), {})
    NVML_TEMPERATURE_GPU = 0
    millijoules = 5_000_000

    nvmlInit = nvmlDeviceGetCount = staticmethod(lambda: 2)
    nvmlDeviceGetHandleByIndex = staticmethod(lambda index: index)
    nvmlDeviceGetMemoryInfo = staticmethod(lambda gpu: SimpleNamespace(used=3 << 30, total=80 << 30))
    nvmlDeviceGetTemperature = staticmethod(lambda gpu, sensor: 41)
    nvmlDeviceGetPowerUsage = staticmethod(lambda gpu: 123_500)

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> SimpleNamespace:
        if gpu:
            raise self.NVMLError
        return SimpleNamespace(gpu=37)

    def nvmlDeviceGetTotalEnergyConsumption(self, gpu: int) -> int:
        return self.millijoules


def test_gpus_are_shown_in_base_units_and_what_one_does_not_tell_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml, metrics = FakeNvml(), Metrics()
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert show_gpus(metrics)
    text = metrics.render().decode()
    shown = ('busy_ratio{gpu="0"} 0.37', 'memory_used_bytes{gpu="1"} 3.221225472e+09', 'power_watts{gpu="0"} 123.5')
    assert all(f"proofmesh_gpu_{line}" in text for line in shown), text
    assert 'proofmesh_gpu_energy_joules_total{gpu="1"} 5000.0' in text and 'busy_ratio{gpu="1"}' not in text
    assert prometheus.problems(text) == []
    assert gpu_values(metrics) == {"gpu_share": 0.37, "gpu_memory_share": round(3 / 80, 3)}
    assert gpu_values(Metrics()) == {}
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert not show_gpus(Metrics()), "a machine without NVML"


def test_two_cores_get_what_the_documentation_says() -> None:
    chosen = sizes(Machine(cores=2, memory_mb=8000))
    assert (chosen.lean_workers, chosen.searches) == (2, 8)
    assert (chosen.inference_threads, chosen.trainer_ranks, chosen.trainer_threads) == (1, 1, 2)


def test_nothing_is_zero_and_lean_stays_within_memory() -> None:
    for cores, memory_mb, gpus in itertools.product((1, 2, 3, 16, 96, 256), (1000, 4000, 24_000, 500_000), (0, 1, 8)):
        chosen = sizes(Machine(cores, memory_mb, gpus))
        assert 1 <= chosen.lean_workers <= max(2, cores)
        assert chosen.lean_workers == 1 or chosen.lean_workers * LEAN_WORKER_MB <= memory_mb * LEAN_SHARE
        assert min(chosen.searches, chosen.verifications, chosen.inference_threads, chosen.trainer_threads) >= 1
        assert chosen.trainer_ranks == max(1, gpus)
        assert chosen.trainer_threads * chosen.trainer_ranks <= max(cores, chosen.trainer_ranks)


def test_visible_devices_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,3")
    assert read_machine().gpus == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    machine = read_machine()
    assert machine.gpus == 0 and machine.cores >= 1 and machine.memory_mb > 100
