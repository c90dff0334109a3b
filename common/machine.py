"""This machine: its resources, the numbers of threads, workers and searches that suit it, its pace, its free ports.

`read_machine()` measures it, and `sizes(machine)` chooses. A setting of 0 means "sized to the machine" and is replaced
by these numbers. Every role logs its numbers.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EVERY_ADDRESS = ("0.0.0.0", "::", "")
"""Addresses to listen on that mean all addresses of the machine."""

LEAN_WORKER_MB = 300
"""Resident memory of a busy pocket Lean worker (measured: 130 to 190 MB), with some reserve."""

LEAN_SHARE = 0.5
"""Share of the machine's memory for all Lean workers together; the rest is for all other processes."""

SEARCHES_PER_CORE = 4
"""A search waits for inference and Lean nine tenths of its time, so several share a core (not tuned)."""

MOST_SEARCHES = 64
"""Most searches of one prover on any machine. With more, its single event loop becomes the bottleneck."""

MOST_INFERENCE_THREADS = 8
"""A model of a few million parameters gains nothing from more threads. Larger models run on a GPU."""


@dataclass(frozen=True)
class Machine:
    """Resources that this process may use: cores (limited by affinity and control group), memory, CUDA devices."""

    cores: int
    memory_mb: int
    gpus: int = 0


@dataclass(frozen=True)
class Sizes:
    """The default sizes of each role if all roles run on the machine."""

    lean_workers: int
    verifications: int
    """Concurrent verifications of one lean-proxy."""
    searches: int
    """Concurrent searches of one prover."""
    inference_threads: int
    trainer_ranks: int
    trainer_threads: int
    """Threads of each rank. Inference is paused while the trainer works, so it may take every core."""

    def describe(self) -> str:
        """All sizes in one line."""
        return (
            f"{self.lean_workers} Lean workers, {self.verifications} verification(s), {self.searches} searches, "
            f"{self.inference_threads} thread(s) for inference, {self.trainer_ranks} rank(s) "
            f"of {self.trainer_threads} thread(s) for training"
        )


def sizes(machine: Machine) -> Sizes:
    """Sizes for all roles on one machine. On 2 cores: 2 Lean workers, 8 searches, 1 inference thread, 2 to train."""
    cores = max(1, machine.cores)
    # Two workers even on few cores, so that a slow tactic does not stop everything. One core is left for inference.
    workers = min(max(2, cores - 1), int(machine.memory_mb * LEAN_SHARE / LEAN_WORKER_MB))
    ranks = max(1, machine.gpus)
    return Sizes(
        lean_workers=max(1, workers),
        verifications=max(1, cores // 2),
        searches=min(MOST_SEARCHES, SEARCHES_PER_CORE * cores),
        # On a CPU, inference gets half the cores: Lean takes about half of the time of every expansion.
        inference_threads=1 if machine.gpus else max(1, min(cores // 2, MOST_INFERENCE_THREADS)),
        trainer_ranks=ranks,
        trainer_threads=max(1, cores // ranks),
    )


def read_machine() -> Machine:
    """The resources of this machine that this process may use."""
    return Machine(cores=_cores(), memory_mb=_memory_mb(), gpus=len(gpu_names()))


def _cores() -> int:
    """Cores in the affinity mask, limited by the control group's quota (cpu.max: "quota period")."""
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
    """NVIDIA devices that this process may use: those in CUDA_VISIBLE_DEVICES if it is set, else all devices of the
    driver. Does not import torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [device.strip() for device in visible.split(",") if device.strip() not in ("", "-1")]
    return [str(number) for number, _ in enumerate(Path("/proc/driver/nvidia/gpus").glob("*"))]


def gpu_id(device: str) -> str:
    """The id of a GPU by torch's name for it (`cuda`, `cuda:1`), the same in all processes and on all machines; empty
    for a CPU, and for a GPU that is not there, of which whoever computes on it complains. Imports torch only for a GPU.
    """
    if not device.startswith("cuda"):
        return ""
    import torch

    try:
        return f"GPU-{torch.cuda.get_device_properties(device).uuid}"
    except (AssertionError, RuntimeError):
        return ""


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def own_host() -> str:
    """This machine, as it is named in the ids of its nodes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname().split(".")[0])[:24].strip("-") or "host"


@functools.cache  # nodes name it in every bundle of spans
def own_version() -> str:
    """The version of the installed package; in a checkout that is not installed, from pyproject.toml."""
    import importlib.metadata
    import tomllib

    try:
        return importlib.metadata.version("proofmesh")
    except importlib.metadata.PackageNotFoundError:
        text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
        return str(tomllib.loads(text)["project"]["version"])


SHARED_CORES = {"OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "20000"}
"""Environment variables for a process that computes on cores that it shares with others. Threads that wait for each
other spin for some microseconds, then sleep. Spinning without limit is six to forty times slower when other programs
run on the same cores, and sleeping at once takes one and a half times as long (LOG.md)."""


def share_cores() -> None:
    """Let the threads of this process and of its children sleep soon, unless the environment says how they wait. Call
    it before torch is imported, which reads this once."""
    for name, value in SHARED_CORES.items():
        os.environ.setdefault(name, value)


def thread_environment(threads: int) -> dict[str, str]:
    """Environment variables for a process that computes with `threads` threads."""
    return {"OMP_NUM_THREADS": str(threads), **SHARED_CORES}


# ----------------------------------------------------------------------------------------------------------------------
# Measures how fast this machine is right now, relative to a reference machine.
#
# One process per core counts how often it finishes a fixed piece of work. Few cores, slow cores, and cores that other
# programs use all give a lower count.

SECONDS = 1.5
"""Seconds of counting: several time slices of the scheduler."""

REFERENCE = 19_000.0
"""Rounds per second on two idle cores of the machine that the demo's plan was measured on."""

PROGRAM = """
import sys, time
end = time.monotonic() + float(sys.argv[1])
rounds = 0
while time.monotonic() < end:
    table = {}
    for number in range(600):
        table[number * 7919 % 409] = number
    text = "".join(map(str, sorted(table.values())))
    rounds += len(text) > 0
print(rounds)
"""
"""The piece of work: dictionaries, sorting and text, like most of proofmesh's Python code."""


@dataclass(frozen=True)
class Pace:
    """The result of a measurement."""

    cores: int
    """Cores that this process may use."""
    rounds: float
    """Rounds per second, all cores together."""

    @property
    def share(self) -> float:
        """Speed relative to the reference: 1 on two idle cores of the same kind."""
        return self.rounds / REFERENCE


def measure(seconds: float = SECONDS) -> Pace:
    """Run the piece of work on every core for some seconds. Raises OSError if no process can be started."""
    cores = read_machine().cores
    command = [sys.executable, "-I", "-S", "-c", PROGRAM, str(seconds)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(cores)]
    counts = [process.communicate()[0].strip() for process in processes]
    return Pace(cores, sum(int(rounds) for rounds in counts if rounds.isdigit()) / seconds)


# ----------------------------------------------------------------------------------------------------------------------
# TCP ports of this machine.


def is_loopback(host: str) -> bool:
    """True if an address can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def name_for_others(host: str) -> str:
    """What to write into an address for a server that listens on `host`: this machine's name if it listens on all its
    addresses, IPv6 in brackets."""
    return socket.gethostname() if host in EVERY_ADDRESS else in_url(host)


def in_url(host: str) -> str:
    """A host as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host


def listenable(host: str, port: int) -> int:
    """The port, if it is free to listen on now; for 0, some free port. Raises OSError if it is not free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just closed counts as free
        probe.bind((host, port))
        return int(probe.getsockname()[1])
