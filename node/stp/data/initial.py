"""The initial data of self-play: statements to prove, test statements, proofs, the conjecturer's first examples, and
lemmas. It is prepared in a folder, and loaded from there by a run, which draws the statements that it tries to prove.

    statements.jsonl   {"theorem", "split"}
    proofs.jsonl       {"name", "statement", "proof", "lemmas", "theorem"}: as `proofmesh train` reads proofs
    conjectures.jsonl  {"lemma", "statement", "proof", "conjecture", "weight", "theorem", "lemma_name"}: likewise
    lemmas.jsonl       {"name", "statement", "protected"}
    prepared.json      counts, sources, and a digest of these four files
    passed-over.txt    rows that could not be read: where, and why

No test statement occurs in the training data, whatever its header or names: not as a statement, not with a proof, and
not in a conjecturer's example.

The conjecturer's first examples are pairs of theorems whose proofs invoke the same lemma. Source: STP (arXiv
2502.00212), section 3.1, and `prepare_datasets.py` of kfdong/STP. STP uses all triples (lemma, X, Y) in this order in a
Mathlib file, if both proofs invoke the lemma. Differences here:
- Banks have no files and their statements no order, so the theorem with the shorter proof is the easy one.
- A bank's lemma may occur in hundreds of proofs. So each theorem is the hard one in only a few random pairs per lemma.
- Both theorems have the same header, because a conjecture has the header of its seed.
- Pairs for the empty lemma are two theorems of one kind (a family of the bank, a file of a trace). STP samples such
  conjectures without initial examples, because its network is a pretrained language model.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import msgspec

from common.files import NOT_JSON, write_whole
from common.lean import Theorem
from common.seeds import derive_seed
from node.bank.bank import BankError
from node.stp.data.lemmas import LemmaGone, Library
from node.stp.data.sources import Found, read
from node.stp.data.statements import NotAStatement, key, statement_of
from node.stp.records import EMPTY_LEMMA, ConjecturerExample, Given, Lemma, Proof, Seed, Statement, StpError
from node.stp.settings import BANK, StpPlan

STATEMENTS, PROOFS, CONJECTURES, LEMMAS = "statements.jsonl", "proofs.jsonl", "conjectures.jsonl", "lemmas.jsonl"
MANIFEST = "prepared.json"
PASSED_OVER = "passed-over.txt"
VERSION = 1

T = TypeVar("T")


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

    statements: list[Statement] = field(default_factory=list)
    proofs: list[Given] = field(default_factory=list)
    conjectures: list[ConjecturerExample] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


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

    `library`: lemmas in addition to those of the sources; `pairs_each`, `empty`: see `pairs`. Raises StpError without
    statements to prove or without proofs, and OSError.
    """
    # 1. Statements and proofs, without those that are measured on.
    data = _gathered(sources)
    _hold_out(data)
    problems = [problem for each in sources for problem in each.problems]
    data.left_out["rows that could not be read"] = len(problems)
    where = ", ".join(each.source for each in sources) or "no source"
    if problems:
        where += f" ({len(problems)} rows could not be read; the first: {problems[0]})"
    if not any(each.split == "train" for each in data.statements):
        raise StpError(f"no statements to prove in {where}; name a source of statements")
    if not data.proofs:
        raise StpError(
            f"no proofs to start from in {where}; name a source of proofs (`bank`, a "
            "trace of a project, kfdong/STP_Lean_SFT)"
        )
    # 2. The lemmas that each proof invokes, where the source does not say it.
    lemmas = [lemma for each in sources for lemma in each.lemmas]
    all_lemmas = Library(lemmas, {name for each in sources for name in each.protected})
    all_lemmas = all_lemmas if library is None else all_lemmas.joined(library)
    for place, given in enumerate(data.proofs):
        if not given.proof.lemmas:
            invoked = all_lemmas.invoked_in(given.theorem, given.proof.script)
            data.proofs[place] = replace(given, proof=msgspec.structs.replace(given.proof, lemmas=invoked))

    # 3. The conjecturer's examples: those of the sources, and pairs of proofs, each once.
    def lemma_of(name: str) -> Lemma | None:
        try:
            return all_lemmas.lemma(name)
        except LemmaGone:
            return None  # a lemma of a header is only available to its own theorem

    made = [*data.conjectures, *pairs(data.proofs, lemma_of, most=pairs_each, empty=empty, seed=seed)]
    data.conjectures = list(
        {(each.seed.theorem, each.seed.lemma.name, each.conjecture): each for each in made}.values()
    )
    return _written(data, all_lemmas, folder, tuple(each.source for each in sources), problems, command)


