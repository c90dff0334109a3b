import itertools

import pytest

from common.machine import LEAN_SHARE, LEAN_WORKER_MB, Machine, read_machine, sizes


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
