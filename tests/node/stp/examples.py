"""Small statements, proofs and conjectures, and rows as the published data of STP has them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from common.lean import Theorem
from node.stp.data.statements import END
from node.stp.records import Attempted, Conjecture, ConjecturerExample, Fate, Lemma, Output, Proof, ProverExample, Seed

COMM = Lemma("Nat.add_comm", "theorem Nat.add_comm (n m : Nat) : n + m = m + n")
EASY = Theorem("easy", "(a b : Nat)", "a + b = b + a")


def output(text: str, *, complete: bool = True) -> Output:
    return Output(text, complete, tokens=0)


def seed_of(lemma: Lemma = COMM, theorem: Theorem = EASY) -> Seed:
    return Seed(theorem, "rw [Nat.add_comm]", lemma)


def conjecture_of(number: int, lemma: Lemma = COMM) -> Conjecture:
    theorem = Theorem(f"conjecture_1_{number}", "(n : Nat)", f"n + {number:03d} = {number:03d} + n")
    return Conjecture(theorem.name, 1, seed_of(lemma), theorem.signature, Fate.PROVED, theorem)


def proof_of(name: str, length: int, lemmas: tuple[str, ...] = (COMM.name,), seconds: float = 0.0) -> Proof:
    """A proof of so many characters."""
    return Proof(name, "x" * length, seconds, lemmas)


def attempted_of(
    name: str, correct: int, samples: int = 32, lengths: tuple[int, ...] = (20,), lemmas: tuple[str, ...] = (COMM.name,)
) -> Attempted:
    return Attempted(name, samples, correct, tuple(proof_of(name, length, lemmas) for length in lengths))


HEADER = "import Mathlib\nimport Aesop\nset_option maxHeartbeats 400000\nopen BigOperators Real Nat Topology Rat"

ASK = f"Complete the following Lean 4 code:\n\n```lean4\n{HEADER}\n\n"

CONTEXT = "Complete the following Lean 4 code:\n\n```lean4\nimport Mathlib.Init\n\nnamespace Foo\nvariable (n : ℕ)\n\n"

GENERATED = {
    "prompt": f"{ASK}theorem lean_workbook_1 (a b : ℝ) (h : a < b) : a ≤ b := by",
    "target": "\n  have := h\n  exact le_of_lt this\n",
    "iteration": 3,
    "tag": "['statement']",
}

MATHLIB = {"prompt": CONTEXT, "target": "@[simp] theorem one (h : n = 1) : 1 = n := by\n  exact h.symm\n"}

CONJECTURER = {
    "prompt": f"{ASK}<lemma>\nlemma sq_nonneg (a : α) : 0 ≤ a ^ 2\n<easy theorem>\n"
    "theorem x (a : ℝ) : 0 ≤ a ^ 2 := by\n  exact sq_nonneg a\n<hard theorem>",
    "target": "\ntheorem y (a b : ℝ) : 0 ≤ a ^ 2 + b ^ 2 := by\n</hard theorem>",
}


INSTRUCTION = "Complete the following Lean 4 code:\n\n```lean4\n"


def proof_row(example: ProverExample, iteration: int | None = None) -> dict[str, Any]:
    """A proof as a row; with `iteration`, as in STP_Lean_0320."""
    theorem = example.theorem
    prompt = f"{INSTRUCTION}{_above(theorem.header)}{theorem.signature} := by"
    target = "\n" + "\n".join(f"  {line}" if line else line for line in example.proof.split("\n"))
    return _row(prompt, target, example.weight, iteration, "conjecture" if example.conjectured else "statement")


def conjecture_row(example: ConjecturerExample, iteration: int | None = None) -> dict[str, Any]:
    """A conjecture as a row. STP_Lean_0320 has no conjecture rows; all its rows are proofs."""
    seed = example.seed
    proof = "\n".join(f"  {line}" if line else line for line in seed.proof.split("\n"))
    prompt = (
        f"{INSTRUCTION}{_above(seed.theorem.header)}<lemma>\n{seed.lemma.statement}\n<easy theorem>\n"
        f"{seed.theorem.signature} := by\n{proof}\n<hard theorem>"
    )
    return _row(prompt, f"\n{example.conjecture}\n{END}", example.weight, iteration, "conjecturer")


def _above(header: str) -> str:
    return f"{header.strip()}\n\n" if header.strip() else ""


def _row(prompt: str, target: str, weight: float, iteration: int | None, tag: str) -> dict[str, Any]:
    row: dict[str, Any] = {"prompt": prompt, "target": target}
    return row | ({"weight": weight} if iteration is None else {"iteration": iteration, "tag": f"['{tag}']"})


def write(path: Path, proofs: Iterable[ProverExample], conjectures: Iterable[ConjecturerExample] = ()) -> int:
    """Write proofs and conjectures as rows; returns their number. The suffix decides the format: `.json` (one list,
    which STP's trainer reads), `.jsonl`, or `.parquet` (as on the hub)."""
    rows = [*map(proof_row, proofs), *map(conjecture_row, conjectures)]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".json":
        path.write_bytes(msgspec.json.encode(rows))
    elif path.suffix == ".jsonl":
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    else:
        import datasets

        datasets.disable_progress_bars()
        datasets.Dataset.from_list(list(rows)).to_parquet(path)
    return len(rows)