def _gathered(sources: Sequence[Found]) -> _Data:
    """Collect the data of all sources without duplicates, with unique names."""
    data = _Data(conjectures=[example for each in sources for example in each.conjectures])
    names: dict[str, str] = {}
    """The keys of statements by name."""

    def free(name: str, its_key: str) -> str:
        """A name that no other statement uses: `NAME`, `NAME_2`, ..."""
        number, free = 1, name
        while names.setdefault(free, its_key) != its_key:
            number += 1
            free = f"{name}_{number}"
        return free

    # 1. Test statements come first: of equal statements, the first stays.
    statements = [statement for each in sources for statement in each.statements]
    splits: dict[str, str] = {}
    for statement in sorted(statements, key=lambda each: each.split == "train"):
        its_key = key(statement.theorem)
        if its_key in splits:
            held_out = statement.split == "train" and splits[its_key] != "train"
            data.left_out["statements that are " + ("measured on" if held_out else "there already")] += 1
            continue
        splits[its_key] = statement.split
        name = free(statement.theorem.name, its_key)
        data.statements.append(Statement(msgspec.structs.replace(statement.theorem, name=name), statement.split))
    # 2. Proofs: a statement may have several.
    texts: set[tuple[str, str]] = set()
    for given in (given for each in sources for given in each.proofs):
        text = (key(given.theorem), given.proof.script)
        if text in texts:
            data.left_out["proofs that are there already"] += 1
            continue
        texts.add(text)
        name = free(given.theorem.name, text[0])
        theorem = msgspec.structs.replace(given.theorem, name=name)
        data.proofs.append(Given(theorem, msgspec.structs.replace(given.proof, name=name), given.kind))
    return data


def _hold_out(data: _Data) -> None:
    """Remove everything that states the same as a test statement from the training data."""
    held_out = {stated(each.theorem) for each in data.statements if each.split != "train"}

    def mentions(example: ConjecturerExample) -> bool:
        """Whether an example's seed or conjecture is held out, or may be."""
        try:
            conjecture = statement_of(example.conjecture, name="t", header="")
        except NotAStatement:
            return True  # a text that cannot be parsed cannot be compared with the held-out statements
        return not held_out.isdisjoint((stated(example.seed.theorem), stated(conjecture)))

    before = len(data.statements), len(data.proofs), len(data.conjectures)
    data.statements = [
        each for each in data.statements if each.split != "train" or stated(each.theorem) not in held_out
    ]
    data.proofs = [each for each in data.proofs if stated(each.theorem) not in held_out]
    data.conjectures = [each for each in data.conjectures if not mentions(each)]
    after = len(data.statements), len(data.proofs), len(data.conjectures)
    for name, had, has in zip(("statements", "proofs", "conjectures"), before, after, strict=True):
        data.left_out[f"{name} that are measured on"] += had - has


def stated(theorem: Theorem) -> str:
    """The key of a theorem's statement without its header."""
    return key(Theorem("t", theorem.binders, theorem.conclusion))


