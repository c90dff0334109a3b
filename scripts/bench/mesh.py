"""Bench `mesh`: the processor time of learning."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import psutil
import tomli_w
import tyro

from common import config
from common.bus import Bus
from common.files import recipe
from common.life import logging
from common.protocol.messages import Heartbeat
from node.mesh.mesh import Mesh
from node.mesh.supervisor import ChildFailed
from scripts.bench.harness import Part, Results

# ----------------------------------------------------------------------------------------------------------------------
# The processor time of learning.

WORKER_FLAG = "--worker"
"""Flag in the command line of Lean workers."""

START_SECONDS = 180.0
"""Most seconds until the mesh begins its learning phase: nodes start, transitions are read."""

COUNTED = (
    "prover.expansions",
    "prover.attempts",
    "prover.simulations",
    "lean-proxy.candidates",
    "lean-proxy.cache_hits",
    "lean-proxy.proofs_accepted",
    "lean-proxy.verifications",
    "lean-proxy.worker_restarts",
    "inference.states",
    "learner.train_steps",
)
"""Heartbeat values whose increase is reported, as ROLE.VALUE."""

OUTCOME_PREFIX = "prover.outcome_"


@dataclass
class Loop(Part):
    """Measures the processor time of the learning phase, by part and per expansion, in a mesh that learns for a while.

        proofmesh bench loop CHECKPOINT [--seconds 120] [--recipe scripts/recipes/demo.toml] [--json OUT]

    CHECKPOINT replaces the warm start, such as `runs/demo/checkpoints/step-000250`. The mesh is that of the recipe,
    without evaluations; it runs in a temporary folder, which is deleted at the end. The processor time of every node's
    processes is read after `settle` seconds of learning, and again after `seconds` more. Other load on the machine
    affects wall time, but hardly CPU time, so the main result is `cpu_ms_per_expansion`. `at_two_free_cores` is an
    upper bound: the expansions per second of two cores that never wait.

    Parts: a node's own process is its event loop. `lean-workers` and `training` are long-lived child processes of
    lean-proxy and learner. `verification` is the time of all ended child processes of the lean-proxy; workers that end
    during the measurement count there, too (see `worker_restarts`). If a node restarts meanwhile, its earlier time is
    lost and the numbers are wrong.
    """

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """Checkpoint of the network to begin with."""
    seconds: float = 120.0
    """Seconds of the measurement."""
    settle: float = 30.0
    """Seconds of learning before the measurement."""
    recipe: Path = field(default_factory=lambda: recipe("demo"))
    """Configuration of the mesh."""
    seed: int = 0
    """Seed of the run."""

    problems = (ChildFailed, RuntimeError, TimeoutError)
    failed = 1

    async def measure(self) -> Results:
        """Run the mesh and measure."""
        if not (self.checkpoint / "state.json").exists():
            raise config.ConfigError(f"{self.checkpoint}: not a checkpoint; name a folder such as step-000250")
        logging.configure("error")  # hides warnings of the first second, before the broker runs
        with tempfile.TemporaryDirectory(prefix="proofmesh-loop-") as folder:
            mesh = Mesh.from_file(self.mesh_file(Path(folder)))
            async with mesh:
                bus = await Bus.connect(mesh.bus, run=mesh.run, name="bench", wait=None)
                try:
                    follower = Follower()
                    await bus.subscribe("telemetry.*.*.heartbeat", Heartbeat, follower.hear)
                    return await unless_failed(mesh, self.between(mesh, follower))
                finally:
                    await bus.close()

    def mesh_file(self, folder: Path) -> Path:
        """Write the mesh's configuration: the recipe without warm start, with enough learning time."""
        content: dict[str, Any] = json.loads(json.dumps(config.read(self.recipe)))
        learner = content.setdefault("learner", {})
        minutes = (self.settle + self.seconds) / 60 + START_SECONDS / 60
        learner["plan"] = {"evaluate": False, "minutes": minutes}
        learner["seed"] = self.seed
        warm_start = learner.setdefault("warm_start", {})
        warm_start["checkpoint"] = str(self.checkpoint.absolute())
        content["run"] = {"name": "loop", "dir": str(folder)}
        content["broker"] = {"port": 0, "store": str(folder / "broker")}
        content["ui"] = {**content.get("ui", {}), "port": 0}
        file = folder / "mesh.toml"
        file.write_text(tomli_w.dumps(content), encoding="utf-8")
        return file

    async def between(self, mesh: Mesh, follower: Follower) -> Results:
        """The processor time between two moments of the learning phase."""
        try:
            async with asyncio.timeout(START_SECONDS):
                await follower.learning.wait()
        except TimeoutError:
            raise TimeoutError(f"the mesh did not begin to learn within {START_SECONDS:g} s") from None
        await asyncio.sleep(self.settle)
        started, cpu, counts = time.monotonic(), processor_time(mesh), follower.counts()
        await asyncio.sleep(self.seconds)
        seconds, cpu_after, counts_after = time.monotonic() - started, processor_time(mesh), follower.counts()
        spent = {part: cpu_after[part] - cpu.get(part, 0.0) for part in cpu_after}
        grown = {name: value - counts.get(name, 0.0) for name, value in counts_after.items()}
        return summary(spent, grown, seconds)


