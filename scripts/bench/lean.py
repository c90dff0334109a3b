"""Bench `lean`: Lean behind the lean-proxy, verification in batches and as a service, and rewards."""

from __future__ import annotations

import asyncio
import os
import random
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

import aiohttp
import psutil
from aiohttp import web

from common.lean import Outcome, Step, Theorem
from common.limits import Positive, Share, Timeout
from common.protocol.messages import LeanRunReply, LeanRunRequest, LeanVerifyReply
from data.generators.lean_check import load_truth
from node.bank.bank import SPLITS, load_statements
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.adapters.leantree.service import LeanTreeServerSettings, make_server
from node.lean.adapters.repl.backend import ReplBackend
from node.lean.backend import Backend, OutcomeCache
from node.lean.check.verify.verifier import Verifier
from node.lean.process.child import descendants
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.text.statement import statement_lines
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from node.rewards.lean_reward import LeanReward
from scripts.bench.harness import CLI, Part, Results, cpu_of, ended_cpu, machine, memory_below, quantile, served

T = TypeVar("T")

Proof = tuple[Theorem, str]
"""A theorem with a proof script."""


def recorded(*splits: str) -> list[Proof]:
    """The bank's true theorems with their recorded proofs."""
    truth = load_truth()
    theorems = [each.theorem for split in splits for each in load_statements(split)]
    return [(theorem, truth[theorem.name].proof) for theorem in theorems if truth[theorem.name].true]


def lines_of(theorem: Theorem) -> list[str]:
    """The statement as Lean text, up to its proof."""
    return statement_lines(f"theorem {theorem.name}", theorem)


def wrong(kind: str, theorem: Theorem, proof: Sequence[str]) -> list[str]:
    """A text that proves nothing."""
    statement = lines_of(theorem)
    match kind:
        case "cut":
            return [*statement, *(proof[:-1] or ["  skip"])]
        case "sorry":
            return [*statement, *proof[:-1], re.sub(r"\S.*", "sorry", proof[-1])]
        case "negated":
            # Only the last occurrence: a hypothesis may be the same, and negating it, too, would make the theorem true.
            before, _, after = "\n".join(statement).rpartition(theorem.conclusion)
            return [f"{before}¬ ({theorem.conclusion}){after}", *proof]
        case _:
            return ["axiom cheat (p : Prop) : p", *statement, "  exact cheat _"]


class OneProcessEach:
    """The baseline: each text in its own Lean process, a few at once. It only looks for errors and `sorry`."""

    def __init__(self, folder: Path, at_once: int, seconds: float) -> None:
        self._folder, self._gate = folder, asyncio.Semaphore(at_once)
        self._toolchain, self._limits = LeanToolchain.pocket(), Limits(seconds=seconds, memory_mb=1024)
        self._made = 0

    async def compile(self, code: str) -> tuple[bool, bool, float]:
        """Whether the text has no errors, whether it ran out of its limits, and the seconds."""
        self._made += 1
        file = self._folder / f"P{self._made}.lean"
        file.write_text(code, encoding="utf-8")
        command, environment = [*self._toolchain.command, "--json", file.name], self._toolchain.environment
        async with self._gate:
            started = time.monotonic()
            try:
                done = await run_fresh(command, environment=environment, folder=self._folder, limits=self._limits)
            except OutOfLimits:
                return False, True, time.monotonic() - started
            clean = '"severity":"error"' not in done.output and "declaration uses" not in done.output
            return clean, False, time.monotonic() - started


# ----------------------------------------------------------------------------------------------------------------------
# Candidates of a search.

AND = Theorem("t", "(p q r : Prop) (h : p ∧ (q ∨ r))", "(p ∧ q) ∨ (p ∧ r)")
ADD = Theorem("t", "(a b c : Nat) (h : a = b)", "a + c = b + c ∧ c + a = c + b")
LIST = Theorem("t", "(xs ys : List Nat)", "(xs ++ ys) ++ [] = xs ++ ys")

PATHS: tuple[tuple[Theorem, tuple[str, ...]], ...] = (
    (AND, ()),
    (AND, ("cases h",)),
    (AND, ("cases h", "rename_i a b", "cases b")),
    (ADD, ()),
    (ADD, ("constructor",)),
    (ADD, ("subst h", "constructor")),
    (LIST, ()),
    (LIST, ("induction xs",)),
)
"""Theorems and the tactics that lead to the measured states."""

