"""Reads the sources of self-play's data: a bank, a trace of a project, or rows of a data set. Bad rows are reported and
skipped.

In a trace (`proofmesh trace`) Lean itself reports the premises of a proof. A theorem gives an initial proof if its
whole proof is one tactic block that the trace could split into steps. If the trace also has the texts above theorems
(`--context`), theorems are also statements to prove, each at its position in its file.

STP's published data (kfdong/STP_Lean_0320 and STP_Lean_SFT) has rows of `prompt` and `target`. STP_Lean_0320 also has
`iteration` and `tag`, and STP's trainer reads `weight`. Sources: `format_data`, `format_and_deduplicate_conjecture` and
`prepare_datasets.py` of kfdong/STP.

    prompt                                                       target
    Complete the following Lean 4 code: ```lean4 HEADER STATEMENT := by     the proof
    Complete the following Lean 4 code: ```lean4 CONTEXT         a theorem of Mathlib with its proof
    ... HEADER <lemma> L <easy theorem> T := by P <hard theorem>  a statement </hard theorem>
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from common.files import NOT_JSON, unpacked
from common.lean import Context, ProofTree, Theorem
from node.bank import bank, statements
from node.bank.bank import BankError, load_proofs
from node.bank.importing import format_of
from node.bank.sources import Source, find
from node.bank.statements import UNREAD, Row
from node.lean.text.declarations import NoProof, block_of
from node.lean.text.lexing import blanked
from node.lean.text.script import below, proof_lines
from node.lean.trace.records import TracedBlock, TracedTheorem
from node.stp.data.lemmas import TRACED, Library, without_proof
from node.stp.data.statements import END
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Given, Lemma, Proof, Seed, Statement

BANK = "bank"
"""The bank of this repository."""

_UNPROVED = re.compile(r"(?<![\w.'])(?:sorry|admit)(?![\w'])")


@dataclass
class Found:
    """The data of a source."""

    source: str
    statements: list[Statement] = field(default_factory=list)
    proofs: list[Given] = field(default_factory=list)
    conjectures: list[ConjecturerExample] = field(default_factory=list)
    lemmas: list[Lemma] = field(default_factory=list)
    protected: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    """Skipped rows: where, and why."""


def read(source: str, *, test: bool = False, data: Sequence[Path] = (), most: int = 0) -> Found:
    """Read a source. `test`: all its statements are test statements; `data`: folders with copies of data sets; `most`:
    maximum rows to read, 0 for all. Raises BankError."""
    if source == BANK:
        return _of_bank(bank.DIRECTORY, test)
    path = Path(source)
    if (path / TRACED).is_file():
        return _of_trace(path, test)
    located = find(source, data)
    if located.is_bank:
        return _of_bank(path, test)
    return _of_rows(located, test, most)


def _of_bank(directory: Path, test: bool) -> Found:
    """Raises BankError."""
    own = directory.resolve() == bank.DIRECTORY.resolve()
    found = Found(BANK if own else str(directory))
    if (rule := bank.manifest_of(directory).rule) is not None:
        raise bank.BankError(
            f"{directory}: its manifest has a rule for tactics ({rule}), which self-play does not keep"
        )
    for split in bank.splits(directory):
        for each in bank.load_statements(split, directory):
            found.statements.append(Statement(each.theorem, "test" if test else split))
    if not test:
        for proof in load_proofs(directory, warm_start=True):
            found.proofs.append(Given(proof.theorem, Proof(proof.theorem.name, proof.script), proof.family))
    if own:
        library = Library.of("pocket")
        found.lemmas, found.protected = library.lemmas, set(library.protected)
    return found


def _of_rows(source: Source, test: bool, most: int) -> Found:
    """Raises BankError."""
    found = Found(source.origin)
    for where, row in islice(_rows(source), most or None):
        if isinstance(row, str):
            found.problems.append(f"{where}: {row}")
            continue
        try:
            _add(found, row, source, test)
        except (BadRow, statements.Refused) as error:
            found.problems.append(f"{where}: {error}")
    return found


def _add(found: Found, row: Row, source: Source, test: bool) -> None:
    """Raises BadRow, Refused."""
    if is_reference_row(row):
        read_ = read_row(row)
        if isinstance(read_, ConjectureRow):
            found.lemmas.append(read_.seed.lemma)
            found.conjectures.append(ConjecturerExample(read_.seed, read_.conjecture.signature, 1.0))
        else:
            found.proofs.append(Given(read_.theorem, Proof(read_.theorem.name, read_.script)))
        return
    if UNREAD in row:
        raise BadRow(str(row[UNREAD]))
    format_ = format_of(row)
    raw = format_.read(row)
    if not raw.text:
        raise BadRow("the row has no statement")
    header = raw.header or format_.header or (source.data_set.header if source.data_set else "")
    theorem = statements.theorem(raw.text, header, raw.name)
    scored = test or raw.split in ("valid", "test")
    found.statements.append(Statement(theorem, "test" if scored else "train"))
    if not scored and (script := _given_script(row)):
        found.proofs.append(Given(theorem, Proof(theorem.name, script)))


def _given_script(row: Row) -> str:
    """The proof in a statement's row (`proof`, in Lean-Workbook a list); empty if there is none."""
    given = row.get("proof") or row.get("formal_proof")
    text = next((each for each in given if isinstance(each, str)), "") if isinstance(given, list) else given
    if not isinstance(text, str) or not text.strip() or _UNPROVED.search(blanked(text)):
        return ""
    try:
        return block_of(text)
    except NoProof:
        return ""


