"""Rows as STP's published data has them: kfdong/STP_Lean_0320 and STP_Lean_SFT."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from node.stp.data.statements import END
from node.stp.records import ConjecturerExample, ProverExample

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
