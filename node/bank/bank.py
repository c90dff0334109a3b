"""Loads the theorem bank: statements by split, supervised transitions, a digest of all of it.

The truth about statements (which are false, and the proofs) lies beside them in a file that nothing here opens: only
the scoring of the bank may look at it (`scripts/bank/score.py`).
"""

from __future__ import annotations

import gzip
import hashlib
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from common.lean import Theorem
from common.places import Context, Place
from common.recipes import bundled_bank
from node.bank import manifest
from node.bank.manifest import Manifest

DIRECTORY = bundled_bank()
BUNDLED = {name: bundled_bank(name) for name in ("pocket", "witness", "textbook")}
"""Banks that come with proofmesh, by name: `pocket` and `witness` for learning, `textbook` for evaluations only."""

MADE_BY = {"pocket": "build", "witness": "build --profile witness", "textbook": "textbook"}
"""The module of `scripts.bank`, with its flags, that writes each of them."""

SPLITS = ("train", "valid", "test")
TRANSITIONS = "transitions"
CONTEXTS = "contexts"

SAMPLE_SEED = 0
"""Of the samples of a split that evaluations use: fixed, so that all of them are of the same statements."""

PART = 1 << 20
"""Bytes of a file that are held at a time."""

T = TypeVar("T")


class Grouped(Protocol):
    """What has a family and a level."""

    @property
    def family(self) -> str: ...

    @property
    def level(self) -> int: ...


G = TypeVar("G", bound=Grouped)


class BankError(ValueError):
    """A file of the bank is missing or corrupt; the message names the file and the line, and says what to do."""


class BankTheorem(msgspec.Struct, frozen=True):
    """A statement of the bank. `family` and `level` (1-4) are for tables and samples; they say nothing of its truth."""

    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """What is known to be wrong with it, and who says so; empty where nothing is."""


class BankTransition(msgspec.Struct, frozen=True):
    """One step of a proof that Lean accepted: state as the policy reads it, tactic, steps left (this one included)."""

    theorem: str
    level: int
    family: str
    state: str
    tactic: str
    remaining_steps: int


class _Gap(msgspec.Struct, frozen=True):
    before: str
    after: str = "\n"
    tactic: bool = True


class _Context(msgspec.Struct, frozen=True):
    digest: str
    text: str


class _Statement(msgspec.Struct, frozen=True):
    name: str
    binders: str
    conclusion: str
    family: str
    level: int
    header: str = ""
    """Of imported statements (`proofmesh bank import`): imports, opens, definitions."""
    flaw: str = ""
    context: str = ""
    """Of a theorem in a file: names the text above its command, which stands in CONTEXTS once."""
    place: _Gap | None = None
    """Its command around the gap (`common.places`)."""


def load_statements(split: str, directory: Path = DIRECTORY) -> list[BankTheorem]:
    """The statements of `train`, `valid` or `test`. Raises BankError."""
    if split not in SPLITS:
        raise BankError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    repeated: dict[str, str] = {}  # one text for all rows that have it: headers are long, and few
    contexts: dict[str, Context] | None = None
    statements = []
    for row in decode(_file(directory, split), _Statement):
        if row.context and contexts is None:
            contexts = _contexts(directory)
        header, family, flaw = (repeated.setdefault(text, text) for text in (row.header, row.family, row.flaw))
        theorem = Theorem(row.name, row.binders, row.conclusion, header)
        if row.place is not None:
            theorem = _placed(theorem, row, contexts or {}, directory, split)
        statements.append(BankTheorem(theorem, family, row.level, flaw))
    return statements


def _contexts(directory: Path) -> dict[str, Context]:
    """The texts that stand above theorems in files. Raises BankError."""
    return {row.digest: Context.of(row.text) for row in decode(_file(directory, CONTEXTS), _Context)}


def _placed(theorem: Theorem, row: _Statement, contexts: Mapping[str, Context], directory: Path, split: str) -> Theorem:
    """The theorem at its place in a file. Raises BankError."""
    assert row.place is not None
    if row.context not in contexts:
        path = _file(directory, CONTEXTS)
        raise BankError(f"{path}: no context {row.context}, which {row.name} of {split} has; {_remedy(directory)}")
    place = Place(contexts[row.context], row.place.before, row.place.after, row.place.tactic)
    return msgspec.structs.replace(theorem, place=place)


