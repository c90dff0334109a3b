"""Measures how one broker and one learner scale with simulated provers: dispatch and result times, memory, CPU time.

    python -m scripts.bench.scale [--provers 100] [--minutes 10] [--json OUT]

Broker and learner are real processes, as in any mesh: dispatcher, collector, records, replay, and training of a tiny
network. Leases, results, heartbeats and registry are those of real provers, too. Only the searches are simulated: they
wait for a time that depends on the seed, and a stub lean-proxy accepts every proof. On a machine with other load, the
times are not meaningful; use processor time and the numbers computed from it.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from common.config import ConfigError, check_flags
from common.limits import Duration, Positive, Share, Timeout
from common.output.visible import say
from common.records.readers import DATABASE
from scripts.bench._report import asked, machine, report
from scripts.studies.kill_records import recorded

LOOKS = 60
"""Samples of memory and processor time over the whole measurement."""

PATIENCE = 600.0
"""Most seconds until the learner has recorded the first results."""


@dataclass
class ScaleBenchSettings:
    """Measure a mesh of simulated provers."""

    provers: Positive = 100
    """Number of simulated provers, each with one search."""
    minutes: Timeout = 10.0
    """Minutes of the measurement, which begins with the first recorded results."""
    attempt_seconds: Timeout = 3.0
    """Mean seconds of an attempt (each takes half to one and a half of this, by its seed)."""
    proved: Share = 0.4
    """Share of the attempts that end with a proof."""
    verify_seconds: Duration = 0.4
    """Seconds of a verification."""
    processes: Positive = 2
    """Number of processes for the provers."""
    json: Path | None = None
    """Also write the results to this file."""


class NoProgress(RuntimeError):
    """The learner records no results, or a process has ended."""


def write_mesh(settings: ScaleBenchSettings, folder: Path) -> Path:
    """Write the configuration of broker and learner."""
    import tomli_w

    from node.mesh.plan import free_port
    from scripts.studies.mesh_file import RUN, TINY_MODEL, TINY_WARM_START

    file = folder / "mesh.toml"
    content = {
        "run": {"name": RUN, "dir": str(folder / "runs")},
        "broker": {"port": free_port(), "store": str(folder / "store")},
        "up": {"inference": 0, "prover": 0, "lean_proxy": 0, "ui": 0},
        "learner": {
            "model": TINY_MODEL,
            "warm_start": TINY_WARM_START,
            "schedule": {"steps_limit": 4},
            "trainer": {"batch": 16, "threads": 1},
            "matchmaker": {"disprove_chance": 0.1},
        },
    }
    file.write_text(tomli_w.dumps(content), encoding="utf-8")
    return file


def processes(children: Mapping[str, int]) -> dict[str, Any]:
    """The psutil processes of the nodes, of nats-server and of the trainer, by name."""
    import psutil

    by_name = {}
    for name, pid in children.items():
        node = psutil.Process(pid)
        by_name[name] = node
        for child in node.children(recursive=True):
            command = " ".join(child.cmdline())
            labels = {"nats-server": "nats-server", "trainer.rank": "trainer"}
            label = next((label for text, label in labels.items() if text in command), None)
            if label is not None:
                by_name[label] = child
    return by_name


async def measure(settings: ScaleBenchSettings, folder: Path) -> dict[str, Any]:
    """Run the whole measurement. Raises NoProgress."""
    import msgspec

    from common.life.process import kill_group, spawn_child
    from node.mesh.mesh import Mesh
    from scripts.bench._scale_provers import Measured, Part

    async with Mesh.from_file(write_mesh(settings, folder)) as mesh:
        database = mesh.plan.directory / DATABASE
        shares = [len(range(number, settings.provers, settings.processes)) for number in range(settings.processes)]
        times = (settings.attempt_seconds, settings.proved, settings.verify_seconds)
        others = []
        for number, provers in enumerate([*[share for share in shares if share], 0]):
            part = Part(mesh.bus.url, mesh.run, str(folder / f"part-{number}.json"), provers, *times)
            command = [sys.executable, "-m", "scripts.bench._scale_provers", msgspec.json.encode(part).decode()]
            others.append(await spawn_child(command, stdout=subprocess.DEVNULL))
        try:
            await _first_results(database, settings.provers)
            began = time.time()
            samples = await _watch(mesh, settings.minutes * 60)
            ended = time.time()
        finally:
            await asyncio.gather(*(kill_group(other, grace=30) for other in others))
        children = mesh.children
        restarts = sum(child.restarts for child in children)
    parts = [msgspec.json.decode(file.read_bytes(), type=Measured) for file in sorted(folder.glob("part-*.json"))]
    return _numbers(settings, database, samples, parts, (began, ended), restarts)


async def _first_results(database: Path, count: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while len(recorded(database)) < count:
        if time.monotonic() > deadline:
            raise NoProgress(f"fewer than {count} results within {PATIENCE:g} s: use fewer --provers")
        await asyncio.sleep(0.5)


async def _watch(mesh: Any, seconds: float) -> list[Any]:
    """Samples of the memory and the processor time of broker and learner. Raises NoProgress."""
    import psutil

    from scripts.bench._scale_numbers import Sample

    watched = processes({child.spec.name: child.pid for child in mesh.children})
    samples, began = [], time.monotonic()
    for look in range(LOOKS + 1):
        await asyncio.sleep(max(0.0, began + look * seconds / LOOKS - time.monotonic()))
        used, memory = {}, {}
        for name, process in watched.items():
            try:
                used[name] = sum(process.cpu_times()[:2])
                memory[name] = process.memory_info().rss / 2**20
            except psutil.NoSuchProcess as error:
                raise NoProgress(f"{name} crashed during the measurement") from error
        samples.append(Sample(time.monotonic() - began, memory, used))
    return samples


def _numbers(
    settings: ScaleBenchSettings,
    database: Path,
    samples: list[Any],
    parts: list[Any],
    span: tuple[float, float],
    restarts: int,
) -> dict[str, Any]:
    from common.records.store import Store
    from scripts.bench._scale_numbers import cores, extrapolated, memory, percentiles

    # Only results within the measured span count: the mesh was still starting before it, and stopping after it.
    published = {attempt: when for part in parts for attempt, when in part.published.items()}
    rows = [row for row in recorded(database) if span[0] <= row[2] <= span[1]]
    rate = len(rows) / (span[1] - span[0])

    def waits(proved: bool) -> list[float]:
        return [
            max(0.0, when - published[attempt])
            for attempt, outcome, when in rows
            if attempt in published and (outcome == "proved") is proved
        ]

    store = Store(database)
    try:
        audit = store.audit()
    finally:
        store.close()
    busy = cores(samples)
    return {
        "results": len(rows),
        "results_per_s": round(rate, 1),
        "asking_to_attempt": percentiles([each for part in parts for each in part.dispatch]),
        "published_to_stored": percentiles([each for part in parts for each in part.store]),
        "published_to_recorded": {"failed": percentiles(waits(False)), "proved": percentiles(waits(True))},
        "memory": memory(samples),
        "cores": {name: round(share, 3) for name, share in busy.items()},
        "cpu_ms_per_result": {name: round(1e3 * share / rate, 2) for name, share in busy.items()} if rate else {},
        "larger": extrapolated(busy, rate, settings.provers, settings.attempt_seconds),
        "simulated_provers_cores": round(sum(part.cpu for part in parts) / samples[-1].second, 3),
        "records": {"dispatched": audit.dispatched, "outstanding": audit.outstanding, "recorded": audit.recorded},
        "sound": audit.sound,
        "restarts": restarts,
    }


def main() -> int:
    """Measure and print."""
    settings = tyro.cli(ScaleBenchSettings, description=__doc__)
    try:
        check_flags(settings)
        with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as folder:
            numbers = asyncio.run(measure(settings, Path(folder)))
    except (ConfigError, NoProgress) as error:
        say(f"proofmesh bench scale: {error}", file=sys.stderr)
        return 2
    report({"asked": asked(settings), "machine": machine(), **numbers}, settings.json)
    return 0 if numbers["sound"] else 1


if __name__ == "__main__":
    sys.exit(main())