def _rows(source: Source) -> Iterator[tuple[str, Row | str]]:
    """Rows with their locations; for a row that cannot be read, the reason. Raises BankError."""
    path = Path(source.origin)
    if not (source.local and path.is_file() and ".jsonl" in path.name):
        for number, row in enumerate(source.rows(), start=1):
            yield f"{source.origin}, row {number}", row
        return
    for where, line in _lines(path):
        try:
            decoded: Any = msgspec.json.decode(line)
        except NOT_JSON as error:
            yield where, f"{error}"
            continue
        yield where, decoded if isinstance(decoded, dict) else "an object was expected"


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of a file that are not empty, with their locations. Raises BankError."""
    try:
        with unpacked(path) as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    yield f"{path}, line {number}", line
    except OSError as error:
        raise BankError(f"{path}: cannot be read ({error}); check whether the file is damaged") from error


# --- rows of STP's published data -------------------------------------------------------------------------------------


_FENCE = re.compile(r"```(?:lean4?)?[ \t]*\n")
_CONJECTURE = re.compile(
    r"(?P<header>.*)<lemma>\n(?P<lemma>.*?)\n<easy theorem>\n(?P<easy>.*?)\n?<hard theorem>", re.DOTALL
)
_LEFT_OPEN = re.compile(r":=\s*(?:by\b\s*)?\Z")


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
            return _read_conjecture(match["header"], match["lemma"], match["easy"], target)
        return _read_proof(code, target, "conjecture" in str(row.get("tag", "")))
    except (statements.Refused, NoProof) as error:
        raise BadRow(str(error)) from error


def _read_proof(code: str, target: str, conjectured: bool) -> ProofRow:
    """Raises Refused, NoProof, BadRow."""
    if _LEFT_OPEN.search(code):
        theorem = statements.theorem(code)
        whole = code.rstrip() + (target if target[:1].isspace() else f"\n{target}")
    else:
        theorem, whole = statements.theorem(target, code), target
    return ProofRow(theorem, _proved(whole, theorem.name), conjectured)


def _read_conjecture(header: str, lemma: str, easy: str, target: str) -> ConjectureRow:
    """Raises Refused, NoProof, BadRow."""
    theorem = statements.theorem(easy, header)
    hard = statements.theorem(target.split(END)[0], header)
    return ConjectureRow(Seed(theorem, _proved(easy, theorem.name), _read_lemma(lemma)), hard)


def _proved(text: str, name: str) -> str:
    """Raises NoProof, BadRow."""
    script = block_of(text, name)
    if gap := _UNPROVED.search(blanked(script)):
        raise BadRow(f"the proof has `{gap.group()}`")
    return script


def _read_lemma(text: str) -> Lemma:
    """Read a lemma. STP's data also has its proof, which is ignored. Raises Refused."""
    theorem = statements.theorem(text)
    if theorem.name == EMPTY_LEMMA.name and not theorem.binders and theorem.conclusion == "True":
        return EMPTY_LEMMA
    return Lemma(theorem.name, " ".join(theorem.signature.split()))


