"""A verifier of proofs; the bank's own proofs, and broken variants of them."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from common.lean import Theorem
from data.generators.lean_check import load_truth
from node.bank.bank import load_statements
from node.lean.check.verify.verifier import Verifier
from node.lean.toolchain.lean_toolchain import LeanToolchain

Proof = tuple[Theorem, str]


@asynccontextmanager
async def opened(toolchain: LeanToolchain | None = None, **changes: Any) -> AsyncIterator[Verifier]:
    """A verifier of proofs; `changes`: to its limits."""
    limits = {"at_once": 1, "seconds": 60, "memory_mb": 2048, **changes}
    verifier = Verifier(toolchain or LeanToolchain.pocket(), **limits)
    try:
        yield verifier
    finally:
        await verifier.stop()


def honest(number: int) -> list[Proof]:
    """Theorems of the train set with the proofs that the bank's generator wrote."""
    theorems = {bank.theorem.name: bank.theorem for bank in load_statements("train")}
    proofs = [(theorems[row.name], row.proof) for row in load_truth().values() if row.true and row.name in theorems]
    return random.Random(3).sample(proofs, number)


def broken(rng: random.Random, proof: Proof, other: Proof) -> Proof:
    """A variant of a proof, mostly a wrong one: a line removed, another theorem's proof, a changed statement, ..."""
    theorem, script = proof
    lines = script.split("\n")
    scripts = [other[1], *("\n".join(each) or "skip" for each in (lines[:-1], lines[1:], [*lines, lines[-1]]))]
    scripts += [script.replace(" ", "  ", 1), f"{script}\nskip)", f"{script}\nskip\n  done", f"sorry\n{script}"]
    scripts.append(f"trace {json.dumps(script.split()[0])}\n{script}")
    scripts.append(script.replace("exact", "refine", 1).replace("h", "k", 1))
    changes = [{"binders": ""}, {"conclusion": f"¬({theorem.conclusion})"}, {"name": "other.name"}]
    changes.append({"conclusion": theorem.conclusion + " ∧ nothing"})
    theorems = [other[0], *(replace(theorem, **each) for each in changes)]
    return rng.choice([*((theorem, each) for each in scripts), *((each, script) for each in theorems)])


def with_broken(number: int, seed: int) -> list[Proof]:
    """Recorded proofs, a third of them broken."""
    rng = random.Random(seed)
    proofs = honest(number)
    return [broken(rng, proof, rng.choice(proofs)) if rng.random() < 1 / 3 else proof for proof in proofs]
