"""Bench `lean`: Lean behind the lean-proxy."""

from __future__ import annotations

import random
import re
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import psutil
from aiohttp import web

from common.lean import Outcome, Step, Theorem
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.adapters.leantree.service import LeanTreeServerSettings, make_server
from node.lean.adapters.repl.backend import ReplBackend
from node.lean.backend import Backend, OutcomeCache
from node.lean.check.verify.verifier import Verifier
from node.lean.process.fresh import Limits, run_fresh
from node.lean.requests import Requests
from node.lean.settings import LeanProcessSettings
from node.lean.text.statement import statement_lines
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions
from scripts.bench.harness import CLI, Part, Results, cpu_of, ended_cpu, quantile

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
