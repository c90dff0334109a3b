"""What all benches share: a part is a dataclass of settings that measures; pace, medians, processes, the report.

A bench is a module of this package, its parts are subclasses of `Part`. `python -m scripts.bench.harness` runs an
async function in a process of its own (see `in_process`).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from common.config import ConfigError, check_flags
from common.output.visible import say

if TYPE_CHECKING:
    from broker.launcher import Server
    from common.bus import Bus

T = TypeVar("T")

RUN = "bench"
"""Name of the run on the brokers of benches."""

CLI = (sys.executable, "-m", "node.command.cli")
"""Starts `proofmesh` as its own process."""

Results = dict[str, Any]
"""Measurements as JSON values; paths of settings may be among them."""


@dataclass(kw_only=True)
class Part:
    """A part of a bench: its settings are the fields, and `measure` returns what is printed."""

    json: Path | None = None
    """Also write the results to this file."""

    problems: ClassVar[tuple[type[Exception], ...]] = ()
    """Exceptions that mean that it cannot be measured: one line, and the exit code `failed`."""
    failed: ClassVar[int] = 2

    def measure(self) -> Results | Coroutine[Any, Any, Results]:
        """All measurements."""
        raise NotImplementedError

    def asked(self) -> Results:
        """The settings."""
        return asdict(self)


def run(part: type[Part], name: str, argv: Sequence[str]) -> int:
    """Read the settings from flags, measure, and report. Returns the exit code."""
    import tyro

    problems: tuple[type[Exception], ...] = (ConfigError, *part.problems)
    settings = tyro.cli(part, args=list(argv), prog=f"proofmesh bench {name}")
    try:
        check_flags(settings)
        measured = settings.measure()
        results = asyncio.run(measured) if asyncio.iscoroutine(measured) else measured
    except problems as error:
        say(f"proofmesh bench {name}: {error}", file=sys.stderr)
        return part.failed
    report(results, settings.json)
    return 0 if results.get("sound", True) else 1


def report(results: Results, file: Path | None) -> None:
    """Print the results, and write them to `file` if there is one. Raises OSError."""
    text = json.dumps(results, indent=2, default=str)  # paths as text
    print(text)
    if file is not None:
        file.write_text(text + "\n", encoding="utf-8")


def machine() -> Results:
    """Facts of the machine that are needed to interpret a result."""
    import torch

    return {
        "cpus": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()],
        "machine": platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
    }


# ----------------------------------------------------------------------------------------------------------------------
# Repetitions and their numbers.


class Pace:
    """The runs of a measurement. None begins after `limit` seconds, so the measurement ends soon after."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def runs(self, repeats: int, what: str) -> Iterator[int]:
        """Yields the numbers of the runs, at least one. After the time limit there are fewer than `repeats`, which is
        printed."""
        for number in range(repeats):
            if number and self.elapsed > self._limit:
                self.say(f"{what}: {number} of {repeats} runs; the time limit of {self._limit:g} s is over")
                return
            yield number

    def say(self, text: str) -> None:
        """Print a line on standard error, since standard output has only the result."""
        say(f"[{self.elapsed:5.1f} s] {text}", file=sys.stderr, flush=True)


def medians(runs: Sequence[Mapping[str, float]], digits: int) -> Results:
    """The median over the runs of each of their numbers."""
    return {key: round(statistics.median(run[key] for run in runs), digits) for key in runs[0]}


def quantile(values: Sequence[float], percent: int, digits: int | None = None) -> float:
    """A percentile of at least two values, rounded if `digits` are given."""
    found = statistics.quantiles(values, n=100)[percent - 1]
    return found if digits is None else round(found, digits)


# ----------------------------------------------------------------------------------------------------------------------
# Processes: brokers, our own functions as processes, processor time and memory.


def on_loop(work: Coroutine[Any, Any, T], loop: str = "uvloop") -> T:
    """Run on one of the two event loops. Nodes have uvloop."""
    import uvloop

    from common.life import logging

    logging.configure("warning")
    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


@asynccontextmanager
async def own_broker(*, keys: bool = False, certificate: tuple[str, str] = ("", "")) -> AsyncIterator[Server]:
    """A broker on a free port, in a temporary folder. `keys`: it asks for those of RUN. `certificate`: files with it
    and with its private key."""
    from broker import keys as keys_of_runs
    from broker.launcher import Server
    from broker.settings import BrokerSettings

    with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as store:
        shown, secret = certificate
        server = Server(BrokerSettings(port=0, store=f"{store}/store", certificate=shown, certificate_key=secret))
        if keys:
            keys_of_runs.make(server.store, RUN)
        await server.start()
        try:
            yield server
        finally:
            await server.stop()


async def connected(
    url: str, run: str, name: str, wait: float = 30, *, role: str = "client", key: str = "", ca: str = ""
) -> Bus:
    """A client of the broker at this address. `key`: the folder of the broker's keys, of which it takes its role's."""
    from common.bus import Bus
    from common.settings import BusSettings

    return await Bus.connect(BusSettings(url=url, key=key, ca=ca), run=run, name=name, role=role, wait=wait)


@asynccontextmanager
async def in_process(
    function: Callable[..., Awaitable[None]],
    *arguments: str,
    ready: bool = False,
    loop: Literal["uvloop", "asyncio"] = "uvloop",
    grace: float = 0,
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs an async function in a process of its own, as a node of a mesh would; its processor time is then apart from
    ours. At the end it gets SIGTERM, and SIGKILL after `grace` seconds. `ready`: wait until it prints a line."""
    from common.life.process import kill_group, spawn_child

    place = f"{function.__module__}:{function.__name__}"
    command = [sys.executable, "-m", "scripts.bench.harness", loop, place, *arguments]
    child = await spawn_child(command, stdout=subprocess.PIPE if ready else subprocess.DEVNULL)
    try:
        if child.stdout is not None:
            await child.stdout.readline()
        yield child
    finally:
        await kill_group(child, grace)


def ended_cpu() -> float:
    """Processor seconds of this process's children that have ended and were waited for."""
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of(pid: int) -> float:
    """Processor seconds of a process and of its ended children; 0 if it has ended."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        return sum(psutil.Process(pid).cpu_times()[:4])
    return 0.0


def memory_below(pid: int) -> list[float]:
    """MB of a process's own memory, then that of each of its descendants."""
    import psutil

    from node.lean.process.child import descendants, own_mb

    found = []
    for each in [pid, *descendants(pid)]:
        with contextlib.suppress(psutil.NoSuchProcess, OSError):
            found.append(own_mb(psutil.Process(each)))
    return found


def main(loop: str, place: str, *arguments: str) -> None:
    """Run an async function by its place, MODULE:FUNCTION."""
    module, _, name = place.partition(":")
    on_loop(getattr(importlib.import_module(module), name)(*arguments), loop)


if __name__ == "__main__":
    main(*sys.argv[1:])
