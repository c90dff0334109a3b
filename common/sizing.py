"""Sizes threads, workers and memory to the machine. Pure: `sizes(machine)`; `read_machine()` looks at this one.

Settings that are 0 mean "sized to the machine" and are filled in from here; every role logs what was chosen.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LEAN_WORKER_MB = 300
"""Resident memory of a pocket Lean worker at work (measured: 130 to 190 MB), with some room."""

LEAN_SHARE = 0.5
"""Share of the machine's memory that all Lean workers together may take; the rest is for everybody else."""

SEARCHES_PER_CORE = 4
"""A search waits for inference and Lean nine tenths of its time, so several share a core (not tuned)."""

MOST_SEARCHES = 64
"""Of one prover, whatever the machine: one event loop feeds about this many before it becomes the limit itself."""

MOST_INFERENCE_THREADS = 8
"""A model of a few million parameters gains nothing from more threads; larger ones run on a GPU."""


@dataclass(frozen=True)
class Machine:
    """What this process may use: cores (affinity and control group counted), memory, CUDA devices."""

    cores: int
    memory_mb: int
    gpus: int = 0


@dataclass(frozen=True)
class Sizes:
    """What each role takes of the machine when nobody says otherwise and all roles run on it."""

    lean_workers: int
    verifications: int
    """Proofs verified at once, by one lean-proxy."""
    searches: int
    """Searches at once in one prover."""
    inference_threads: int
    trainer_ranks: int
    trainer_threads: int
    """Threads of each rank. Inference is paused while the trainer works, so it may take every core."""

    def describe(self) -> str:
        """The choice in one line."""
        return (
            f"{self.lean_workers} Lean workers, {self.verifications} verification(s), {self.searches} searches, "
            f"{self.inference_threads} thread(s) for inference, {self.trainer_ranks} rank(s) "
            f"of {self.trainer_threads} thread(s) for training"
        )


def sizes(machine: Machine) -> Sizes:
    """Sizes for all roles on one machine. On 2 cores: 2 Lean workers, 8 searches, 1 inference thread, 2 to train."""
    cores = max(1, machine.cores)
    # Two workers even on few cores, so that a slow tactic does not stop everything; one core is left to inference.
    workers = min(max(2, cores - 1), int(machine.memory_mb * LEAN_SHARE / LEAN_WORKER_MB))
    ranks = max(1, machine.gpus)
    return Sizes(
        lean_workers=max(1, workers),
        verifications=max(1, cores // 2),
        searches=min(MOST_SEARCHES, SEARCHES_PER_CORE * cores),
        # On a CPU inference takes half the cores: Lean is about the other half of every expansion.
        inference_threads=1 if machine.gpus else max(1, min(cores // 2, MOST_INFERENCE_THREADS)),
        trainer_ranks=ranks,
        trainer_threads=max(1, cores // ranks),
    )


def read_machine() -> Machine:
    """This machine, as far as this process may use it."""
    return Machine(cores=_cores(), memory_mb=_memory_mb(), gpus=len(gpu_names()))


def _cores() -> int:
    """Cores in the affinity mask, or fewer if the control group's quota (cpu.max: "quota period") says so."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _read("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.strip().isdigit():
        allowed = min(allowed, max(1, int(quota) // int(period)))
    return allowed


def _memory_mb() -> int:
    """Memory of the machine, or of the control group if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _read("/sys/fs/cgroup/memory.max").strip()
    return (min(total, int(limit)) if limit.isdigit() else total) // 1_000_000


def gpu_names() -> list[str]:
    """NVIDIA devices that this process may use, as CUDA_VISIBLE_DEVICES names them: from there, else all of the
    driver's. Without importing torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [device.strip() for device in visible.split(",") if device.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables of a process that computes with so many threads on cores that others use, too.

    Its threads wait for each other for some microseconds, then they sleep. Spinning without an end is ten to forty
    times slower when anything else runs on the same cores, and sleeping at once costs half as much again (LOG.md).
    """
    return {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "20000"}
