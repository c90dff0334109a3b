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
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from common.lean import Theorem
from common.recipes import bundled_bank

DIRECTORY = bundled_bank()
SPLITS = ("train", "valid", "test")

WARM_START_LEVELS = frozenset({1, 2})
"""The warm start sees nothing of the longer proofs; reinforcement learning has to find them."""

HELD_OUT = (
    "Nat.mul_left_comm",
    "Nat.add_right_comm",
    "Nat.mul_assoc",
    "Nat.mul_le_mul",
    "Nat.lt_of_lt_of_le",
    "List.map_reverse",
    "exfalso",
    "rw [← h",
)
"""Part of the vocabulary that the warm start never sees: transitions with one of these in their tactic are left out."""


class BankError(ValueError):
    """A file of the bank is missing or corrupt; the message names the file and the line."""


class BankTheorem(msgspec.Struct, frozen=True):
    """A statement of the bank. `family` and `level` (1-4) are for tables and samples; they say nothing of its truth."""

    theorem: Theorem
    family: str
    level: int


class BankTransition(msgspec.Struct, frozen=True):
    """One step of a proof that Lean accepted: state as the policy reads it, tactic, steps left (this one included)."""

    theorem: str
    level: int
    family: str
    state: str
    tactic: str
    remaining_steps: int


class _Statement(msgspec.Struct, frozen=True):
    name: str
    binders: str
    conclusion: str
    family: str
    level: int
    header: str = ""
    """Of imported statements (`proofmesh bank import`): imports, opens, definitions."""


def load_statements(split: str, directory: Path = DIRECTORY) -> list[BankTheorem]:
    """The statements of `train`, `valid` or `test`. Raises BankError."""
    if split not in SPLITS:
        raise BankError(f"no split {split!r}; there are {', '.join(SPLITS)}")
    rows = _rows(directory / f"{split}.jsonl.gz", _Statement)
    return [
        BankTheorem(Theorem(row.name, row.binders, row.conclusion, row.header), row.family, row.level) for row in rows
    ]


def load_transitions(directory: Path = DIRECTORY, *, warm_start: bool = False) -> list[BankTransition]:
    """Supervised transitions of the train split; for the warm start, of its levels and vocabulary. Raises BankError."""
    rows = _rows(directory / "transitions.jsonl.gz", BankTransition)
    return [row for row in rows if not warm_start or in_warm_start(row)]


def in_warm_start(row: BankTransition) -> bool:
    """Is a transition part of the warm start's data?"""
    return row.level in WARM_START_LEVELS and not any(text in row.tactic for text in HELD_OUT)


def stratified(statements: Sequence[BankTheorem], n: int, seed: int) -> list[BankTheorem]:
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
    """Names the content of the bank and the choice of the warm start: a key for what is trained on it."""
    total = hashlib.blake2b(digest_size=16)
    for name in (*(f"{split}.jsonl.gz" for split in SPLITS), "transitions.jsonl.gz"):
        total.update(name.encode() + b"\0" + hashlib.blake2b(_read(directory / name)).digest())
    total.update(repr((sorted(WARM_START_LEVELS), HELD_OUT)).encode())
    return total.hexdigest()


def _read(path: Path) -> bytes:
    try:
        return gzip.decompress(path.read_bytes())
    except FileNotFoundError:
        raise BankError(
            f"{path}: no such file; is the checkout complete? `python -m scripts.bank.build` generates the bank"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise BankError(f"{path}: cannot be read ({error}); restore it with `git checkout -- data/pocket`") from error


def _rows(path: Path, kind: type) -> list:
    return list(_decode(path, kind))


@cache
def _decoder(kind: type) -> msgspec.json.Decoder:
    return msgspec.json.Decoder(kind)


def _decode(path: Path, kind: type) -> Iterator:
    for number, line in enumerate(_read(path).splitlines(), start=1):
        try:
            yield _decoder(kind).decode(line)
        except msgspec.DecodeError as error:
            raise BankError(f"{path}, line {number}: {error}; restore it with `git checkout -- data/pocket`") from error