def _written(
    data: _Data, library: Library, folder: Path, sources: tuple[str, ...], problems: Sequence[str], command: str
) -> Manifest:
    """Raises OSError."""
    # 1. The four files. After an interruption, the folder does not count as prepared.
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    rows: dict[str, Iterable[object]] = {
        STATEMENTS: data.statements,
        PROOFS: (
            _ProofRow(each.theorem.name, each.theorem.signature, each.proof.script, each.proof.lemmas, each.theorem)
            for each in data.proofs
        ),
        CONJECTURES: (
            _ConjectureRow(
                *(seed.lemma.statement, seed.theorem.signature, seed.proof, each.conjecture),
                *(each.weight, seed.theorem, seed.lemma.name),
            )
            for each in data.conjectures
            for seed in [each.seed]
        ),
        LEMMAS: (_LemmaRow(each.name, each.statement, each.name in library.protected) for each in library.lemmas),
    }
    files = {name: b"".join(msgspec.json.encode(row) + b"\n" for row in of) for name, of in rows.items()}
    for name, content in files.items():
        write_whole(folder / name, content)
    write_whole(folder / PASSED_OVER, "".join(f"{problem}\n" for problem in problems).encode())
    # 2. The manifest, last.
    splits = Counter(each.split for each in data.statements)
    counts = {
        **{split: splits[split] for split in ("train", "valid", "test")},
        "proofs": len(data.proofs),
        "proofs with a lemma": sum(bool(each.proof.lemmas) for each in data.proofs),
        "conjectures": len(data.conjectures),
        "lemmas": len(library),
    }
    left_out = {reason: number for reason, number in sorted(data.left_out.items()) if number}
    manifest = Manifest(VERSION, _digest(files.values()), sources, counts, left_out, command)
    write_whole(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    return manifest


def _digest(contents: Iterable[bytes]) -> str:
    state = hashlib.blake2b(digest_size=16)
    for content in contents:
        state.update(hashlib.blake2b(content).digest())
    return state.hexdigest()


# --- the conjecturer's first examples ---------------------------------------------------------------------------------


def pairs(
    given: Sequence[Given], lemma_of: Callable[[str], Lemma | None], *, most: int, empty: float, seed: int
) -> list[ConjecturerExample]:
    """Examples with weight 1, sorted by lemma and names. `most`: maximum pairs per lemma with the same hard theorem;
    `empty`: probability that a theorem is the hard one of a pair for the empty lemma. The order of the inputs does not
    matter."""
    groups: dict[tuple[str, str], list[Given]] = defaultdict(list)
    kinds: dict[tuple[str, str], list[Given]] = defaultdict(list)
    for each in given:
        header = each.theorem.header
        kinds[each.kind, header].append(each)
        for name in each.proof.lemmas:
            groups[name, header].append(each)
    examples: list[ConjecturerExample] = []
    for name, header in sorted(groups):
        if (lemma := lemma_of(name)) is not None:
            group_seed = derive_seed("pairs", seed, name, header)
            examples += _of_group(groups[name, header], lemma, most, 1.0, group_seed)
    for kind, header in sorted(kinds):
        group_seed = derive_seed("empty pairs", seed, kind, header)
        examples += _of_group(kinds[kind, header], EMPTY_LEMMA, 1, empty, group_seed)
    return examples


def _of_group(
    group: Sequence[Given], lemma: Lemma, most: int, chance: float, seed: int
) -> Iterator[ConjecturerExample]:
    rng = random.Random(seed)
    ordered = sorted(group, key=lambda each: (each.proof.length, each.theorem.name, each.proof.script))
    keys = [key(each.theorem) for each in ordered]
    for place, hard in enumerate(ordered):
        if rng.random() >= chance:
            continue
        for at in sorted(rng.sample(range(place), min(most, place))):
            if keys[at] != keys[place]:
                easy = ordered[at]
                yield ConjecturerExample(Seed(easy.theorem, easy.proof.script, lemma), hard.theorem.signature, 1.0)


# --- the prepared folder ----------------------------------------------------------------------------------------------


def load_prepared(folder: Path) -> Prepared:
    """Read the data of a folder. Raises StpError if it has no prepared data, is damaged, or was changed."""
    # 1. The manifest, and what belongs to it.
    manifest = _manifest(folder)
    contents: dict[str, bytes] = {}
    for name in (STATEMENTS, PROOFS, CONJECTURES, LEMMAS):
        try:
            contents[name] = (folder / name).read_bytes()
        except OSError as error:
            raise StpError(f"{folder / name}: cannot be read ({error}); make the data anew") from error
    if _digest(contents.values()) != manifest.digest:
        raise StpError(f"{folder}: the files do not match {MANIFEST}; {_remedy(manifest)}")

    # 2. The rows.
    def rows(name: str, kind: type[T]) -> Iterator[T]:
        decoder = msgspec.json.Decoder(kind)
        for number, line in enumerate(contents[name].splitlines(), start=1):
            try:
                yield decoder.decode(line)
            except NOT_JSON as error:
                raise StpError(f"{folder / name}, line {number}: {error}; make the data anew") from error

    lemmas = list(rows(LEMMAS, _LemmaRow))
    return Prepared(
        tuple(rows(STATEMENTS, Statement)),
        tuple((row.theorem, Proof(row.theorem.name, row.proof, lemmas=row.lemmas)) for row in rows(PROOFS, _ProofRow)),
        tuple(
            ConjecturerExample(
                Seed(row.theorem, row.proof, Lemma(row.lemma_name, row.lemma)), row.conjecture, row.weight
            )
            for row in rows(CONJECTURES, _ConjectureRow)
        ),
        Library((Lemma(row.name, row.statement) for row in lemmas), (row.name for row in lemmas if row.protected)),
        manifest,
    )


def _manifest(folder: Path) -> Manifest:
    """Raises StpError."""
    path = folder / MANIFEST
    if not path.exists():
        raise StpError(f"{folder}: no {MANIFEST}; prepare the data with `proofmesh stp prepare --out {folder}`")
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (OSError, *NOT_JSON) as error:
        raise StpError(f"{path}: cannot be read ({error}); make the data anew") from error
    if manifest.version != VERSION:
        raise StpError(
            f"{path}: data of version {manifest.version}, but this version reads {VERSION}; {_remedy(manifest)}"
        )
    return manifest


def _remedy(manifest: Manifest) -> str:
    return f"prepare it again with `{manifest.command or 'proofmesh stp prepare'}`"


# --- the data of a run ------------------------------------------------------------------------------------------------


PREPARED = "data"
"""Name of the data folder in the run's folder."""


@dataclass(frozen=True)
class RunData:
    """The initial data of a run."""

    statements: tuple[Statement, ...]
    """Statements to prove (`train`) and to evaluate on (`test`)."""
    given: tuple[tuple[Theorem, Proof], ...]
    """Initial theorems with proofs."""
    conjectures: tuple[ConjecturerExample, ...]
    """The conjecturer's first examples."""
    library: Library
    """Lemmas that proofs may invoke."""
    others: tuple[Theorem, ...] = ()
    """Statements of the data that this run does not try to prove."""

    @cached_property
    def keys(self) -> set[str]:
        """Keys of the known statements that are not in the store. A conjecture with one of them is not new."""
        return {key(theorem) for theorem in (*self.others, *(theorem for theorem, _ in self.given))}


def data_of(plan: StpPlan) -> RunData:
    """Load the data that a plan names; for `bank` it is prepared first. Raises StpError."""
    # 1. The folder.
    settings = plan.settings
    folder = plan.directory / PREPARED if settings.data == BANK else Path(settings.data)
    try:
        if settings.data == BANK and not (folder / MANIFEST).exists():
            prepare([read(BANK)], folder, seed=settings.seed, command="proofmesh stp prepare")
        prepared = load_prepared(folder)
    except BankError as error:
        raise StpError(str(error)) from error
    except OSError as error:
        raise StpError(f"{error.filename or folder}: {error.strerror or error}") from error
    # 2. The proofs that are given, and the statements to prove among the others.
    given = tuple(pair for pair in prepared.proofs if is_given(pair[0].name, settings.given, settings.seed))
    given_names = {theorem.name for theorem, _ in given}
    train = [each for each in prepared.statements if each.split == "train" and each.theorem.name not in given_names]
    chosen = drawn(train, settings.statements, settings.seed)
    names = {each.theorem.name for each in chosen}
    if not prepared.proofs:
        raise StpError(f"{folder}: no proofs to start from; prepare the data again with a source of proofs (`bank`)")
    if not chosen:
        raise StpError(f"{folder}: all statements have proofs already; prepare the data again with unproved statements")
    return RunData(
        statements=(*chosen, *(each for each in prepared.statements if each.split == "test")),
        given=given,
        conjectures=tuple(each for each in prepared.conjectures if each.seed.theorem.name in given_names),
        library=prepared.library,
        others=tuple(
            each.theorem for each in prepared.statements if each.split != "test" and each.theorem.name not in names
        ),
    )


def is_given(name: str, share: float, seed: int) -> bool:
    """Whether this statement's proofs are in the share of proofs for the first training."""
    return share >= 1 or random.Random(derive_seed(seed, "given", name)).random() < share


def drawn(statements: list[Statement], count: int, seed: int) -> list[Statement]:
    """A random subset of `count` statements in their order; 0: all."""
    if not count or count >= len(statements):
        return statements
    rng = random.Random(derive_seed(seed, "statements"))
    return [statements[index] for index in sorted(rng.sample(range(len(statements)), count))]


def around(data: RunData, target: Theorem, given: list[tuple[Theorem, Proof]]) -> RunData:
    """The data of a run that only tries to prove one statement, with these initial proofs."""
    others = (*data.others, *(each.theorem for each in data.statements if each.theorem.name != target.name))
    return replace(data, statements=(Statement(target),), given=tuple(given), others=others)
