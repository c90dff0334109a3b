"""Prepares the initial data of self-play in a folder: statements to prove, test statements, proofs, the conjecturer's
first examples, and lemmas.

    statements.jsonl   {"theorem", "split"}
    proofs.jsonl       {"name", "statement", "proof", "lemmas", "theorem"}: as `proofmesh train` reads proofs
    conjectures.jsonl  {"lemma", "statement", "proof", "conjecture", "weight", "theorem", "lemma_name"}: likewise
    lemmas.jsonl       {"name", "statement", "protected"}
    prepared.json      counts, sources, and a digest of these four files
    passed-over.txt    rows that could not be read: where, and why

No test statement occurs in the training data, whatever its header or names: not as a statement, not with a proof, and
not in a conjecturer's example.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from common.files import write_whole
from common.lean import Theorem
from node.stp.keys import key
from node.stp.lemmas import LemmaGone, Library
from node.stp.pairs import Given, pairs
from node.stp.parsing import NotAStatement, statement_of
from node.stp.records import ConjecturerExample, Lemma, Proof, Seed, Statement
from node.stp.sources import Found

STATEMENTS, PROOFS, CONJECTURES, LEMMAS = "statements.jsonl", "proofs.jsonl", "conjectures.jsonl", "lemmas.jsonl"
MANIFEST = "prepared.json"
PASSED_OVER = "passed-over.txt"
VERSION = 1

T = TypeVar("T")


class PrepareError(ValueError):
    """Data cannot be prepared or read; the message says what is missing, and what to do."""


class Manifest(msgspec.Struct, frozen=True):
    """The content of `prepared.json`."""

    version: int
    digest: str
    """Digest of the four files: equal data has equal digests."""
    sources: tuple[str, ...]
    counts: dict[str, int]
    left_out: dict[str, int]
    """Numbers of left-out items, by reason."""
    command: str = ""


class _ProofRow(msgspec.Struct, frozen=True):
    name: str
    statement: str
    proof: str
    lemmas: tuple[str, ...]
    theorem: Theorem


class _ConjectureRow(msgspec.Struct, frozen=True):
    lemma: str
    statement: str
    proof: str
    conjecture: str
    weight: float
    theorem: Theorem
    """The easy theorem."""
    lemma_name: str


class _LemmaRow(msgspec.Struct, frozen=True):
    name: str
    statement: str
    protected: bool = False


@dataclass(frozen=True)
class Prepared:
    """The data of a folder."""

    statements: tuple[Statement, ...]
    proofs: tuple[tuple[Theorem, Proof], ...]
    conjectures: tuple[ConjecturerExample, ...]
    library: Library
    manifest: Manifest


@dataclass
class _Data:
    """The data while it is collected."""

    statements: list[Statement]
    proofs: list[Given]
    conjectures: list[ConjecturerExample]
    left_out: dict[str, int]


def prepare(
    sources: Sequence[Found],
    folder: Path,
    *,
    library: Library | None = None,
    pairs_each: int = 1,
    empty: float = 0.5,
    seed: int = 0,
    command: str = "",
) -> Manifest:
    """Write the data of these sources into a folder. Equal sources give equal bytes.

    `library`: lemmas in addition to those of the sources; `pairs_each` and `empty`: see `node.stp.pairs`. Raises
    PrepareError without statements to prove or without proofs, and OSError.
    """
    lemmas = [lemma for each in sources for lemma in each.lemmas]
    all_lemmas = Library(lemmas, {name for each in sources for name in each.protected})
    all_lemmas = all_lemmas if library is None else all_lemmas.joined(library)
    data = _gathered(sources)
    _hold_out(data)
    if not any(each.split == "train" for each in data.statements):
        raise PrepareError(
            f"no statements to prove in {_listed(sources)}{_passed_over(sources)}; name a source of statements"
        )
    if not data.proofs:
        raise PrepareError(
            f"no proofs to start from in {_listed(sources)}{_passed_over(sources)}; name a source of proofs (`bank`, a "
            "trace of a project, kfdong/STP_Lean_SFT)"
        )
    data.proofs = [_with_lemmas(each, all_lemmas) for each in data.proofs]
    data.conjectures = _own_pairs(data, all_lemmas, pairs_each, empty, seed)
    problems = [problem for each in sources for problem in each.problems]
    data.left_out["rows that could not be read"] = len(problems)
    return _written(data, all_lemmas, folder, tuple(each.source for each in sources), problems, command)


def _listed(sources: Sequence[Found]) -> str:
    return ", ".join(each.source for each in sources) or "no source"


def _passed_over(sources: Sequence[Found]) -> str:
    problems = [problem for each in sources for problem in each.problems]
    return f" ({len(problems)} rows could not be read; the first: {problems[0]})" if problems else ""


def _gathered(sources: Sequence[Found]) -> _Data:
    """Collect the data of all sources without duplicates, with unique names."""
    data = _Data([], [], [], {})
    names: dict[str, str] = {}
    """The keys of statements by name."""
    statements = [statement for each in sources for statement in each.statements]
    seen: dict[str, str] = {}
    for statement in sorted(statements, key=lambda each: each.split == "train"):  # test statements first
        its_key = key(statement.theorem)
        if its_key in seen:
            held_out = statement.split == "train" and seen[its_key] != "train"
            _count(data, "statements that are measured on" if held_out else "statements that are there already")
            continue
        seen[its_key] = statement.split
        name = _free(statement.theorem.name, its_key, names)
        data.statements.append(Statement(msgspec.structs.replace(statement.theorem, name=name), statement.split))
    texts: set[tuple[str, str]] = set()
    for each in sources:
        for given in each.proofs:
            text = (key(given.theorem), given.proof.script)
            if text in texts:
                _count(data, "proofs that are there already")
                continue
            texts.add(text)
            name = _free(given.theorem.name, text[0], names)
            theorem = msgspec.structs.replace(given.theorem, name=name)
            data.proofs.append(Given(theorem, msgspec.structs.replace(given.proof, name=name), given.kind))
        data.conjectures += each.conjectures
    return data


def _free(name: str, its_key: str, names: dict[str, str]) -> str:
    """A name that no other statement uses: `NAME`, `NAME_2`, ... `names`: the keys by name."""
    number, free = 1, name
    while names.setdefault(free, its_key) != its_key:
        number += 1
        free = f"{name}_{number}"
    return free


def _hold_out(data: _Data) -> None:
    """Remove everything that states the same as a test statement from the training data."""
    held_out = {stated(each.theorem) for each in data.statements if each.split != "train"}
    statements = [each for each in data.statements if each.split != "train" or stated(each.theorem) not in held_out]
    proofs = [each for each in data.proofs if stated(each.theorem) not in held_out]
    examples = [each for each in data.conjectures if not _mentions(each, held_out)]
    for name, before, after in (
        ("statements", data.statements, statements),
        ("proofs", data.proofs, proofs),
        ("conjectures", data.conjectures, examples),
    ):
        if len(after) < len(before):
            _count(data, f"{name} that are measured on", len(before) - len(after))
    data.statements, data.proofs, data.conjectures = statements, proofs, examples


def stated(theorem: Theorem) -> str:
    """The key of a theorem's statement without its header."""
    return key(Theorem("t", theorem.binders, theorem.conclusion))


