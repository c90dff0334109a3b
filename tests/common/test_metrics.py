"""Metrics: one of each name, in Prometheus' text and by its conventions."""

from __future__ import annotations

import pytest

from common.life.metrics import Followed, Metrics
from tests import prometheus


def test_a_metric_is_the_same_wherever_it_is_asked_for() -> None:
    metrics = Metrics()
    metrics.counter("attempts", "Attempts").inc()
    metrics.counter("proofmesh_attempts", "Attempts").inc(2)
    metrics.gauge("searches", "Searches", ["purpose"]).labels("train").set(5)
    metrics.histogram("lean_seconds", "Lean").observe(0.2)
    text = metrics.render().decode()
    assert "proofmesh_attempts_total 3.0" in text
    assert 'proofmesh_searches{purpose="train"} 5.0' in text
    assert 'proofmesh_lean_seconds_bucket{le="0.25"} 1.0' in text


def test_a_name_is_not_two_kinds_of_metric() -> None:
    metrics = Metrics()
    metrics.counter("things", "Things")
    with pytest.raises(ValueError, match="is a Counter, but was requested as a Gauge"):
        metrics.gauge("things", "Things")


def test_every_metric_that_the_code_declares_keeps_prometheus_conventions() -> None:
    assert prometheus.problems(prometheus.every_metric()) == []


@pytest.mark.process
def test_promtool_finds_nothing_in_any_metric() -> None:
    assert prometheus.promtool(prometheus.every_metric()) == ""


@pytest.mark.process
def test_promtool_hears_what_is_against_the_conventions() -> None:
    metrics = Metrics()
    metrics.gauge("workers_rss_mb", "Memory")
    assert "abbreviated units" in prometheus.promtool(metrics.render().decode())


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


def test_a_total_that_begins_again_is_counted_on() -> None:
    metrics = Metrics()
    followed = Followed(metrics.counter("drops", "Drops"))
    for total in (2, 5, 5, 1, 4):
        followed.follow(total)
    assert "proofmesh_drops_total 9.0" in metrics.render().decode()


def test_histograms_tell_attempts_of_minutes_apart() -> None:
    metrics = Metrics()
    histogram = metrics.histogram("check_seconds", "Checks")
    for seconds in (50, 170):
        histogram.observe(seconds)
    text = metrics.render().decode()
    assert 'proofmesh_check_seconds_bucket{le="60.0"} 1.0' in text
    assert 'proofmesh_check_seconds_bucket{le="180.0"} 2.0' in text
