"""Measures rewards from Lean, compared with one `lean FILE` process per proof: rewards per second, also per core; JSON.

    proofmesh bench rewards [--proofs 300] [--batch 32] [--rounds 2] [--json OUT]

Completions are the bank's recorded proofs, all different, in the form of a model's completions; a share of them is
wrong. The same completions go to `LeanReward` in this process, to `LeanReward` over `proofmesh serve`, and to one Lean
process each, which only checks for errors and `sorry`. The three take turns batch by batch, so that other load slows
all of them. CPU seconds include all processes, also Python's.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import tyro

from common.life.process import kill_group, spawn_child
from common.limits import Positive, Share, Timeout
from node.lean.process.child import descendants
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.rewards.lean_reward import LeanReward
from scripts.bench._report import asked, machine, report
from scripts.bench.verify import recorded, wrong

MEMORY_MB = 1024
"""Memory limit of a process of the baseline."""


@dataclass
class RewardsBenchSettings:
    """Measure the speed of rewards."""

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
    json: Path | None = None
    """Also write the results to this file."""
    seed: int = 0


@dataclass(frozen=True)
class Asked:
    """A completion, with the statement of its prompt."""

    statement: str
    code: str
    right: bool

    @property
    def completion(self) -> str:
        return f"```lean4\n{self.code}\n```"


def completions(settings: RewardsBenchSettings) -> list[Asked]:
    """The completions of all rounds, in random order."""
    rng = random.Random(settings.seed)
    proofs = recorded()
    made = []
    for number, (statement, conclusion, proof) in enumerate(
        rng.sample(proofs, min(settings.proofs * settings.rounds, len(proofs)))
    ):
        text = "\n".join(statement).removesuffix("by").rstrip().removesuffix(":=").rstrip()
        if rng.random() < settings.wrong:
            kind = ("cut", "sorry", "axiom")[number % 3]
            made.append(Asked(text, "\n".join(wrong(kind, statement, conclusion, proof.split("\n"))), False))
        else:
            made.append(Asked(text, "\n".join([*statement, proof]), True))
    return made


@dataclass
class Way:
    """One way to compute rewards, and its measurements."""

    name: str
    pay: Callable[[Sequence[Asked]], Awaitable[list[float | None]]]
    processes: Callable[[], list[int]]
    """Ids of its processes, without this one."""
    here: bool = False
    """Whether this process computes for it, too."""
    wall: float = 0.0
    cpu: float = 0.0
    start_seconds: float = 0.0
    paid: list[float | None] = field(default_factory=list)

    async def take(self, batch: Sequence[Asked]) -> None:
        """Compute the rewards of a batch, and measure the time."""
        cpu, began = self._cpu(), time.monotonic()
        self.paid += await self.pay(batch)
        self.wall += time.monotonic() - began
        self.cpu += self._cpu() - cpu

    def _cpu(self) -> float:
        own = sum(os.times()[:4]) if self.here else 0.0
        return own + sum(cpu_seconds(pid) for pid in self.processes())

    def result(self, made: Sequence[Asked]) -> dict[str, Any]:
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


def cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of its ended children."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return sum(psutil.Process(pid).cpu_times()[:4])
    return 0.0


def rewarded(reward: LeanReward) -> Callable[[Sequence[Asked]], Awaitable[list[float | None]]]:
    """A reward that is called as TRL does: once per batch."""

    async def pay(batch: Sequence[Asked]) -> list[float | None]:
        texts, statements = [each.completion for each in batch], [each.statement for each in batch]
        return await asyncio.to_thread(reward, completions=texts, theorem=statements)

    return pay


def one_process_each(
    settings: RewardsBenchSettings, folder: Path
) -> Callable[[Sequence[Asked]], Awaitable[list[float | None]]]:
    """The baseline: each text in its own process."""
    toolchain, gate = LeanToolchain.pocket(), asyncio.Semaphore(settings.workers)
    limits, numbers = Limits(seconds=settings.seconds, memory_mb=MEMORY_MB), iter(range(10**9))

    async def one(each: Asked) -> float:
        file = folder / f"P{next(numbers)}.lean"
        file.write_text(each.code, encoding="utf-8")
        async with gate:
            command = [*toolchain.command, "--json", file.name]
            try:
                completed = await run_fresh(command, environment=toolchain.environment, folder=folder, limits=limits)
            except OutOfLimits:
                return 0.0
        return float('"severity":"error"' not in completed.output and "declaration uses" not in completed.output)

    async def pay(batch: Sequence[Asked]) -> list[float | None]:
        return list(await asyncio.gather(*(one(each) for each in batch)))

    return pay


async def bench(settings: RewardsBenchSettings) -> dict[str, Any]:
    """All measurements."""
    made = completions(settings)
    argv = [sys.executable, "-m", "node.command.cli", "serve", "--port", "0", "--workers", str(settings.workers)]
    child = await spawn_child(argv, stderr=asyncio.subprocess.PIPE)
    assert child.stderr is not None
    try:
        url = (await child.stderr.readline()).decode().split()[2].rstrip(",")
        with tempfile.TemporaryDirectory() as folder:
            ways = [
                Way("here", rewarded(_reward(settings, "here")), lambda: _below(os.getpid(), child.pid), here=True),
                Way("serve", rewarded(_reward(settings, url)), lambda: [child.pid, *descendants(child.pid)], here=True),
                Way("one_process_each", one_process_each(settings, Path(folder)), list, here=True),
            ]
            warm = Asked("theorem warm : 1 = 1", "theorem warm : 1 = 1 := by\n  rfl", True)
            for way in ways:
                began = time.monotonic()
                await way.pay([warm])
                way.start_seconds = time.monotonic() - began
            for batch in _batches(made, settings.batch):
                for way in ways:
                    await way.take(batch)
    finally:
        await kill_group(child, grace=5)
    results: dict[str, Any] = {"asked": asked(settings), "machine": machine()}
    results |= {way.name: way.result(made) for way in ways}
    base = results["one_process_each"]["rewards_per_cpu_s"]
    results["times_as_many_a_cpu_second"] = {
        way.name: round(results[way.name]["rewards_per_cpu_s"] / base, 2) for way in ways[:2]
    }
    return results


def _reward(settings: RewardsBenchSettings, where: str) -> LeanReward:
    return LeanReward(kind="proofs", where=where, seconds=settings.seconds, at_once=settings.workers)


def _below(pid: int, without: int) -> list[int]:
    """Descendants of process `pid`, except `without` and its descendants."""
    excluded = {without, *descendants(without)}
    return [each for each in descendants(pid) if each not in excluded]


def _batches(made: Sequence[Asked], size: int) -> Iterator[Sequence[Asked]]:
    for start in range(0, len(made), size):
        yield made[start : start + size]


def main(argv: Sequence[str]) -> int:
    """Entry point."""
    settings = tyro.cli(RewardsBenchSettings, args=list(argv), prog="proofmesh bench rewards")
    report(asyncio.run(bench(settings)), settings.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