def _mentions(example: ConjecturerExample, held_out: set[str]) -> bool:
    """Whether an example's seed or conjecture is held out, or may be."""
    if stated(example.seed.theorem) in held_out:
        return True
    try:
        return stated(statement_of(example.conjecture, name="t", header="")) in held_out
    except NotAStatement:
        return True  # a text that cannot be parsed cannot be compared with the held-out statements


def _with_lemmas(given: Given, library: Library) -> Given:
    if given.proof.lemmas:
        return given
    lemmas = library.invoked_in(given.theorem, given.proof.script)
    return Given(given.theorem, msgspec.structs.replace(given.proof, lemmas=lemmas), given.kind)


def _own_pairs(data: _Data, library: Library, most: int, empty: float, seed: int) -> list[ConjecturerExample]:
    """The examples of the sources, and pairs of proofs, without duplicates."""

    def lemma_of(name: str) -> Lemma | None:
        try:
            return library.lemma(name)
        except LemmaGone:
            return None  # a lemma of a header is only available to its own theorem

    made = [*data.conjectures, *pairs(data.proofs, lemma_of, most=most, empty=empty, seed=seed)]
    return list({(each.seed.theorem, each.seed.lemma.name, each.conjecture): each for each in made}.values())


def _count(data: _Data, reason: str, number: int = 1) -> None:
    data.left_out[reason] = data.left_out.get(reason, 0) + number


