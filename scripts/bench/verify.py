"""Measures the verification service, compared with one `lean FILE` process per proof: proofs per second, memory; JSON.

    python -m scripts.bench.verify [--proofs 1000] [--workers 2] [--baseline 1000] [--json OUT]

The proofs are the bank's recorded ones, all different. A share of them is made wrong, in turn by leaving out the last
line, replacing it by `sorry`, negating the statement, or using an axiom. Another share never ends. Clients send batches
of proofs concurrently, as Kimina's client does. The service runs as a separate process and gives verdicts. The baseline
compiles each text in its own process, as many at once as the service has workers, and only checks for errors and
`sorry`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import tyro

from common.life.process import kill_group, spawn_child
from node.bank.bank import DIRECTORY, load_statements
from node.lean.process.child import descendants, own_mb
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.text.statement import statement_lines
from node.lean.toolchain.lean_toolchain import LeanToolchain
from scripts.bench._report import asked, machine, report

LOOK_SECONDS = 0.1
"""Seconds between two measurements of the memory of the service's processes."""

FOR_EVER = "repeat (have := trivial)"


@dataclass
class VerifyBenchSettings:
    """Measure speed and memory of the verification service."""

    proofs: int = 1000
    """Number of snippets."""
    wrong: float = 1 / 3
    """Share of wrong snippets."""
    hanging: float = 0.02
    """Share of snippets that never end."""
    timeout: float = 3.0
    """Seconds for each snippet."""
    batch: int = 8
    """Snippets per request, as in Kimina's client."""
    clients: int = 5
    """Concurrent requests, as in Kimina's client."""
    workers: int = 0
    """Workers of the service, and concurrent processes of the baseline; 0: the service's default."""
    baseline: int = -1
    """Use only the first snippets for the baseline; -1: all."""
    json: Path | None = None
    """Also write the results to this file."""
    seed: int = 0


@dataclass(frozen=True)
class Text:
    """A snippet and its kind."""

    code: str
    kind: str
    """`right`, or the way in which it is wrong."""