# --- traces of a project ----------------------------------------------------------------------------------------------


CONTEXTS = "contexts.jsonl"

_THEOREMS = ("theorem", "lemma")
_SIGNS = 4
"""Characters between the end of a statement and `by` in the same line: ` := `."""


class _TracedRow(TracedTheorem, frozen=True, kw_only=True):
    file: str = ""


class _TracedText(msgspec.Struct):
    text: str
    contexts: dict[str, int] = {}


def _of_trace(folder: Path, test: bool) -> Found:
    """Raises BankError."""
    found = Found(str(folder))
    # 1. The texts above theorems, by digest, if the trace has them.
    contexts: dict[str, Context] = {}
    for where, line in _lines(folder / CONTEXTS) if (folder / CONTEXTS).exists() else ():
        try:
            text = msgspec.json.decode(line, type=_TracedText)
        except NOT_JSON as error:
            raise BankError(f"{where}: {error}; trace the project again") from error
        contexts |= {digest: Context.of(text.text[:end]) for digest, end in text.contexts.items()}
    # 2. The theorems of all files, which are the lemmas.
    rows: list[tuple[_TracedRow, Theorem]] = []
    for where, line in _lines(folder / TRACED):
        try:
            row = msgspec.json.decode(line, type=_TracedRow)
        except NOT_JSON as error:
            found.problems.append(f"{where}: {error}")
            continue
        if row.error:
            found.problems.append(f"{where}: {row.error}")
        elif row.kind in _THEOREMS and row.name:
            try:
                rows.append((row, statements.theorem(without_proof(row.statement), name=row.name)))
            except statements.Refused as error:
                found.problems.append(f"{where}: {row.name}: {error}")
    found.lemmas = [Lemma(row.name, " ".join(theorem.signature.split())) for row, theorem in rows]
    # 3. Statements at their positions, and proofs with the lemmas among their premises.
    names = {each.name for each in found.lemmas}
    for row, theorem in rows:
        if row.context_digest in contexts:
            placed = below(contexts[row.context_digest], theorem)
            found.statements.append(Statement(placed, "test" if test else "train"))
        if not test and (block := _whole(row)) is not None:
            with_header = msgspec.structs.replace(theorem, header="\n".join(row.context))
            premises = (premise.full_name for tactic in block.tactics for premise in tactic.premises)
            lemmas = tuple(dict.fromkeys(name for name in premises if name in names and name != row.name))
            found.proofs.append(Given(with_header, Proof(row.name, _script(block), lemmas=lemmas), row.file))
    return found


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
    """The block's tactics, written from the proof tree. It is built from the last step upwards, because recursion could
    exceed Python's limit."""
    steps = block.steps
    children: dict[int, list[int]] = {}
    for number, step in enumerate(steps):
        children.setdefault(step.parent, []).append(number)
    trees: dict[int, ProofTree] = {}
    for number in range(len(steps) - 1, -1, -1):
        step = steps[number]
        below_it = sorted(children.get(number, ()), key=lambda each: steps[each].branch)
        trees[number] = ProofTree(step.tactic, step.layout, tuple(trees[each] for each in below_it), step.state)
    return "\n".join(proof_lines(trees[children[-1][0]], ""))