PARSABLE = """
constructor, left, right, assumption, simp, simp_all, rfl, exact h, exact h.1, intro x, cases h,
apply Or.inl, exact Or.inl h, rw [h], rw [Nat.add_comm], exact rfl, apply And.intro, exfalso, contradiction,
have h2 := h, subst h, simp [h], simp only [Nat.add_comm], decide, trivial, apply Nat.le_trans, symm,
exact congrArg _ h, by_cases hx : 1 = 1, induction c, have h3 : 1 = 1 := rfl, exact And.intro h h, intro a b,
exact foo, apply h, first | rfl | assumption, constructor <;> simp, exact Nat.le_refl _, exists 0,
exact absurd h h, revert h, funext x, split, injection h, specialize h 0, rw [← h], simp at h,
apply Eq.trans, exact Or.inr h.2, unfold Not, exact id h
"""

GARBAGE = """
exact (h, foo h, rw [h, exact, intro h :, simp only [, apply, exact h h), have : := h, rcases h with,
exact ⟨h, case => simp, · simp ), refine ⟨?_, by simp, exact fun x, induction c with, h.1, simp at,
exact h |, cases h with |, <;> simp, => h
"""


def listed(text: str) -> list[str]:
    """The tactics of a text, which are separated by commas."""
    return [tactic.strip() for tactic in re.split(r",\s", text) if tactic.strip()]


@dataclass
class Lean(Part):
    """Measures Lean behind the lean-proxy: milliseconds per candidate, memory of a worker, verification.

    There is one worker and one request at a time. As in a search, the states are cached and the candidates are new. The
    candidates of `parsable` all parse and most fail, like those of a policy; a third of those of `garbage` does not
    parse. `search_...` is without Lean's messages about errors, as a search asks. `cpu_ms` is the CPU time of Lean's
    processes, which other load on the machine affects less. For comparison, the same candidates are elaborated in one
    file, one theorem each: this is a lower bound. `--soak` runs many more candidates and reports the memory; at its end
    the worker is killed, and the time until the next answer is measured.
    """

    batches: int = 40
    """Batches for each measurement."""
    backend: Literal["worker", "repl", "leantree"] = "worker"
    """Backend that runs the candidates. `repl` is our own `proofmesh repl`; for `leantree`, a server is started."""
    soak: int = 0
    """Number of candidates of a long measurement of memory, 8 at a time; 0: no such measurement."""
    seed: int = 0

    async def measure(self) -> Results:
        """All measurements."""
        toolchain = LeanToolchain.pocket()
        verifier = Verifier(toolchain, at_once=1, seconds=60, memory_mb=2048)
        results: Results = {"backend": self.backend}
        async with backend_of(self.backend, toolchain) as backend:
            requests = Requests(backend, OutcomeCache(100_000), longest=30)
            asking = Candidates(backend, requests, random.Random(self.seed))
            try:
                # 1. Candidates, in batches of several sizes.
                await asking.find_states()
                rss = backend.resident_mb()
                for garbage, name in ((0.0, "parsable"), (1 / 3, "garbage")):
                    for size in (1, 4, 8, 32):
                        for messages, form in ((True, name), (False, f"search_{name}")):
                            if isinstance(backend, Pool):
                                backend.garbage = garbage
                            results[f"{form}_at_{size}"] = await asking.times(size, garbage, self.batches, messages)
                results["ms_per_candidate_at_8"] = results["parsable_at_8"]["mean_ms"]
                results["ms_per_candidate_at_32"] = results["parsable_at_32"]["mean_ms"]
                results["candidates_per_s"] = round(1000 / results["parsable_at_8"]["mean_ms"])
                # 2. The lower bound, and what else a lean-proxy does.
                results["ms_per_theorem_batch_file"] = await asking.in_one_file(toolchain, verifier.folder, 400)
                results["worker_rss_mb"] = {"start": round(rss), "end": round(backend.resident_mb())}
                results["verification"] = await verification(verifier, 8)
                results["worker_restarts"] = backend.restarts
                # 3. Memory over many candidates; a crash at the end.
                if self.soak:
                    results["soak"] = await asking.soak(self.soak)
                results["outcomes"] = {
                    kind.value: number for kind, number in requests.counts.outcomes.items() if number
                }
            finally:
                await verifier.stop()
        return results


