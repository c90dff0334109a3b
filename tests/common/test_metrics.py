"""Metrics: one of each name, in Prometheus' text."""

from __future__ import annotations

import pytest

from common.metrics import Metrics


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
