"""What does a verification cost in batches? Milliseconds a proof, together and alone, on recorded proofs; as JSON.

    python -m scripts.bench.batches [--sizes 1 8 50 200] [--alone 12] [--json OUT]

For each size: so many recorded proofs in one go, and then the same with a third of them wrong (another theorem's
proof). `alone` is the same check of single proofs, a few, before and after each: the ratio is within one minute, so
other work on the machine changes it less. `cpu_ms` is processor time of Lean and of this process.
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
from common.messages import LeanVerifyReply
from node.bank.bank import load_statements
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verifier import Verifier
from scripts.bank.score import load_truth
from scripts.bench._report import report

Proof = tuple[Theorem, str]


@dataclass
class BatchesBenchSettings:
    """Verification in batches and alone."""

    sizes: tuple[int, ...] = (1, 8, 50, 200)
    """Proofs verified in one go."""
    alone: int = 12
    """Proofs verified one by one, beside each size."""
    at_once: int = 1
    """Checks side by side; a lean-proxy on 2 cores does one."""
    json: Path | None = None
    """Write the numbers here as well."""
    seed: int = 0


def recorded(number: int, rng: random.Random) -> list[Proof]:
    """Theorems of the train set with their recorded proofs, where they are true."""
    truth = load_truth()
    theorems = [statement.theorem for statement in load_statements("train") if truth[statement.theorem.name].true]
    return [(theorem, truth[theorem.name].script) for theorem in rng.sample(theorems, number)]


def with_wrong(proofs: Sequence[Proof]) -> list[Proof]:
    """The same with every third proof taken from the theorem before it."""
    return [(theorem, proofs[at - 1][1] if at % 3 == 2 else script) for at, (theorem, script) in enumerate(proofs)]


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
    return sum(each.ru_utime + each.ru_stime for each in used)


async def measure(verifier: Verifier, proofs: Sequence[Proof]) -> dict[str, float]:
    """Milliseconds a proof for all of them in one go."""
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
        await asyncio.gather(*(each.verify(*few[0]) for each in (together, alone)))  # Lean is asked for its version
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
