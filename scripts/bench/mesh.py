"""Bench `mesh`: the processor time of learning, and simulated provers in numbers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import signal
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import psutil
import tomli_w
import tyro

from common import config
from common.bus import Bus, Lease, Signer
from common.files import recipe
from common.lean import ProofTree
from common.life import logging, pulse
from common.life.context import NodeContext
from common.limits import Duration, Positive, Share, Timeout
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, AttemptStatistics, ResultPart
from common.protocol.messages import Heartbeat, LeanVerifyReply, LeanVerifyRequest, Message
from common.records.readers import DATABASE, results
from common.records.store import Store
from common.settings import NodeSettings
from node.mesh.mesh import Mesh
from node.mesh.plan import free_port
from node.mesh.supervisor import ChildFailed
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from scripts.bench.harness import Part, Results, connected, in_process, machine, quantile
from scripts.studies.kills_of_roles import RUN, TINY_MODEL, TINY_WARM_START

if TYPE_CHECKING:
    pass

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


# ----------------------------------------------------------------------------------------------------------------------
# Simulated provers.

LOOKS = 60
"""Samples of memory and processor time over the whole measurement."""

PATIENCE = 600.0
"""Most seconds until the learner has recorded the first results."""


class NoProgress(RuntimeError):
    """The learner records no results, or a process has ended."""


@dataclass
class Scale(Part):
    """Measures how one broker and one learner scale with simulated provers: times, memory, processor time.

        proofmesh bench scale [--provers 100] [--minutes 10] [--json OUT]

    Broker and learner are real processes, as in any mesh: dispatcher, collector, records, replay, and training of a
    tiny network. Leases, results, heartbeats and registry are those of real provers, too. Only the searches are
    simulated: they wait for a time that depends on the seed, and a stub lean-proxy accepts every proof. On a machine
    with other load, the times are not meaningful; use processor time and the numbers computed from it.
    """

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

    problems = (NoProgress,)

    async def measure(self) -> Results:
        """Run the whole measurement."""
        with tempfile.TemporaryDirectory(prefix="proofmesh-bench-") as folder:
            return {"asked": self.asked(), "machine": machine(), **await self.in_folder(Path(folder))}

    async def in_folder(self, folder: Path) -> Results:
        """Start the mesh and the simulated nodes, watch them, and stop all."""
        async with Mesh.from_file(self.write_mesh(folder)) as mesh:
            database = mesh.plan.directory / DATABASE
            # 1. The provers in some processes, and the lean-proxy in another.
            shares = [len(range(number, self.provers, self.processes)) for number in range(self.processes)]
            times = (self.attempt_seconds, self.proved, self.verify_seconds)
            async with AsyncExitStack() as others:
                for number, provers in enumerate([*[share for share in shares if share], 0]):
                    node = Simulated(mesh.bus.url, mesh.run, str(folder / f"part-{number}.json"), provers, *times)
                    await others.enter_async_context(in_process(simulate, msgspec.json.encode(node).decode(), grace=30))
                # 2. The measurement begins with the first recorded results.
                await first_results(database, self.provers)
                began = time.time()
                samples = await watch(mesh, self.minutes * 60)
                ended = time.time()
            restarts = sum(child.restarts for child in mesh.children)
        # 3. Each process has written its measurements.
        parts = [msgspec.json.decode(file.read_bytes(), type=Measured) for file in sorted(folder.glob("part-*.json"))]
        return self.numbers(database, samples, parts, (began, ended)) | {"restarts": restarts}

    def write_mesh(self, folder: Path) -> Path:
        """Write the configuration of broker and learner."""
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

    def numbers(
        self, database: Path, samples: list[Sample], parts: list[Measured], span: tuple[float, float]
    ) -> Results:
        """What was measured within a span of time."""
        # 1. How long each result waited. Only results within the measured span count: before it the mesh was still
        # starting, and after it, stopping.
        published = {attempt: when for part in parts for attempt, when in part.published.items()}
        rows = [row for row in results(database) if span[0] <= row[2] <= span[1]]
        rate = len(rows) / (span[1] - span[0])

        def waits(proved: bool) -> list[float]:
            return [
                max(0.0, when - published[attempt])
                for attempt, outcome, when in rows
                if attempt in published and (outcome == "proved") is proved
            ]

        # 2. The records must add up, whatever the load.
        with contextlib.closing(Store(database)) as store:
            audit = store.audit()
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
            "larger": extrapolated(busy, rate, self.provers, self.attempt_seconds),
            "simulated_provers_cores": round(sum(part.cpu for part in parts) / samples[-1].second, 3),
            "records": {"dispatched": audit.dispatched, "outstanding": audit.outstanding, "recorded": audit.recorded},
            "sound": audit.sound,
        }


def processes(children: Mapping[str, int]) -> dict[str, psutil.Process]:
    """The psutil processes of the nodes, of nats-server and of the trainer, by name."""
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


async def first_results(database: Path, count: int) -> None:
    """Wait until the learner has recorded some results. Raises NoProgress."""
    deadline = time.monotonic() + PATIENCE
    while len(results(database)) < count:
        if time.monotonic() > deadline:
            raise NoProgress(f"fewer than {count} results within {PATIENCE:g} s: use fewer --provers")
        await asyncio.sleep(0.5)


async def watch(mesh: Mesh, seconds: float) -> list[Sample]:
    """Samples of the memory and the processor time of broker and learner. Raises NoProgress."""
    watched = processes({child.spec.name: child.pid for child in mesh.children if child.pid is not None})
    samples: list[Sample] = []
    began = time.monotonic()
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


SIZES = (1_000, 10_000)


class Sample(NamedTuple):
    """One measurement of all processes."""

    second: float
    memory_mb: dict[str, float]
    cpu: dict[str, float]
    """Processor seconds since the start of each process."""


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds; empty for fewer than two times."""
    if len(times) < 2:
        return {}
    return {
        "n": len(times),
        "p50_ms": round(1e3 * statistics.median(times), 1),
        "p99_ms": round(1e3 * quantile(times, 99), 1),
    }