def _written(
    data: _Data, library: Library, folder: Path, sources: tuple[str, ...], problems: Sequence[str], command: str
) -> Manifest:
    """Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)  # after an interruption, the folder does not count as prepared
    files = {
        STATEMENTS: _lines(data.statements),
        PROOFS: _lines(
            _ProofRow(each.theorem.name, each.theorem.signature, each.proof.script, each.proof.lemmas, each.theorem)
            for each in data.proofs
        ),
        CONJECTURES: _lines(map(_conjecture_row, data.conjectures)),
        LEMMAS: _lines(_LemmaRow(each.name, each.statement, each.name in library.protected) for each in library.lemmas),
    }
    for name, content in files.items():
        write_whole(folder / name, content)
    write_whole(folder / PASSED_OVER, "".join(f"{problem}\n" for problem in problems).encode())
    counts = {
        "train": sum(each.split == "train" for each in data.statements),
        "valid": sum(each.split == "valid" for each in data.statements),
        "test": sum(each.split == "test" for each in data.statements),
        "proofs": len(data.proofs),
        "proofs with a lemma": sum(bool(each.proof.lemmas) for each in data.proofs),
        "conjectures": len(data.conjectures),
        "lemmas": len(library),
    }
    left_out = {reason: number for reason, number in sorted(data.left_out.items()) if number}
    manifest = Manifest(VERSION, _digest(files.values()), sources, counts, left_out, command)
    write_whole(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    return manifest


def _conjecture_row(example: ConjecturerExample) -> _ConjectureRow:
    seed = example.seed
    return _ConjectureRow(
        *(seed.lemma.statement, seed.theorem.signature, seed.proof, example.conjecture),
        *(example.weight, seed.theorem, seed.lemma.name),
    )


def _lines(rows: Iterable[object]) -> bytes:
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)


def _digest(contents: Iterable[bytes]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for content in contents:
        state.update(hashlib.blake2b(content).digest())
    return state.hexdigest()


def load_prepared(folder: Path) -> Prepared:
    """Read the data of a folder. Raises PrepareError if it has no prepared data, is damaged, or was changed."""
    manifest = _manifest(folder)
    contents = {name: _content(folder / name) for name in (STATEMENTS, PROOFS, CONJECTURES, LEMMAS)}
    if _digest(contents.values()) != manifest.digest:
        raise PrepareError(f"{folder}: the files do not match {MANIFEST}; {_remedy(manifest)}")
    lemmas = _rows(folder / LEMMAS, contents[LEMMAS], _LemmaRow)
    return Prepared(
        tuple(_rows(folder / STATEMENTS, contents[STATEMENTS], Statement)),
        tuple(
            (row.theorem, Proof(row.theorem.name, row.proof, lemmas=row.lemmas))
            for row in _rows(folder / PROOFS, contents[PROOFS], _ProofRow)
        ),
        tuple(
            ConjecturerExample(
                Seed(row.theorem, row.proof, Lemma(row.lemma_name, row.lemma)), row.conjecture, row.weight
            )
            for row in _rows(folder / CONJECTURES, contents[CONJECTURES], _ConjectureRow)
        ),
        Library((Lemma(row.name, row.statement) for row in lemmas), (row.name for row in lemmas if row.protected)),
        manifest,
    )


def _manifest(folder: Path) -> Manifest:
    """Raises PrepareError."""
    path = folder / MANIFEST
    if not path.exists():
        raise PrepareError(f"{folder}: no {MANIFEST}; prepare the data with `proofmesh stp prepare --out {folder}`")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError) as error:
        raise PrepareError(f"{path}: cannot be read ({error}); make the data anew") from error
    if manifest.version != VERSION:
        raise PrepareError(
            f"{path}: data of version {manifest.version}, but this version reads {VERSION}; {_remedy(manifest)}"
        )
    return manifest


def _remedy(manifest: Manifest) -> str:
    return f"prepare it again with `{manifest.command or 'proofmesh stp prepare'}`"


def _content(path: Path) -> bytes:
    """Raises PrepareError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise PrepareError(f"{path}: cannot be read ({error}); make the data anew") from error


def _rows(path: Path, content: bytes, kind: type[T]) -> list[T]:
    """Raises PrepareError."""
    decoder = msgspec.json.Decoder(kind)
    rows = []
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            rows.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise PrepareError(f"{path}, line {number}: {error}; make the data anew") from error
    return rows