def processor_time(mesh: Mesh) -> dict[str, float]:
    """CPU seconds of every part so far."""
    parts: dict[str, float] = defaultdict(float)
    for child in mesh.children:
        if child.pid is None:
            continue
        role = child.spec.name
        with contextlib.suppress(psutil.NoSuchProcess):
            node = psutil.Process(child.pid)
            _add(parts, node, role, role)
            for each in node.children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    _add(parts, each, role, _part_below(role, each))
    return dict(parts)


def _add(parts: dict[str, float], process: psutil.Process, role: str, part: str) -> None:
    """Add a process's own time to its part, and the time of its ended children to the part for ended processes."""
    times = process.cpu_times()
    parts[part] += times.user + times.system
    parts[_ended(role)] += times.children_user + times.children_system


def _part_below(role: str, process: psutil.Process) -> str:
    """The part of a process that a node has started."""
    if role == "lean-proxy":
        return "lean-workers" if WORKER_FLAG in process.cmdline() else _ended(role)
    return _ended(role)


def _ended(role: str) -> str:
    """The part for short-lived child processes of a node."""
    return {"lean-proxy": "verification", "learner": "training"}.get(role, role)


class Follower:
    """Receives the heartbeats of a mesh."""

    def __init__(self) -> None:
        self.values: dict[str, dict[str, float]] = {}
        self.learning = asyncio.Event()

    def hear(self, _: str, heartbeat: Heartbeat) -> None:
        """Store a heartbeat's values."""
        self.values[heartbeat.role] = heartbeat.values
        if heartbeat.role == "learner" and heartbeat.state == "rl":
            self.learning.set()

    def counts(self) -> dict[str, float]:
        """The latest values of all nodes, as ROLE.VALUE."""
        return {f"{role}.{name}": value for role, values in self.values.items() for name, value in values.items()}


async def unless_failed(mesh: Mesh, measuring: Coroutine[Any, Any, Results]) -> Results:
    """The measurement's result. Raises ChildFailed if a node cannot be kept running."""
    working, failed = asyncio.create_task(measuring), asyncio.create_task(mesh.wait())
    try:
        await asyncio.wait({working, failed}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            failed.result()
            raise RuntimeError("the learner ended before the measurement: use fewer --seconds")
        return working.result()
    finally:
        working.cancel()
        failed.cancel()
        await asyncio.gather(working, failed, return_exceptions=True)


def summary(cpu: dict[str, float], grown: dict[str, float], seconds: float) -> Results:
    """The results: CPU seconds of each part, its share, and its CPU time per expansion."""
    # 1. What each part cost; nothing is divided by zero if nothing was expanded.
    expansions = max(grown.get("prover.expansions", 0.0), 1.0)
    total = sum(cpu.values())
    parts = {
        part: {
            "cpu_s": round(spent, 2),
            "share": round(spent / total, 3),
            "cpu_ms_per_expansion": round(1000 * spent / expansions, 2),
        }
        for part, spent in sorted(cpu.items(), key=lambda item: -item[1])
    }
    # 2. Per candidate and per proof. Candidates from the cache cost Lean nothing.
    candidates = max(grown.get("lean-proxy.candidates", 0.0) - grown.get("lean-proxy.cache_hits", 0.0), 1.0)
    proofs = max(grown.get("lean-proxy.proofs_accepted", 0.0), 1.0)
    counted = {name: grown[name] for name in COUNTED if name in grown}
    counted |= {name: value for name, value in grown.items() if name.startswith(OUTCOME_PREFIX)}
    return {
        "seconds": round(seconds, 1),
        "cpu_s": round(total, 1),
        "cores_used": round(total / seconds, 2),
        "parts": parts,
        "counted": {name: round(value) for name, value in counted.items()},
        "expansions_per_s": round(expansions / seconds, 2),
        "cpu_ms_per_expansion": round(1000 * total / expansions, 1),
        "at_two_free_cores": round(2 * expansions / total, 1),
        "lean_cpu_ms_per_candidate": round(1000 * cpu.get("lean-workers", 0.0) / candidates, 2),
        "verification_cpu_ms_per_proof": round(1000 * cpu.get("verification", 0.0) / proofs),
    }
