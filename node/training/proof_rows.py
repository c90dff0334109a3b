"""Parses rows of whole proofs: a statement and its proof, from a dataset or from the folder of a run or an
evaluation."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.lean import Theorem
from common.protocol.attempts import Purpose
from common.records import readers as run_proofs
from node.bank import statements
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.lexing import blanked
from node.model.prompt import unnamed
from node.training.errors import InputError
from node.training.rows import REFUSED, BadRow, Row, fields_of

STATEMENT_FIELDS = ("statement", "formal_statement")
PROOF_FIELDS = ("proof", "formal_proof")

STATEMENTS, ATTEMPTS = "statements.jsonl", "attempts.jsonl"
"""In the folder of an evaluation."""

MOST = 1_000_000
"""Proofs of a run that are read."""

_REFUSED = re.compile(rf"\b(?:{'|'.join(REFUSED)})\b")


@dataclass(frozen=True)
class TheoremProof:
    """A statement and its proof, as they are written; held-out data is chosen by theorem."""

    theorem: str
    statement: str
    """`unnamed`."""
    proof: str
    """A block of tactics, from column 0 on."""
    weight: float = 1.0
    """Of its tokens in the loss."""


class _Solved(msgspec.Struct):
    """What an evaluation's lines say of an attempt."""

    name: str
    script: str = ""


class _Stated(msgspec.Struct):
    name: str
    theorem: Theorem


def proof_of(row: Row) -> TheoremProof | None:
    """The statement and the proof of a row; None where the proof leaves something out (`sorry`). Raises BadRow."""
    statement, proof = (next((row[name] for name in names if row.get(name)), None) for names in _FIELDS)
    if not isinstance(statement, str) or not isinstance(proof, str):
        name = " (a file for the policy `proofs:FILE` names its statements, and does not hold them)"
        raise BadRow(
            f"no whole proof: expected the texts `statement` and `proof`; the row has {fields_of(row)}"
            f"{name if proof and row.get('name') else ''}"
        )
    try:
        signature = statements.theorem(statement).signature
        block = block_of(proof)
    except statements.Refused as error:
        raise BadRow(f"`statement` is none: {error}; it is {statement[:80]!r}") from error
    except NoProof as error:
        raise BadRow(f"`proof` is none: {error}; it is {proof[:80]!r}") from error
    if _REFUSED.search(blanked(block)):
        return None
    # A row without a name is a theorem of its own.
    stated = unnamed(signature)
    weight = weight_of(row, statement)
    return TheoremProof(str(row.get("name") or row.get("theorem") or stated), stated, block, weight)


_FIELDS = (STATEMENT_FIELDS, PROOF_FIELDS)


def weight_of(row: Row, which: str) -> float:
    """The `weight` of a row, 1 where it has none. `which`: what shows the row in a message. Raises BadRow."""
    weight = row.get("weight")
    if weight is None:
        return 1.0
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise BadRow(
            f"`weight` is {weight!r} in the row of {which[:80]!r}; make it a finite number above 0, or leave it out (1)"
        )
    return float(weight)


def found_in(folder: Path) -> list[Row]:
    """The proofs that a run has found and verified, those of its evaluations left out; or those of the evaluation that
    the folder holds. Raises InputError."""
    if (folder / run_proofs.DATABASE).exists():
        return list(_of_run(folder / run_proofs.DATABASE))
    if (folder / ATTEMPTS).exists():
        return list(_of_evaluation(folder))
    raise InputError(
        f"data proofs:{folder}: no proofs are there: neither {run_proofs.DATABASE} of a run nor {ATTEMPTS} of an "
        "evaluation"
    )


def _of_run(database: Path) -> Iterator[Row]:
    """Raises InputError."""
    try:
        found = run_proofs.latest(database, MOST)
    except run_proofs.UnreadableRecords as error:
        raise InputError(f"data proofs:{database.parent}: {error}") from error
    for _, each in found:
        if each.purpose != Purpose.EVAL:
            yield {"name": each.theorem_id, "statement": each.lean, "proof": each.lean}


def _of_evaluation(folder: Path) -> Iterator[Row]:
    """Raises InputError."""
    signatures: dict[str, str] = {}
    try:
        for line in (folder / STATEMENTS).read_bytes().splitlines():
            stated = msgspec.json.decode(line, type=_Stated)
            signatures[stated.name] = stated.theorem.signature
        for line in (folder / ATTEMPTS).read_bytes().splitlines():
            solved = msgspec.json.decode(line, type=_Solved)
            if solved.script and solved.name in signatures:
                yield {"name": solved.name, "statement": signatures[solved.name], "proof": solved.script}
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"data proofs:{folder}: not a whole evaluation ({error})") from error