def memory(samples: Sequence[Sample]) -> dict[str, dict[str, float]]:
    """For each process: MB at the first, the middle and the last sample, and the slope over the second half."""
    half = samples[len(samples) // 2 :]
    minutes = [sample.second / 60 for sample in half]
    rows = {}
    for name in samples[-1].memory_mb:
        values = [sample.memory_mb.get(name, 0.0) for sample in half]
        level = len(set(minutes)) < 2
        slope = 0.0 if level else statistics.linear_regression(minutes, values).slope
        rows[name] = {
            "start_mb": round(samples[0].memory_mb.get(name, 0.0), 1),
            "middle_mb": round(values[0], 1),
            "end_mb": round(values[-1], 1),
            "mb_per_minute_second_half": round(slope, 2),
        }
    return rows


def cores(samples: Sequence[Sample]) -> dict[str, float]:
    """For each process: processor seconds per second, from the first sample to the last."""
    first, last = samples[0], samples[-1]
    span = max(1e-9, last.second - first.second)
    return {name: (used - first.cpu.get(name, 0.0)) / span for name, used in last.cpu.items()}


def extrapolated(
    busy: Mapping[str, float], results_per_second: float, provers: int, attempt_seconds: float
) -> dict[str, dict[str, object]]:
    """Estimated load of larger meshes, if every cost grows with the number of attempts. It is measured with one search
    per prover and attempts of this length. A process that needs more than one core is a bottleneck, since each has one
    event loop.

    `busy`: cores that each process uses with `provers` provers.
    """
    estimates: dict[str, dict[str, object]] = {}
    for size in SIZES:
        factor = size / provers
        needed = {name: round(share * factor, 2) for name, share in busy.items()}
        first = max(needed, key=lambda name: needed[name])
        estimates[str(size)] = {
            "results_per_s": round(results_per_second * factor, 1),
            "cores": needed,
            "fullest": first,
            "fits_with_attempts_of_s": round(attempt_seconds * max(1.0, needed[first]), 1),
        }
    return estimates


STATE = (
    "α : Type\np q r : α → Prop\nh₀ : ∀ x, p x ∧ q x\nh₁ : ∀ x, q x → r x\nn : Nat\nih : n + 0 = n\n⊢ ∀ x, r x ∧ p x"
)
OPEN_PROOFS = 4096
"""Most concurrent verifications of the stub lean-proxy."""


class Simulated(msgspec.Struct):
    """A process of simulated provers, or the lean-proxy that accepts every proof.

    Leases, results, registry and heartbeats are those of a real prover. Only the search is simulated: an attempt waits
    for a time that depends on its seed, and a share of the attempts ends with a proof of typical size.
    """

    url: str
    run: str
    out: str
    provers: int
    """Number of provers in this process; 0: it is the lean-proxy."""
    seconds: float
    """Mean seconds of an attempt."""
    proved: float
    """Share of the attempts that end with a proof."""
    verify_seconds: float


class Measured(msgspec.Struct):
    """Measurements of the provers of a process, in seconds."""

    dispatch: list[float] = []
    """Times from a request for an attempt until it arrives."""
    store: list[float] = []
    """Times from publishing a result until the broker confirms that it is stored."""
    published: dict[str, float] = {}
    """Unix time of the first publication of each attempt's result."""
    cpu: float = 0.0


class SimulatedProver(Prover):
    """A prover with one search at a time, which only waits."""

    def __init__(self, part: Simulated, bus: Bus, context: NodeContext, measured: Measured) -> None:
        super().__init__(bus, ProverSettings(policy="tactics", searches=1), context.id, context.report)
        self._part = part
        self._measured = measured
        self._requested = 0.0

    async def _take(self, free: int) -> list[Lease[Attempt]]:
        self._requested = self._requested or time.perf_counter()
        leases = await super()._take(free)
        if leases:
            self._measured.dispatch.append(time.perf_counter() - self._requested)
            self._requested = 0.0
        return leases

    async def _result(self, lease: Lease[Attempt]) -> AttemptResult:
        attempt = lease.message
        rng = random.Random(attempt.seed)
        await asyncio.sleep(rng.uniform(0.5, 1.5) * self._part.seconds)
        proved = rng.random() < self._part.proved
        return AttemptResult(
            attempt_id=attempt.attempt_id,
            theorem_id=attempt.theorem_id,
            purpose=attempt.purpose,
            prover_id=self._id,
            outcome=AttemptOutcome.PROVED if proved else AttemptOutcome.FAILED,
            proof=proof_of(rng) if proved else None,
            statistics=AttemptStatistics(simulations=8, expansions=9, nodes=30, tactics_tried=60, lean_attempts=60),
        )

    async def _publish(self, client: str, piece: AttemptResult | ResultPart, play: str) -> None:
        self._measured.published.setdefault(piece.attempt_id, time.time())
        began = time.perf_counter()
        await super()._publish(client, piece, play)
        self._measured.store.append(time.perf_counter() - began)


def proof_of(rng: random.Random) -> ProofTree:
    """A proof of two to six steps, with states of typical length."""
    tree = ProofTree("exact ⟨h₁ x (h₀ x).2, (h₀ x).1⟩", state=STATE)
    for step in range(rng.randrange(1, 6)):
        tree = ProofTree(f"have h{step} := h₀ {rng.randrange(10**6)}", ((0,),), (tree,), f"{STATE}\n-- {step}")
    return tree


async def prove(part: Simulated, number: int, stopping: asyncio.Event, measured: Measured) -> None:
    """Run one simulated prover: a connection, an entry in the registry, heartbeats, attempts."""
    context = NodeContext("prover", NodeSettings(run=part.run), {"searches": 1})
    context.bus = await connected(part.url, part.run, f"simulated-{number}", wait=60)
    prover = SimulatedProver(part, context.bus, context, measured)
    context.state = "running"
    background_tasks = [asyncio.create_task(pulse.beat(context)), asyncio.create_task(pulse.stay_registered(context))]
    try:
        await prover.run(stopping)
    finally:
        for task in background_tasks:
            task.cancel()
        await asyncio.gather(*background_tasks, return_exceptions=True)
        await context.bus.unregister(context.role, context.id)
        await context.bus.close()


async def accept(part: Simulated, stopping: asyncio.Event) -> None:
    """Run a lean-proxy that accepts every proof after `verify_seconds`."""
    bus = await connected(part.url, part.run, "stub-lean-proxy", wait=60)

    async def verify(request: LeanVerifyRequest) -> Message:
        await asyncio.sleep(part.verify_seconds)
        return LeanVerifyReply(accepted=True, axioms=("propext",), lean_version="stub", elapsed=part.verify_seconds)

    signer = Signer.of_file(Path(part.out).with_name("verifier.pem"))
    await bus.list_verifiers([signer.public])
    await bus.serve(subjects.LEAN_VERIFY, LeanVerifyRequest, verify, queue="lean", limit=OPEN_PROOFS, signer=signer)
    await stopping.wait()
    await bus.close()


async def simulate(text: str) -> None:
    """Run until SIGTERM, then write the measurements. `text`: a `Simulated` as JSON."""
    logging.configure("error")
    part = msgspec.json.decode(text, type=Simulated)
    stopping, measured = asyncio.Event(), Measured()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    if part.provers:
        await asyncio.gather(*(prove(part, number, stopping, measured) for number in range(part.provers)))
    else:
        await accept(part, stopping)
    measured.cpu = time.process_time()
    Path(part.out).write_bytes(msgspec.json.encode(measured))
