"""The bank's own proofs, and broken variants of them."""

import gzip
import json
import random

from msgspec.structs import replace

from common.lean import Theorem
from node.bank.bank import DIRECTORY, load_statements

Proof = tuple[Theorem, str]


def honest(number: int) -> list[Proof]:
    """Theorems of the train set with the proofs that the bank's generator wrote."""
    theorems = {bank.theorem.name: bank.theorem for bank in load_statements("train")}
    with gzip.open(DIRECTORY / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    proofs = [(theorems[row["name"]], row["proof"]) for row in rows if row["true"] and row["name"] in theorems]
    return random.Random(3).sample(proofs, number)


def broken(rng: random.Random, proof: Proof, other: Proof) -> Proof:
    """A variant of a proof, mostly a wrong one: a line removed, another theorem's proof, a changed statement, ..."""
    theorem, script = proof
    lines = script.split("\n")
    return rng.choice(
        [
            (theorem, "\n".join(lines[:-1]) or "skip"),
            (theorem, "\n".join(lines[1:]) or "skip"),
            (theorem, "\n".join([*lines, lines[-1]])),
            (theorem, other[1]),
            (other[0], script),
            (theorem, script.replace(" ", "  ", 1)),
            (theorem, script + "\nskip)"),
            (theorem, script + "\nskip\n  done"),
            (theorem, "sorry\n" + script),
            (theorem, f"trace {json.dumps(script.split()[0])}\n{script}"),
            (theorem, script.replace("exact", "refine", 1).replace("h", "k", 1)),
            (replace(theorem, binders=""), script),
            (replace(theorem, conclusion=f"¬({theorem.conclusion})"), script),
            (replace(theorem, conclusion=theorem.conclusion + " ∧ nothing"), script),
            (replace(theorem, name="other.name"), script),
        ]
    )


def with_broken(number: int, seed: int) -> list[Proof]:
    """Recorded proofs, a third of them broken."""
    rng = random.Random(seed)
    proofs = honest(number)
    return [broken(rng, proof, rng.choice(proofs)) if rng.random() < 1 / 3 else proof for proof in proofs]
