"""The measurement of the machine's speed."""

from __future__ import annotations

import os

import pytest

from common.machine import measure


@pytest.mark.process
def test_every_core_counts_its_rounds_and_one_core_is_less_than_all() -> None:
    cores = sorted(os.sched_getaffinity(0))
    everything = measure(0.1)
    assert everything.cores == len(cores) and everything.rounds > 0 and everything.share > 0
    try:
        os.sched_setaffinity(0, cores[:1])
        assert measure(0.1).cores == 1
    finally:
        os.sched_setaffinity(0, cores)
