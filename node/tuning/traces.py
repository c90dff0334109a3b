"""Training data from traced proofs: files of `proofmesh trace`, LeanDojo's JSON, and lines of transitions or proofs.

A theorem of LeanDojo is {full_name, traced_tactics: [{tactic, state_before, state_after}], ...}, both in version 1
(Benchmark 4, arXiv 2306.15626) and in version 2, which adds `theorem_statement`.
"""

from __future__ import annotations

import gzip
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from common.lean import Theorem
from node.bank import statements
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.goals import split_goals, state_text
from node.lean.text.lexing import blanked
from node.lean.text.statement import StatementError, parse_statement
from node.training.errors import InputError
from node.training.proof_rows import weight_of
from node.training.rows import BadRow, fields_of, steps_of
from node.tuning.data import SORRY, Data, Proof, Step, leaves_something_out, stated_as, without_sorry

NO_GOALS = "no goals"

Row = Mapping[str, Any]


class _Tactic(msgspec.Struct):
    tactic: str
    state_before: str


class _DojoTheorem(msgspec.Struct):
    """A theorem of LeanDojo; other fields are ignored."""

    full_name: str
    traced_tactics: list[_Tactic] = []
    theorem_statement: str | None = None
    file_path: str = ""


class _Place(msgspec.Struct):
    tactic: str
    start: tuple[int, int]
    end: tuple[int, int]


class _Block(msgspec.Struct):
    tactics: list[_Place] = []


class _TracedTheorem(msgspec.Struct):
    """A theorem of theorems.jsonl; other fields are ignored."""

    name: str
    kind: str
    statement: str
    context: list[str] = []
    blocks: list[_Block] = []
    error: str = ""
    file: str = ""


def leandojo(path: Path) -> list[Step]:
    """The steps of a LeanDojo file. Theorems without tactics are skipped. Raises InputError."""
    try:
        theorems = msgspec.json.decode(path.read_bytes(), type=list[_DojoTheorem])
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path}: not a list of LeanDojo's theorems ({error}); expected [{{full_name, traced_tactics: [{{tactic, "
            "state_before}, ...]}, ...]"
        ) from error
    return [step for theorem in theorems for step in _dojo_steps(theorem)]


def _dojo_steps(theorem: _DojoTheorem) -> Iterator[Step]:
    statement = stated(theorem.theorem_statement or "")
    name = f"{theorem.file_path}:{theorem.full_name}"
    for each in theorem.traced_tactics:
        if each.state_before != NO_GOALS:
            state = state_text(split_goals(each.state_before))
            yield Step(name, state, each.tactic, statement=statement)


def steps_file(path: Path) -> list[Step]:
    """The atomic steps of a trace's steps.jsonl, or transitions in any form that `proofmesh train` reads. Raises
    InputError."""
    steps: list[Step] = []
    for where, row in lines(path):
        statement = stated(str(row.get("statement") or ""))
        prefix = f"{row.get('file', '')}:" if "file" in row else ""
        try:
            # In traces and in lines of transitions, states have the text that the policy reads.
            steps += [
                Step(
                    prefix + each.theorem,
                    each.transition.state,
                    each.transition.tactic,
                    weight_of(row, where),
                    statement,
                )
                for each in steps_of(row)
            ]
        except BadRow as error:
            raise InputError(f"{where}: {error}") from error
    return steps


def theorems_file(path: Path) -> Data:
    """Whole proofs of a trace's theorems.jsonl, as written: of theorems and lemmas whose proof is one tactic block.
    Raises InputError."""
    data = Data()
    for where, row in lines(path):
        try:
            theorem = msgspec.convert(row, _TracedTheorem)
        except msgspec.ValidationError as error:
            raise InputError(f"{where}: not a theorem of a trace: {error}") from error
        proof = _traced_proof(theorem)
        if isinstance(proof, Proof):
            data.proofs.append(proof)
        else:
            data.proofs_left_out[proof] += 1
    return data


def _traced_proof(theorem: _TracedTheorem) -> Proof | str:
    """The whole proof of a traced theorem, or the reason why there is none."""
    if theorem.error:
        return SORRY if "sorry" in theorem.error else "of theorems that Lean does not accept"
    if theorem.kind not in ("theorem", "lemma"):
        return "of definitions and examples"
    if len(theorem.blocks) != 1 or ":=" in blanked(theorem.statement):
        return "proofs that are no single block of tactics"
    try:
        stated = parse_statement(theorem.statement)
    except StatementError:
        return "statements that cannot be read"
    header = "\n".join(theorem.context)  # the header opens the namespace, so the short name is used
    script = "\n".join(each.tactic for each in _outermost(theorem.blocks[0].tactics))
    if leaves_something_out(script) or not script:
        return SORRY
    return Proof(
        Theorem(stated.name, stated.binders, stated.conclusion, header), script, place=f"{theorem.file}:{theorem.name}"
    )


def _outermost(tactics: Iterable[_Place]) -> Iterator[_Place]:
    """The tactics that are not inside another tactic."""
    end = (0, 0)
    for each in sorted(tactics, key=lambda each: (each.start, (-each.end[0], -each.end[1]))):
        if each.start >= end:
            yield each
            end = each.end


def proofs_file(path: Path) -> Data:
    """Whole proofs from lines with `statement` (or `formal_statement`), `proof` (or `formal_proof`), and optionally
    `name`, `header`, `weight`. Raises InputError."""
    data = Data()
    for where, row in lines(path):
        proof = _row_proof(row, where)
        if isinstance(proof, Proof):
            data.proofs.append(proof)
        else:
            data.proofs_left_out[proof] += 1
    return data


def _row_proof(row: Row, where: str) -> Proof | str:
    """Raises InputError."""
    statement = row.get("statement") or row.get("formal_statement")
    proof = row.get("proof") or row.get("formal_proof")
    if not isinstance(statement, str) or not isinstance(proof, str):
        raise InputError(f"{where}: expected the texts `statement` and `proof`; the row has {fields_of(row)}")
    try:
        theorem = statements.theorem(statement, str(row.get("header") or ""), str(row.get("name") or ""))
        script = textwrap.dedent(block_of(proof)).strip("\n")
        weight = weight_of(row, where)
    except statements.Refused:
        return "statements that cannot be read"
    except NoProof:
        return "proofs that cannot be read"
    except BadRow as error:
        raise InputError(f"{where}: {error}") from error
    return SORRY if leaves_something_out(script) else Proof(theorem, script, weight)


def rows_file(path: Path) -> Data:
    """The data of a file of transitions or of whole proofs; the first line decides which. Raises InputError."""
    first = next(lines(path), None)
    if first is None:
        raise InputError(f"{path}: is empty")
    _, row = first
    if "blocks" in row and "statement" in row:
        return theorems_file(path)
    if "proof" in row or "formal_proof" in row:
        return proofs_file(path)
    return without_sorry(steps_file(path))


def stated(text: str) -> str:
    """`stated_as` of a statement's text; empty if the text cannot be parsed."""
    if not text:
        return ""
    try:
        return stated_as(parse_statement(text))
    except StatementError:
        return ""


def lines(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of a .jsonl or .jsonl.gz file, each with its file and line for messages. Raises InputError."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}, line {number}", _object(f"{path}, line {number}", line)
    except (OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error


def _object(where: str, line: bytes) -> Row:
    try:
        return msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(f"{where}: not a JSON object ({error}): {line[:60]!r}") from error