@dataclass
class Candidates:
    """Asks a backend to run candidates, as a search does."""

    backend: Backend
    requests: Requests
    rng: random.Random
    states: Sequence[tuple[Theorem, tuple[Step, ...]]] = ()
    made: Counter[str] = field(default_factory=Counter)

    async def run(
        self, theorem: Theorem, path: tuple[Step, ...], tactics: Sequence[str], messages: bool = True
    ) -> tuple[Outcome, ...]:
        request = LeanRunRequest(theorem=theorem, path=path, tactics=tuple(tactics), messages=messages)
        reply = await self.requests.run(request)
        assert isinstance(reply, LeanRunReply), reply
        return reply.outcomes

    async def find_states(self) -> None:
        """Find the states of PATHS, with Lean's layouts."""
        states = []
        for theorem, tactics in PATHS:
            path: tuple[Step, ...] = ()
            for tactic in tactics:
                (outcome,) = await self.run(theorem, path, [tactic])
                path = (*path, Step(tactic, 0, outcome.layout))
            states.append((theorem, path))
        self.states = states

    def candidates(self, size: int, garbage: float) -> list[str]:
        """Candidates that all differ (by trailing spaces), so that none is answered from the cache."""
        chosen = []
        for _ in range(size):
            tactic = self.rng.choice(listed(GARBAGE if self.rng.random() < garbage else PARSABLE))
            self.made[tactic] += 1
            chosen.append(tactic + " " * self.made[tactic])
        return chosen

    async def times(self, size: int, garbage: float, batches: int, messages: bool = True) -> dict[str, float]:
        """Wall and CPU milliseconds per candidate, with or without Lean's messages about errors."""
        times = []
        cpu = self.cpu()
        for number in range(batches):
            theorem, path = self.states[number % len(self.states)]
            tactics = self.candidates(size, garbage)
            started = time.perf_counter()
            await self.run(theorem, path, tactics, messages)
            times.append((time.perf_counter() - started) * 1000 / size)
        return {
            "mean_ms": round(statistics.fmean(times), 3),
            "p50_ms": quantile(times, 50, 3),
            "p95_ms": quantile(times, 95, 3),
            "cpu_ms": round((self.cpu() - cpu) * 1000 / batches / size, 3),
        }

    def cpu(self) -> float:
        """CPU seconds of the backend's processes, ended ones included. Servers elsewhere are not counted."""
        return ended_cpu() + sum(cpu_of(each.pid) for each in psutil.Process().children(recursive=True))

    async def soak(self, attempts: int) -> dict[str, float]:
        """Resident memory over many candidates, and the time to recover from a crash of the worker."""
        rss = []
        for number in range(0, attempts, 8):
            theorem, path = self.states[number // 8 % len(self.states)]
            await self.run(theorem, path, self.candidates(8, 1 / 3))
            if number % max(8, attempts // 20 // 8 * 8) == 0:
                rss.append(round(self.backend.resident_mb()))
        restarts = self.backend.restarts
        theorem, path = self.states[0]
        await self.run(theorem, path, self.candidates(1, 0.0))
        for child in psutil.Process().children():
            child.kill()
        started = time.perf_counter()
        await self.run(theorem, path, self.candidates(1, 0.0))
        return {
            "attempts": attempts,
            "rss_mb_early": rss[1] if len(rss) > 1 else rss[0],
            "rss_mb_most": max(rss),
            "rss_mb_last": rss[-1],
            "restarts": restarts,
            "answer_after_a_kill_s": round(time.perf_counter() - started, 2),
        }

    async def in_one_file(self, toolchain: LeanToolchain, folder: Path, theorems: int) -> dict[str, float]:
        """Milliseconds per theorem if parsable candidates are elaborated in one file, one theorem each."""
        lines = []
        for _ in range(theorems):
            theorem, _ = self.states[0]
            (tactic,) = self.candidates(1, 0)
            lines += [*statement_lines("example", theorem), f"  {tactic}"]
        (folder / "Limit.lean").write_text("\n".join(lines))
        cpu, started = ended_cpu(), time.perf_counter()
        command = [*toolchain.command, "--json", "-DmaxErrors=1000000", "Limit.lean"]
        await run_fresh(command, environment=toolchain.environment, folder=folder, limits=Limits())
        spent = {"wall_ms": time.perf_counter() - started, "cpu_ms": ended_cpu() - cpu}
        return {name: round(1000 * seconds / theorems, 3) for name, seconds in spent.items()}


async def verification(verifier: Verifier, proofs: int) -> dict[str, float]:
    """Seconds to verify a proof: the first of a statement, and the median of later ones."""
    script = "rcases h with ⟨a, b | c⟩\n· exact Or.inl ⟨a, b⟩\n· exact Or.inr ⟨a, c⟩"
    times = []
    for _ in range(proofs + 1):
        reply = await verifier.verify(AND, script)
        assert reply.accepted, reply.reason
        times.append(reply.elapsed)
    return {"first_s": round(times[0], 3), "median_s": round(statistics.median(times[1:]), 3)}


@asynccontextmanager
async def backend_of(name: str, toolchain: LeanToolchain) -> AsyncIterator[Backend]:
    """A backend with one process."""
    options = WorkerOptions()
    if name == "leantree":
        settings = LeanTreeServerSettings(lean=LeanProcessSettings(workers=1))
        server, _ = make_server(settings, toolchain)
        runner = web.AppRunner(server.application(), access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        backend: Backend = LeanTreeBackend(f"http://127.0.0.1:{runner.addresses[0][1]}", 1, 10)
    elif name == "repl":
        command = (*CLI, "repl", "--no-sandbox")
        backend = ReplBackend(toolchain, command, options, 1, 10)
    else:
        backend = Pool(toolchain, options, workers=1, queue=10)
    backend.start()
    try:
        yield backend
    finally:
        await backend.stop()
        if name == "leantree":
            await runner.cleanup()


# ----------------------------------------------------------------------------------------------------------------------
# Verification, in batches and as a service.


@dataclass
class Batches(Part):
    """Measures verification in batches: milliseconds per recorded proof, in a batch and alone.

    Each size is measured with a batch of recorded proofs, and with the same batch in which a third of the proofs is
    wrong (the proof of another theorem). `alone` is the time of some single proofs, before and after each batch. All
    times of a ratio are measured within a minute, so that other load on the machine affects it less. `cpu_ms` is the
    processor time of Lean and of this process.
    """

    sizes: tuple[int, ...] = (1, 8, 50, 200)
    """Numbers of proofs in a batch."""
    alone: int = 12
    """Proofs verified one by one, for each size."""
    at_once: int = 1
    """Concurrent checks; a lean-proxy on 2 cores runs one."""
    seed: int = 0

    async def measure(self) -> Results:
        """All measurements."""
        # 1. The proofs, and a verifier for batches and one for single proofs.
        toolchain, rng, truths = await LeanToolchain.pocket().confined(), random.Random(self.seed), recorded("train")
        proofs, few = rng.sample(truths, max(self.sizes)), rng.sample(truths, self.alone)
        together, alone = (
            Verifier(toolchain, at_once=self.at_once, seconds=60, memory_mb=2048, batch=batch)
            for batch in (max(self.sizes), 1)
        )
        results: Results = {}
        try:
            # Starts Lean and reads its version.
            await asyncio.gather(*(each.verify(*few[0]) for each in (together, alone)))
            # 2. Single proofs before and after each batch, so that a change of other load shows in both.
            for size in self.sizes:
                before = await verified(alone, few)
                right = await verified(together, proofs[:size])
                # Every third theorem gets the proof of the one before it.
                mixed = [
                    (theorem, proofs[at - 1][1] if at % 3 == 2 else script)
                    for at, (theorem, script) in enumerate(proofs[:size])
                ]
                some_wrong = await verified(together, mixed)
                after = await verified(alone, few)
                single = {key: (before[key] + after[key]) / 2 for key in ("wall_ms", "cpu_ms")}
                results[str(size)] = {
                    "alone": single,
                    "together": right,
                    "a_third_wrong": some_wrong,
                    "times_faster": round(single["wall_ms"] / right["wall_ms"], 1),
                    "times_less_cpu": round(single["cpu_ms"] / right["cpu_ms"], 1),
                }
        finally:
            await together.stop()
            await alone.stop()
        return results


async def verified(verifier: Verifier, proofs: Sequence[Proof]) -> dict[str, float]:
    """Milliseconds per proof for a batch of all proofs."""
    cpu, started = ended_cpu() + time.process_time(), time.perf_counter()
    replies = await verifier.verify_many(proofs)
    wall = time.perf_counter() - started
    return {
        "proofs": len(proofs),
        "accepted": sum(isinstance(reply, LeanVerifyReply) and reply.accepted for reply in replies),
        "wall_ms": round(1000 * wall / len(proofs), 1),
        "cpu_ms": round(1000 * (ended_cpu() + time.process_time() - cpu) / len(proofs), 1),
    }


LOOK_SECONDS = 0.1
"""Seconds between two measurements of the memory of the service's processes."""


@dataclass
class Verify(Part):
    """Measures the verification service, compared with one `lean FILE` process per proof: proofs per second, memory.

    The proofs are the bank's recorded ones, all different. A share of them is made wrong, in turn by leaving out the
    last line, replacing it by `sorry`, negating the statement, or using an axiom. Another share never ends. Clients
    send batches of proofs concurrently, as Kimina's client does. The service runs as a separate process and gives
    verdicts. The baseline compiles each text in its own process, as many at once as the service has workers, and only
    checks for errors and `sorry`.
    """

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
    seed: int = 0

    async def measure(self) -> Results:
        """All measurements."""
        made = self.texts()
        results: Results = {"asked": self.asked(), "machine": machine()}
        results["service"] = await self.service(made)
        match = re.search(r"(\d+) workers?", results["service"]["server"])
        at_once = int(match.group(1)) if match else 1
        compared = made if self.baseline < 0 else made[: self.baseline]
        if compared:
            results["one_process_each"] = await self.one_process_each(compared, at_once)
            ratio = results["service"]["proofs_per_s"] / results["one_process_each"]["proofs_per_s"]
            results["times_as_fast"] = round(ratio, 2)
        return results

    def texts(self) -> list[Text]:
        """The snippets, in random order."""
        rng = random.Random(self.seed)
        proofs = recorded(*SPLITS)
        chosen = rng.sample(proofs, min(self.proofs, len(proofs)))
        made = []
        for number, (theorem, proof) in enumerate(chosen):
            place = (number + 0.5) / len(chosen)
            if place < self.hanging:
                forever = "  repeat (have := trivial)"
                kind, lines = "hanging", ["set_option maxHeartbeats 0", *lines_of(theorem), forever]
            elif place < self.hanging + self.wrong:
                kind = ("cut", "sorry", "negated", "axiom")[number % 4]
                lines = wrong(kind, theorem, proof.split("\n"))
            else:
                kind, lines = "right", [*lines_of(theorem), proof]
            made.append(Text("\n".join(lines), kind))
        rng.shuffle(made)
        return made

    async def service(self, made: Sequence[Text]) -> Results:
        """Start the service as a process, send all texts to it, and measure."""
        async with served(self.workers) as (child, line):
            url, tally, waits = line.split()[2].rstrip(","), Tally(), []
            gate = asyncio.Semaphore(self.clients)

            async def send(http: aiohttp.ClientSession, batch: Sequence[Text]) -> None:
                snippets = [{"id": str(number), "code": text.code} for number, text in enumerate(batch)]
                async with gate:
                    started = time.monotonic()
                    body = {"snippets": snippets, "timeout": self.timeout}
                    async with http.post(f"{url}/api/check", json=body) as response:
                        results = (await response.json())["results"]
                    waits.append(time.monotonic() - started)
                for text, result in zip(batch, results, strict=True):
                    late = "timed out" in result.get("error", "")
                    tally.add(text, result["verdict"]["accepted"], result["time"], late)

            # 1. All batches, as many at once as there are clients, while the memory is watched.
            none = aiohttp.ClientTimeout(total=None)
            async with watched(child.pid) as peak, aiohttp.ClientSession(timeout=none) as http:
                started = time.monotonic()
                await asyncio.gather(*(send(http, batch) for batch in parts_of(made, self.batch)))
                wall = time.monotonic() - started
                async with http.get(f"{url}/metrics") as page:
                    stages = stage_seconds(await page.text())
            # 2. Children's CPU time is known only after they have ended and were waited for.
            own = psutil.Process(child.pid).cpu_times()
            child.terminate()
            await child.wait()
            return tally.result(made, wall, ended_cpu()) | {
                "request_p50_s": round(statistics.median(waits), 2),
                "request_p99_s": quantile(waits, 99, 2),
                "peak_mb": round(peak["all"]),
                "peak_process_mb": round(peak["one"]),
                "python_cpu_s": round(own.user + own.system, 1),
                "stage_s": stages,
                "server": line.strip(),
            }

    async def one_process_each(self, made: Sequence[Text], at_once: int) -> Results:
        """The baseline."""
        tally, cpu, started = Tally(), ended_cpu(), time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            baseline = OneProcessEach(Path(folder), at_once, self.timeout)

            async def compile_text(text: Text) -> None:
                clean, late, seconds = await baseline.compile(text.code)
                tally.add(text, clean, seconds, late)

            await asyncio.gather(*map(compile_text, made))
        return tally.result(made, time.monotonic() - started, ended_cpu() - cpu)


@dataclass(frozen=True)
class Text:
    """A snippet and its kind."""

    code: str
    kind: str
    """`right`, or the way in which it is wrong."""


@asynccontextmanager
async def watched(pid: int) -> AsyncIterator[dict[str, float]]:
    """Peak memory in MB while the block runs: `all` of a process and its descendants together, `one` descendant."""
    peak = {"all": 0.0, "one": 0.0}

    async def look() -> None:
        while True:
            own, *below = memory_below(pid)
            peak["all"], peak["one"] = max(peak["all"], own + sum(below)), max(peak["one"], *below, 0.0)
            await asyncio.sleep(LOOK_SECONDS)

    task = asyncio.create_task(look())
    try:
        yield peak
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


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

    def result(self, made: Sequence[Text], wall: float, cpu: float) -> Results:
        """The results as JSON values."""
        kinds = {kind: sum(text.kind == kind for text in made) for kind in sorted({text.kind for text in made})}
        return {
            "proofs_per_s": round(len(made) / wall, 2),
            "proofs_per_cpu_s": round(len(made) / cpu, 2),
            "wall_s": round(wall, 1),
            "cpu_s": round(cpu, 1),
            "p50_ms": round(1000 * quantile(self.times, 50)),
            "p99_ms": round(1000 * quantile(self.times, 99)),
            "timeouts": self.timeouts,
            "accepted": {kind: f"{self.accepted.get(kind, 0)} of {number}" for kind, number in kinds.items()},
        }


def stage_seconds(page: str) -> dict[str, float]:
    """Seconds of each stage, all snippets together, from the service's metrics."""
    sums = re.findall(r'^proofmesh_snippet_stage_seconds_sum\{stage="(\w+)"\} (\S+)$', page, re.MULTILINE)
    return {stage: round(float(seconds), 1) for stage, seconds in sums}


def parts_of(made: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Parts of at most `size`."""
    for start in range(0, len(made), size):
        yield made[start : start + size]


# ----------------------------------------------------------------------------------------------------------------------
# Rewards.


@dataclass
class Rewards(Part):
    """Measures rewards from Lean, compared with one `lean FILE` process per proof: rewards per second, also per core.

    Completions are the bank's recorded proofs, all different, in the form of a model's completions; a share of them is
    wrong. The same completions go to `LeanReward` in this process, to `LeanReward` over `proofmesh serve`, and to one
    Lean process each, which only checks for errors and `sorry`. The three take turns batch by batch, so that other load
    slows all of them. CPU seconds include all processes, also Python's.
    """

    proofs: Positive = 300
    """Number of completions, all different."""
    wrong: Share = 1 / 3
    """Share of wrong completions."""
    batch: Positive = 32
    """Completions in one call of a reward: a group or two of GRPO."""
    rounds: Positive = 1
    """Number of rounds, each with other completions."""
    workers: Positive = 1
    """Lean workers, and concurrent processes of the baseline."""
    seconds: Timeout = 30.0
    """Time limit of a proof."""
    seed: int = 0

    async def measure(self) -> Results:
        """All measurements."""
        # 1. Three ways to the same rewards.
        made = self.completions()
        async with served(self.workers) as (child, line):
            url = line.split()[2].rstrip(",")
            with tempfile.TemporaryDirectory() as folder:
                baseline = OneProcessEach(Path(folder), self.workers, self.seconds)

                async def one_each(batch: Sequence[Completion]) -> list[float | None]:
                    compiled = await asyncio.gather(*(baseline.compile(each.code) for each in batch))
                    return [float(clean) for clean, _, _ in compiled]

                def processes_here() -> list[int]:
                    """Of this process's descendants, the service's are not ours."""
                    return sorted({*descendants(os.getpid())} - {child.pid, *descendants(child.pid)})

                ways = [
                    Way("here", self.reward("here"), processes_here),
                    Way("serve", self.reward(url), lambda: [child.pid, *descendants(child.pid)]),
                    Way("one_process_each", one_each, list),
                ]
                # 2. Start each of them; the start does not count.
                warm = Completion("theorem warm : 1 = 1", "theorem warm : 1 = 1 := by\n  rfl", True)
                for way in ways:
                    began = time.monotonic()
                    await way.pay([warm])
                    way.start_seconds = time.monotonic() - began
                # 3. They take turns batch by batch.
                for batch in parts_of(made, self.batch):
                    for way in ways:
                        await way.take(batch)
        # 4. Each beside the baseline.
        results: Results = {"asked": self.asked(), "machine": machine()}
        results |= {way.name: way.result(made) for way in ways}
        base = results["one_process_each"]["rewards_per_cpu_s"]
        results["times_as_many_a_cpu_second"] = {
            way.name: round(results[way.name]["rewards_per_cpu_s"] / base, 2) for way in ways[:2]
        }
        return results

    def completions(self) -> list[Completion]:
        """The completions of all rounds, in random order."""
        rng = random.Random(self.seed)
        proofs = recorded(*SPLITS)
        made = []
        for number, (theorem, proof) in enumerate(rng.sample(proofs, min(self.proofs * self.rounds, len(proofs)))):
            statement = lines_of(theorem)
            text = "\n".join(statement).removesuffix("by").rstrip().removesuffix(":=").rstrip()
            if rng.random() < self.wrong:
                kind = ("cut", "sorry", "axiom")[number % 3]
                made.append(Completion(text, "\n".join(wrong(kind, theorem, proof.split("\n"))), False))
            else:
                made.append(Completion(text, "\n".join([*statement, proof]), True))
        return made

    def reward(self, where: str) -> Pay:
        """A reward that is called as TRL does: once per batch."""
        reward = LeanReward(kind="proofs", where=where, seconds=self.seconds, at_once=self.workers)

        async def pay(batch: Sequence[Completion]) -> list[float | None]:
            texts, statements = [each.completion for each in batch], [each.statement for each in batch]
            return await asyncio.to_thread(reward, completions=texts, theorem=statements)

        return pay


@dataclass(frozen=True)
class Completion:
    """A completion, with the statement of its prompt."""

    statement: str
    code: str
    right: bool

    @property
    def completion(self) -> str:
        return f"```lean4\n{self.code}\n```"


Pay = Callable[[Sequence[Completion]], Awaitable[list[float | None]]]
"""Rewards of a batch."""


@dataclass
class Way:
    """One way to compute rewards, and its measurements."""

    name: str
    pay: Pay
    processes: Callable[[], list[int]]
    """Ids of its processes, without this one."""
    wall: float = 0.0
    cpu: float = 0.0
    start_seconds: float = 0.0
    paid: list[float | None] = field(default_factory=list)

    async def take(self, batch: Sequence[Completion]) -> None:
        """Compute the rewards of a batch, and measure the time."""
        cpu, began = self._cpu(), time.monotonic()
        self.paid += await self.pay(batch)
        self.wall += time.monotonic() - began
        self.cpu += self._cpu() - cpu

    def _cpu(self) -> float:
        return sum(os.times()[:4]) + sum(map(cpu_of, self.processes()))

    def result(self, made: Sequence[Completion]) -> Results:
        """The measurements as JSON values."""
        pairs = list(zip(made, self.paid, strict=True))
        return {
            "rewards_per_s": round(len(made) / self.wall, 2),
            "rewards_per_cpu_s": round(len(made) / self.cpu, 2),
            "wall_s": round(self.wall, 1),
            "cpu_s": round(self.cpu, 1),
            "start_s": round(self.start_seconds, 1),
            "right_paid": f"{sum(paid == 1 for each, paid in pairs if each.right)} of {sum(e.right for e in made)}",
            "wrong_paid": f"{sum(paid == 1 for each, paid in pairs if not each.right)} of "
            f"{sum(not each.right for each in made)}",
            "unknown": sum(paid is None for paid in self.paid),
        }
