"""Reads the output of `proofmesh trace` as data of self-play: lemmas, and proofs with the lemmas that they invoke,
which are the premises reported by Lean. Pure except for reading files.

A theorem gives an initial proof if its whole proof is one tactic block that the trace could split into steps. If the
trace also has the texts above theorems (`proofmesh trace --context`), theorems are also statements to prove, each at
its position in its file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from common.lean import ProofTree, Theorem
from common.places import Context
from node.bank import statements
from node.bank.sources import SourceProblem
from node.lean.text.script import below, proof_lines
from node.lean.trace.records import TracedBlock, TracedStep, TracedTheorem
from node.stp.lemmas import TRACED, without_proof
from node.stp.pairs import Given
from node.stp.records import Lemma, Proof, Statement

CONTEXTS = "contexts.jsonl"

_THEOREMS = ("theorem", "lemma")
_SIGNS = 4
"""Characters between the end of a statement and `by` in the same line: ` := `."""


class _Row(TracedTheorem, frozen=True, kw_only=True):
    file: str = ""


class _Text(msgspec.Struct):
    text: str
    contexts: dict[str, int] = {}


Read = tuple[list[Statement], list[Given], list[Lemma], list[str]]


def from_trace(folder: Path, split: str = "train") -> Read:
    """Read statements, proofs, lemmas and problems with skipped rows from a folder that `proofmesh trace` has written.
    Raises SourceProblem if it cannot be read."""
    contexts = _contexts(folder / CONTEXTS)
    read: Read = ([], [], [], [])
    stated, proofs, lemmas, problems = read
    rows: list[tuple[_Row, Theorem]] = []
    for where, row in _rows(folder / TRACED):
        if isinstance(row, str) or row.error:
            problems.append(f"{where}: {row if isinstance(row, str) else row.error}")
            continue
        if row.kind not in _THEOREMS or not row.name:
            continue
        try:
            rows.append((row, statements.theorem(without_proof(row.statement), name=row.name)))
        except statements.Refused as error:
            problems.append(f"{where}: {row.name}: {error}")
    lemmas += [Lemma(row.name, " ".join(theorem.signature.split())) for row, theorem in rows]
    names = {each.name for each in lemmas}
    for row, theorem in rows:
        if row.context_digest in contexts:
            stated.append(Statement(below(contexts[row.context_digest], theorem), split))
        if split == "train" and (block := _whole(row)) is not None:
            with_header = msgspec.structs.replace(theorem, header="\n".join(row.context))
            proof = Proof(row.name, _script(block), lemmas=_lemmas(block, names, row.name))
            proofs.append(Given(with_header, proof, row.file))
    return read


def _rows(path: Path) -> Iterator[tuple[str, _Row | str]]:
    """Raises SourceProblem."""
    for number, line in enumerate(_lines(path), start=1):
        where = f"{path}, line {number}"
        try:
            yield where, msgspec.json.decode(line, type=_Row)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield where, str(error)


def _contexts(path: Path) -> dict[str, Context]:
    """The texts above theorems, by digest; empty if the trace has none. Raises SourceProblem."""
    contexts: dict[str, Context] = {}
    for number, line in enumerate(_lines(path) if path.exists() else (), start=1):
        try:
            row = msgspec.json.decode(line, type=_Text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SourceProblem(f"{path}, line {number}: {error}; trace the project again") from error
        contexts |= {digest: Context.of(row.text[:end]) for digest, end in row.contexts.items()}
    return contexts


def _lines(path: Path) -> list[bytes]:
    """Raises SourceProblem."""
    try:
        return [line for line in path.read_bytes().split(b"\n") if line.strip()]
    except OSError as error:
        raise SourceProblem(f"{path}: cannot be read ({error})") from error


def _whole(theorem: TracedTheorem) -> TracedBlock | None:
    """The tactic block that is a theorem's whole proof; None if there is no such block."""
    lines = without_proof(theorem.statement).split("\n")
    line = theorem.start[0] + len(lines) - 1
    column = len(lines[-1]) + (theorem.start[1] if len(lines) == 1 else 0)
    for block in theorem.blocks:
        near = block.start[0] == line and block.start[1] - column <= _SIGNS
        if block.steps and block.end == theorem.end and (near or block.start[0] == line + 1):
            return block
    return None


def _script(block: TracedBlock) -> str:
    children: dict[int, list[int]] = {}
    for number, step in enumerate(block.steps):
        children.setdefault(step.parent, []).append(number)
    return "\n".join(proof_lines(_tree(block.steps, children, children[-1][0]), ""))


def _tree(steps: tuple[TracedStep, ...], children: dict[int, list[int]], root: int) -> ProofTree:
    """Build the proof tree from the last step upwards, because recursion could exceed Python's limit."""
    trees: dict[int, ProofTree] = {}
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        below_it = sorted(children.get(number, ()), key=lambda each: steps[each].branch)
        trees[number] = ProofTree(step.tactic, step.layout, tuple(trees[each] for each in below_it), step.state)
    return trees[root]


def _lemmas(block: TracedBlock, names: set[str], own: str) -> tuple[str, ...]:
    """The theorems of the trace that a block's tactics name, in order."""
    premises = (premise.full_name for tactic in block.tactics for premise in tactic.premises)
    return tuple(dict.fromkeys(name for name in premises if name in names and name != own))
