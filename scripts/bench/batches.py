"""Measures verification in batches: milliseconds per recorded proof, in a batch and alone; as JSON.

    python -m scripts.bench.batches [--sizes 1 8 50 200] [--alone 12] [--json OUT]

Each size is measured with a batch of recorded proofs, and with the same batch in which a third of the proofs is wrong
(the proof of another theorem). `alone` is the time of some single proofs, before and after each batch. All times of a
ratio are measured within a minute, so that other load on the machine affects it less. `cpu_ms` is the processor time of
Lean and of this process.
"""

from __future__ import annotations

import asyncio
import random
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from common.lean import Theorem
from common.protocol.messages import LeanVerifyReply
from data.generators.lean_check import load_truth
from node.bank.bank import load_statements
from node.lean.check.verify.verifier import Verifier
from node.lean.toolchain.lean_toolchain import LeanToolchain
from scripts.bench._report import report

Proof = tuple[Theorem, str]


@dataclass
class BatchesBenchSettings:
    """Measure verification in batches and alone."""

    sizes: tuple[int, ...] = (1, 8, 50, 200)
    """Numbers of proofs in a batch."""
    alone: int = 12
    """Proofs verified one by one, for each size."""
    at_once: int = 1
    """Concurrent checks; a lean-proxy on 2 cores runs one."""
    json: Path | None = None
    """Also write the results to this file."""
    seed: int = 0


def recorded(number: int, rng: random.Random) -> list[Proof]:
    """True theorems of the train set with their recorded proofs."""
    truth = load_truth()
    theorems = [statement.theorem for statement in load_statements("train") if truth[statement.theorem.name].true]
    return [(theorem, truth[theorem.name].script) for theorem in rng.sample(theorems, number)]


def with_wrong(proofs: Sequence[Proof]) -> list[Proof]:
    """The same theorems, but every third one with the proof of the theorem before it."""
    return [(theorem, proofs[at - 1][1] if at % 3 == 2 else script) for at, (theorem, script) in enumerate(proofs)]


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def measure(verifier: Verifier, proofs: Sequence[Proof]) -> dict[str, float]:
    """Milliseconds per proof for a batch of all proofs."""
    cpu, started = _cpu(), time.perf_counter()
    replies = await verifier.verify_many(proofs)
    wall = time.perf_counter() - started
    accepted = sum(isinstance(reply, LeanVerifyReply) and reply.accepted for reply in replies)
    return {
        "proofs": len(proofs),
        "accepted": accepted,
        "wall_ms": round(1000 * wall / len(proofs), 1),
        "cpu_ms": round(1000 * (_cpu() - cpu) / len(proofs), 1),
    }


async def bench(settings: BatchesBenchSettings) -> dict[str, Any]:
    """All measurements."""
    toolchain = await LeanToolchain.pocket().confined()
    rng = random.Random(settings.seed)
    proofs = recorded(max(settings.sizes), rng)
    few = recorded(settings.alone, rng)

    def verifier(batch: int) -> Verifier:
        return Verifier(toolchain, at_once=settings.at_once, seconds=60, memory_mb=2048, batch=batch)

    together, alone = verifier(max(settings.sizes)), verifier(1)
    results: dict[str, Any] = {}
    try:
        await asyncio.gather(*(each.verify(*few[0]) for each in (together, alone)))  # starts Lean and reads its version
        for size in settings.sizes:
            before = await measure(alone, few)
            right = await measure(together, proofs[:size])
            wrong = await measure(together, with_wrong(proofs[:size]))
            after = await measure(alone, few)
            single = {key: (before[key] + after[key]) / 2 for key in ("wall_ms", "cpu_ms")}
            results[str(size)] = {
                "alone": single,
                "together": right,
                "a_third_wrong": wrong,
                "times_faster": round(single["wall_ms"] / right["wall_ms"], 1),
                "times_less_cpu": round(single["cpu_ms"] / right["cpu_ms"], 1),
            }
    finally:
        await together.stop()
        await alone.stop()
    return results


def main(argv: Sequence[str]) -> int:
    """Entry point."""
    settings = tyro.cli(BatchesBenchSettings, args=list(argv), prog="proofmesh bench batches")
    report(asyncio.run(bench(settings)), settings.json)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
