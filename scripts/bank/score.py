"""Reads which statements of the bank are true, with proofs. Only for scoring and checks: no node reads this file.

python -m scripts.bank.score [FOLDER]     # checks all these proofs with Lean
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import msgspec

from common.lean import Theorem
from node.bank.bank import DIRECTORY, SPLITS, load_statements
from scripts.bank.lean_check import CHUNK, run_blocks


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
    """Entry point of `python -m scripts.bank.score`."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
    truth = load_truth(directory)
    statements = [statement.theorem for split in SPLITS for statement in load_statements(split, directory)]
    bad = refused([(truth[theorem.name].goal(theorem), truth[theorem.name].script) for theorem in statements])
    false = sum(not row.true for row in truth.values())
    print(f"{len(statements)} statements, {false} of them false; proofs that Lean refuses: {len(bad)} {bad[:5]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