def splits(directory: Path = DIRECTORY) -> tuple[str, ...]:
    """The splits that a bank has: an imported one may have some of them only."""
    return tuple(split for split in SPLITS if _file(directory, split).exists())


def load_transitions(directory: Path = DIRECTORY, *, warm_start: bool = False) -> list[BankTransition]:
    """Supervised transitions of the train split; for the warm start, those that the bank's manifest allows it.

    Empty for a bank that has none. Raises BankError.
    """
    path = _file(directory, TRANSITIONS)
    if not path.exists() and directory.resolve() != DIRECTORY.resolve():
        return []
    rule = manifest_of(directory).warm_start if warm_start else None
    return [row for row in decode(path, BankTransition) if rule is None or rule.takes(row.level, row.tactic)]


def manifest_of(directory: Path = DIRECTORY) -> Manifest:
    """What the bank says of itself. Raises BankError."""
    try:
        return manifest.read(directory)
    except manifest.ManifestError as error:
        raise BankError(f"{error}; {_remedy(directory)}") from error


def stratified(statements: Sequence[G], n: int, seed: int = SAMPLE_SEED) -> list[G]:
    """n statements, spread over (family, level) in proportion, in the order of `statements`; fixed by the seed."""
    if n > len(statements):
        raise ValueError(f"{n} statements wanted, {len(statements)} there")
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, statement in enumerate(statements):
        groups[statement.family, statement.level].append(index)
    rng = random.Random(seed)
    ranked: list[tuple[float, int]] = []
    for key in sorted(groups):
        rng.shuffle(groups[key])
        # The j-th of m has rank (j + u) / m: any prefix of the ranking takes an even share of every group.
        ranked += [((place + rng.random()) / len(groups[key]), index) for place, index in enumerate(groups[key])]
    return [statements[index] for index in sorted(index for _, index in sorted(ranked)[:n])]


def digest(directory: Path = DIRECTORY) -> str:
    """Names the content of the bank and the choice of the warm start: a key for what is trained on it.

    Equal content gives equal digests, wherever the bank lies and whatever made it. Raises BankError.
    """
    total = hashlib.blake2b(digest_size=16)
    for name in (*SPLITS, TRANSITIONS, CONTEXTS):
        path = _file(directory, name)
        if path.exists():
            total.update(path.name.encode() + b"\0" + _content_digest(path))
    rule = manifest_of(directory).warm_start
    total.update(repr((sorted(rule.levels), rule.held_out) if rule is not None else None).encode())
    return total.hexdigest()


def _file(directory: Path, name: str) -> Path:
    """The file of a split, or of the transitions."""
    return directory / f"{name}.jsonl.gz"


def _remedy(directory: Path) -> str:
    """What to do about a file that is missing or damaged."""
    for name, script in MADE_BY.items():
        if directory.resolve() == BUNDLED[name].resolve():
            anew = f"make it anew with `python -m scripts.bank.{script}`"
            return f"restore it with `git checkout -- data/{name}`, or {anew}"
    try:
        commands = list(manifest.read(directory).commands.values())
    except manifest.ManifestError:
        commands = []
    anew = "; ".join(f"`{command}`" for command in commands)
    return f"make the bank anew with {anew}" if anew else "restore it, or make a bank with `proofmesh bank import`"


@contextmanager
def _opened(path: Path) -> Iterator[gzip.GzipFile]:
    """The unpacked content of a file. Raises BankError, also for what is found in the middle of it."""
    try:
        with gzip.open(path) as file:
            yield file
    except FileNotFoundError:
        there = ", ".join(splits(path.parent)) or "none"
        raise BankError(f"{path}: no such file (splits in this bank: {there}); {_remedy(path.parent)}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BankError(f"{path}: cannot be read ({error}); {_remedy(path.parent)}") from error


def decode(path: Path, kind: type[T]) -> Iterator[T]:
    """The rows of a file of a bank, one after the other. Raises BankError."""
    decoder = msgspec.json.Decoder(kind)
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise BankError(f"{path}, line {number}: {error}; {_remedy(path.parent)}") from error


def _content_digest(path: Path) -> bytes:
    """Of what a file holds unpacked."""
    state = hashlib.blake2b()
    with _opened(path) as file:
        while part := file.read(PART):
            state.update(part)
    return state.digest()