def recorded() -> list[tuple[list[str], str, str]]:
    """The bank's theorems with whole proofs: the statement as lines, the conclusion, the proof."""
    import gzip

    with gzip.open(DIRECTORY / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    proofs = {row["name"]: row["proof"] for row in rows if row["true"] and row.get("proof")}
    theorems = [each.theorem for split in ("train", "valid", "test") for each in load_statements(split)]
    return [
        (statement_lines(f"theorem {theorem.name}", theorem), theorem.conclusion, proofs[theorem.name])
        for theorem in theorems
        if theorem.name in proofs
    ]


def texts(settings: VerifyBenchSettings) -> list[Text]:
    """The snippets, in random order."""
    rng = random.Random(settings.seed)
    proofs = recorded()
    chosen = rng.sample(proofs, min(settings.proofs, len(proofs)))
    made = []
    for number, (statement, conclusion, proof) in enumerate(chosen):
        place = (number + 0.5) / len(chosen)
        if place < settings.hanging:
            kind, lines = "hanging", ["set_option maxHeartbeats 0", *statement, f"  {FOR_EVER}"]
        elif place < settings.hanging + settings.wrong:
            kind = ("cut", "sorry", "negated", "axiom")[number % 4]
            lines = wrong(kind, statement, conclusion, proof.split("\n"))
        else:
            kind, lines = "right", [*statement, proof]
        made.append(Text("\n".join(lines), kind))
    rng.shuffle(made)
    return made


def wrong(kind: str, statement: list[str], conclusion: str, proof: list[str]) -> list[str]:
    """A text that proves nothing."""
    match kind:
        case "cut":
            return [*statement, *(proof[:-1] or ["  skip"])]
        case "sorry":
            return [*statement, *proof[:-1], re.sub(r"\S.*", "sorry", proof[-1])]
        case "negated":
            # Only the last occurrence: a hypothesis may be the same, and negating it, too, would make the theorem true.
            before, _, after = "\n".join(statement).rpartition(conclusion)
            return [f"{before}¬ ({conclusion}){after}", *proof]
        case _:
            return ["axiom cheat (p : Prop) : p", *statement, "  exact cheat _"]


@dataclass
class Watch:
    """Measures the peak memory of a process and its descendants."""

    pid: int
    all_mb: float = 0.0
    """Peak memory of all of them together."""
    lean_mb: float = 0.0
    """Peak memory of a single descendant."""
    _task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watch:
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            below = []
            for pid in descendants(self.pid):
                with contextlib.suppress(psutil.NoSuchProcess):
                    below.append(own_mb(psutil.Process(pid)))
            self.all_mb = max(self.all_mb, own_mb(psutil.Process(self.pid)) + sum(below))
            self.lean_mb = max(self.lean_mb, *below, 0.0)
            await asyncio.sleep(LOOK_SECONDS)


@dataclass
class Tally:
    """The results of the snippets."""

    accepted: dict[str, int] = field(default_factory=dict)
    """Number of accepted snippets of each kind."""
    timeouts: int = 0
    times: list[float] = field(default_factory=list)
    """Seconds of each snippet, waiting excluded."""

    def add(self, text: Text, accepted: bool, seconds: float, timeout: bool) -> None:
        self.accepted[text.kind] = self.accepted.get(text.kind, 0) + accepted
        self.timeouts += timeout
        self.times.append(seconds)

    def result(self, made: Sequence[Text], wall: float, cpu: float) -> dict[str, Any]:
        """The results as JSON values."""
        quantiles = statistics.quantiles(self.times, n=100)
        kinds = {kind: sum(text.kind == kind for text in made) for kind in sorted({text.kind for text in made})}
        return {
            "proofs_per_s": round(len(made) / wall, 2),
            "proofs_per_cpu_s": round(len(made) / cpu, 2),
            "wall_s": round(wall, 1),
            "cpu_s": round(cpu, 1),
            "p50_ms": round(quantiles[49] * 1000),
            "p99_ms": round(quantiles[98] * 1000),
            "timeouts": self.timeouts,
            "accepted": {kind: f"{self.accepted.get(kind, 0)} of {number}" for kind, number in kinds.items()},
        }


async def service(settings: VerifyBenchSettings, made: Sequence[Text]) -> dict[str, Any]:
    """Start the service as a process, send all texts to it, and measure."""
    argv = [sys.executable, "-m", "node.command.cli", "serve", "--port", "0", "--workers", str(settings.workers)]
    child = await spawn_child(argv, stderr=asyncio.subprocess.PIPE)
    assert child.stderr is not None
    try:
        line = (await child.stderr.readline()).decode()
        url = line.split()[2].rstrip(",")
        tally, waits = Tally(), []
        batches = [made[start : start + settings.batch] for start in range(0, len(made), settings.batch)]
        gate = asyncio.Semaphore(settings.clients)

        async def send(http: aiohttp.ClientSession, batch: Sequence[Text]) -> None:
            snippets = [{"id": str(number), "code": text.code} for number, text in enumerate(batch)]
            async with gate:
                started = time.monotonic()
                body = {"snippets": snippets, "timeout": settings.timeout}
                async with http.post(f"{url}/api/check", json=body) as response:
                    results = (await response.json())["results"]
                waits.append(time.monotonic() - started)
            for text, result in zip(batch, results, strict=True):
                tally.add(text, result["verdict"]["accepted"], result["time"], "timed out" in result.get("error", ""))

        none = aiohttp.ClientTimeout(total=None)
        async with Watch(child.pid) as watch, aiohttp.ClientSession(timeout=none) as http:
            started = time.monotonic()
            await asyncio.gather(*(send(http, batch) for batch in batches))
            wall = time.monotonic() - started
            async with http.get(f"{url}/metrics") as page:
                stages = stage_seconds(await page.text())
        # Children's CPU time is known only after they have ended and were waited for.
        own = psutil.Process(child.pid).cpu_times()
        child.terminate()
        await child.wait()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = tally.result(made, wall, used.ru_utime + used.ru_stime)
        return result | {
            "request_p50_s": round(statistics.median(waits), 2),
            "request_p99_s": round(statistics.quantiles(waits, n=100)[98], 2),
            "peak_mb": round(watch.all_mb),
            "peak_process_mb": round(watch.lean_mb),
            "python_cpu_s": round(own.user + own.system, 1),
            "stage_s": stages,
            "server": line.strip(),
        }
    finally:
        await kill_group(child, grace=5)


def stage_seconds(page: str) -> dict[str, float]:
    """Seconds of each stage, all snippets together, from the service's metrics."""
    sums = re.findall(r'^proofmesh_snippet_stage_seconds_sum\{stage="(\w+)"\} (\S+)$', page, re.MULTILINE)
    return {stage: round(float(seconds), 1) for stage, seconds in sums}


async def one_process_each(settings: VerifyBenchSettings, made: Sequence[Text], at_once: int) -> dict[str, Any]:
    """The baseline: each text in its own process, a few at once."""
    toolchain = LeanToolchain.pocket()
    tally, gate = Tally(), asyncio.Semaphore(at_once)
    limits = Limits(seconds=settings.timeout, memory_mb=1024)

    async def compile_text(folder: Path, number: int, text: Text) -> None:
        file = folder / f"P{number}.lean"
        file.write_text(text.code, encoding="utf-8")
        async with gate:
            started, output, timeout = time.monotonic(), "", False
            try:
                command = [*toolchain.command, "--json", file.name]
                completed = await run_fresh(command, environment=toolchain.environment, folder=folder, limits=limits)
                output = completed.output
            except OutOfLimits:
                timeout = True
            clean = not timeout and '"severity":"error"' not in output and "declaration uses" not in output
            tally.add(text, clean, time.monotonic() - started, timeout)

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        await asyncio.gather(*(compile_text(Path(folder), number, text) for number, text in enumerate(made)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return tally.result(made, time.monotonic() - started, cpu)


async def bench(settings: VerifyBenchSettings) -> dict[str, Any]:
    """All measurements."""
    made = texts(settings)
    results: dict[str, Any] = {"asked": asked(settings), "machine": machine()}
    results["service"] = await service(settings, made)
    match = re.search(r"(\d+) workers?", results["service"]["server"])
    at_once = int(match.group(1)) if match else 1
    compared = made if settings.baseline < 0 else made[: settings.baseline]
    if compared:
        results["one_process_each"] = await one_process_each(settings, compared, at_once)
        ratio = results["service"]["proofs_per_s"] / results["one_process_each"]["proofs_per_s"]
        results["times_as_fast"] = round(ratio, 2)
    return results


def main(argv: Sequence[str]) -> int:
    """Entry point."""
    settings = tyro.cli(VerifyBenchSettings, args=list(argv), prog="proofmesh bench verify")
    report(asyncio.run(bench(settings)), settings.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
