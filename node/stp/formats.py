"""Reads and writes rows in the format of STP's published data: kfdong/STP_Lean_0320 and STP_Lean_SFT. Pure except for
`write`.

A row has `prompt` and `target`. STP_Lean_0320 also has `iteration` and `tag`, and STP's trainer reads `weight`.

    prompt                                                       target
    Complete the following Lean 4 code: ```lean4 HEADER STATEMENT := by     the proof
    Complete the following Lean 4 code: ```lean4 CONTEXT         a theorem of Mathlib with its proof
    ... HEADER <lemma> L <easy theorem> T := by P <hard theorem>  a statement </hard theorem>

Sources: `format_data`, `format_and_deduplicate_conjecture` and `prepare_datasets.py` of kfdong/STP.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from common.files import replacing
from common.lean import Theorem
from node.bank import statements
from node.bank.statements import Row
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.lexing import blanked
from node.stp.parsing import END
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Lemma, ProverExample, Seed

INSTRUCTION = "Complete the following Lean 4 code:\n\n```lean4\n"

_FENCE = re.compile(r"```(?:lean4?)?[ \t]*\n")
_CONJECTURE = re.compile(
    r"(?P<header>.*)<lemma>\n(?P<lemma>.*?)\n<easy theorem>\n(?P<easy>.*?)\n?<hard theorem>", re.DOTALL
)
_LEFT_OPEN = re.compile(r":=\s*(?:by\b\s*)?\Z")
_UNPROVED = re.compile(r"(?<![\w.'])(?:sorry|admit)(?![\w'])")


class BadRow(ValueError):
    """A row is not in the format of STP's data; the text says why."""


@dataclass(frozen=True)
class ProofRow:
    """A statement with its proof."""

    theorem: Theorem
    script: str
    conjectured: bool = False
    """Whether the statement is a conjecture of STP's own self-play."""


@dataclass(frozen=True)
class ConjectureRow:
    """A conjecture and its seed."""

    seed: Seed
    conjecture: Theorem


def is_reference_row(row: Row) -> bool:
    """Whether a row has the fields of STP's data."""
    return isinstance(row.get("prompt"), str) and isinstance(row.get("target"), str)


def read_row(row: Row) -> ProofRow | ConjectureRow:
    """A row of either data set. Raises BadRow."""
    if not is_reference_row(row):
        raise BadRow(f"the row needs the texts `prompt` and `target`, but has {', '.join(row) or 'no fields'}")
    prompt, target = row["prompt"], row["target"].split("\n```")[0]
    fence = _FENCE.search(prompt)
    if fence is None:
        raise BadRow("the prompt has no Lean code after ```lean4")
    code = prompt[fence.end() :]
    try:
        if match := _CONJECTURE.match(code):
            return _conjecture(match["header"], match["lemma"], match["easy"], target)
        return _proof(code, target, "conjecture" in str(row.get("tag", "")))
    except (statements.Refused, NoProof) as error:
        raise BadRow(str(error)) from error


def _proof(code: str, target: str, conjectured: bool) -> ProofRow:
    """Raises Refused, NoProof, BadRow."""
    if _LEFT_OPEN.search(code):
        theorem = statements.theorem(code)
        whole = code.rstrip() + (target if target[:1].isspace() else f"\n{target}")
    else:
        theorem, whole = statements.theorem(target, code), target
    return ProofRow(theorem, _proved(whole, theorem.name), conjectured)


def _conjecture(header: str, lemma: str, easy: str, target: str) -> ConjectureRow:
    """Raises Refused, NoProof, BadRow."""
    theorem = statements.theorem(easy, header)
    hard = statements.theorem(target.split(END)[0], header)
    return ConjectureRow(Seed(theorem, _proved(easy, theorem.name), _lemma(lemma)), hard)


def _proved(text: str, name: str) -> str:
    """Raises NoProof, BadRow."""
    script = block_of(text, name)
    if gap := _UNPROVED.search(blanked(script)):
        raise BadRow(f"the proof has `{gap.group()}`")
    return script


def _lemma(text: str) -> Lemma:
    """Read a lemma. STP's data also has its proof, which is ignored. Raises Refused."""
    theorem = statements.theorem(text)
    if theorem.name == EMPTY_LEMMA.name and not theorem.binders and theorem.conclusion == "True":
        return EMPTY_LEMMA
    return Lemma(theorem.name, " ".join(theorem.signature.split()))


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


def write(
    path: Path,
    proofs: Iterable[ProverExample],
    conjectures: Iterable[ConjecturerExample] = (),
    iteration: int | None = None,
) -> int:
    """Write a run's proofs and conjectures as rows of STP's data; returns their number. The suffix decides the format:
    `.json` (one list, which STP's trainer reads), `.jsonl`, or `.parquet` (as on the hub). Raises ValueError for other
    suffixes, and OSError."""
    rows = [
        *(proof_row(each, iteration) for each in proofs),
        *(conjecture_row(each, iteration) for each in conjectures),
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        _write(temporary, path.suffix, rows)
    return len(rows)


def _write(path: Path, suffix: str, rows: Sequence[dict[str, Any]]) -> None:
    """Raises ValueError, OSError."""
    if suffix == ".json":
        path.write_bytes(msgspec.json.encode(rows))
    elif suffix == ".jsonl":
        path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    elif suffix == ".parquet":
        import datasets

        datasets.disable_progress_bars()
        datasets.Dataset.from_list(list(rows)).to_parquet(path)
    else:
        raise ValueError(f"{suffix or 'no suffix'}: name a file that ends in .json, .jsonl or .parquet")
