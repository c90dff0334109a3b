"""Checks generated proofs with real Lean: many at once, with the state before each tactic.

python -m data.generators.lean_check [FOLDER]     # checks all proofs of a bank with Lean
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.lean import ProofTree, Theorem
from node.bank.bank import DIRECTORY, SPLITS, load_statements
from node.lean.text.goals import factorise, split_goals
from node.lean.text.script import proof_lines

# ----------------------------------------------------------------------------------------------------------------------
# Checks many generated proofs with real Lean at once, and records the state before each tactic.

CHUNK = 300
"""Theorems per process: many enough to make its start (50 ms) negligible, few enough to stay under 400 MB."""

TRACE = "trace_state"

OPTIONS = ("-DmaxHeartbeats=20000", "-DautoImplicit=false", "-Dlinter.all=false")
"""The heartbeats are a tenth of Lean's default, far more than a generated proof needs."""


@dataclass
class Checked:
    """Lean's result for one theorem with its proof."""

    errors: list[str] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    """The state before every tactic of the proof, in pre-order, as the policy reads it."""

    @property
    def proved(self) -> bool:
        return not self.errors


def run_lean(text: str, timeout: float = 600) -> list[dict[str, Any]]:
    """Lean's messages about a file. Raises RuntimeError if Lean itself fails, and subprocess.TimeoutExpired."""
    from node.lean.toolchain.pocket import build

    command = [*build.command(), "--json", "--stdin", "-DmaxErrors=1000000", *OPTIONS]
    outcome = subprocess.run(
        command, env=build.environment(), input=text, capture_output=True, text=True, timeout=timeout, check=False
    )
    if outcome.returncode not in (0, 1):
        raise RuntimeError(f"lean ended with code {outcome.returncode}: {outcome.stderr.strip()[-500:]}")
    return [json.loads(line) for line in outcome.stdout.splitlines() if line.startswith("{")]


def traced(proof: ProofTree) -> ProofTree:
    """The proof with `trace_state` before every tactic."""
    children = tuple(traced(child) for child in proof.children)
    return ProofTree(f"{TRACE}\n{proof.tactic}", proof.layout, children)


def preorder(proof: ProofTree) -> Iterable[ProofTree]:
    """The nodes of a proof in the order of its script. Every branch must have one goal, in Lean's order."""
    yield proof
    for child in proof.children:
        yield from preorder(child)


def check(items: Sequence[tuple[Theorem, ProofTree]]) -> list[Checked]:
    """Check every theorem with its proof: Lean's errors, and the state before each tactic."""
    results: list[Checked] = []
    for start in range(0, len(items), CHUNK):
        results += _check_chunk(items[start : start + CHUNK])
    return results


def _check_chunk(items: Sequence[tuple[Theorem, ProofTree]]) -> list[Checked]:
    blocks = [[f"{theorem.signature} := by", *proof_lines(traced(proof))] for theorem, proof in items]
    results = [Checked() for _ in blocks]
    for index, _, message in run_blocks(blocks):
        if message["severity"] == "error":
            results[index].errors.append(message["data"])
        elif message["severity"] == "information":
            branches = factorise(split_goals(message["data"]))
            if len(branches) == 1:
                results[index].states.append(branches[0].state)
            else:
                results[index].errors.append(f"{len(branches)} branches instead of one")
    for result, (_, proof) in zip(results, items, strict=True):
        if not result.errors and len(result.states) != sum(1 for _ in preorder(proof)):
            result.errors.append("a tactic was not reached")
    return results


def run_blocks(blocks: Sequence[Sequence[str]]) -> list[tuple[int, int, dict[str, Any]]]:
    """Lean's messages about blocks of lines, in the file's order. Each comes with the index of its block and its line
    in the block."""
    owners: list[tuple[int, int]] = []
    lines: list[str] = []
    for index, block in enumerate(blocks):
        block_lines = [line for part in block for line in part.split("\n")]
        lines += [*block_lines, ""]
        owners += [(index, line) for line in range(len(block_lines) + 1)]
    located = [(*owners[message["pos"]["line"] - 1], message) for message in run_lean("\n".join(lines))]
    return sorted(located, key=lambda item: (item[0], item[1]))


def closed_by(theorems: Sequence[Theorem], tactic: str) -> list[bool]:
    """Whether `intros` followed by this tactic proves each statement."""
    results = [True] * len(theorems)
    for start in range(0, len(theorems), CHUNK):
        part = theorems[start : start + CHUNK]
        blocks = [[f"{theorem.signature} := by", "  intros", f"  {tactic}"] for theorem in part]
        for index, _, message in run_blocks(blocks):
            if message["severity"] == "error":
                results[start + index] = False
    return results


# ----------------------------------------------------------------------------------------------------------------------
# Reads which statements of the bank are true, with proofs. Only for scoring and checks: no node reads this file.


class Truth(msgspec.Struct, frozen=True):
    """Whether a statement is true, and the tactic block that proves it or its negation."""

    name: str
    true: bool
    proof: str = ""
    negation_proof: str = ""

    def goal(self, theorem: Theorem) -> Theorem:
        """The statement that the proof proves: the theorem or its negation."""
        return theorem if self.true else theorem.negation()

    @property
    def script(self) -> str:
        return self.proof if self.true else self.negation_proof


def load_truth(directory: Path = DIRECTORY) -> dict[str, Truth]:
    """Truth by statement name."""
    lines = gzip.decompress((directory / "truth.jsonl.gz").read_bytes()).splitlines()
    rows = [msgspec.json.decode(line, type=Truth) for line in lines]
    return {row.name: row for row in rows}


def refused(items: list[tuple[Theorem, str]]) -> list[str]:
    """Names of the theorems whose proofs Lean refuses, or accepts with a warning (`sorry`)."""
    bad = []
    for start in range(0, len(items), CHUNK):
        part = items[start : start + CHUNK]
        blocks = [[f"{theorem.signature} := by", script] for theorem, script in part]
        bad += [
            part[index][0].name
            for index, _, message in run_blocks(blocks)
            if message["severity"] in ("error", "warning")
        ]
    return sorted(set(bad))


def main() -> int:
    """Entry point of `python -m data.generators.lean_check`."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
    truth = load_truth(directory)
    statements = [statement.theorem for split in SPLITS for statement in load_statements(split, directory)]
    bad = refused([(truth[theorem.name].goal(theorem), truth[theorem.name].script) for theorem in statements])
    false = sum(not row.true for row in truth.values())
    print(f"{len(statements)} statements, {false} of them false; proofs that Lean refuses: {len(bad)} {bad[:5]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
