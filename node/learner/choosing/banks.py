"""Reads one theorem bank, or a weighted mixture of several (`WHERE*WEIGHT`), without duplicate statements."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from node.bank import bank
from node.bank.bank import BankTheorem, BankTransition
from node.bank.importing import Names
from node.lean.text.canonical import Alike

POCKET = "pocket"

_PART = re.compile(r"(?:bank:)?(.+?)(?:\*(\d+(?:\.\d+)?))?")


class BanksError(ValueError):
    """A bank setting cannot be parsed, or the settings contradict each other. The message names the setting."""


@dataclass(frozen=True)
class BankPart:
    """One bank of a mixture."""

    where: str
    """Its folder, or the name of a bank that comes with proofmesh (`pocket`, `witness`)."""
    weight: float = 1.0

    @property
    def directory(self) -> Path:
        return bank.BUNDLED.get(self.where) or Path(self.where)


def parse(text: str) -> BankPart:
    """Parse `WHERE*WEIGHT`. Raises BanksError."""
    match = _PART.fullmatch(text.strip())
    if match is None:
        raise BanksError(f"{text!r}: write FOLDER or FOLDER*WEIGHT, such as pocket*0.5")
    weight = float(match[2] or 1)
    if weight <= 0:
        raise BanksError(f"{text!r}: the weight must be more than 0")
    return BankPart(match[1], weight)


def parts_of(one: str, several: Sequence[str]) -> list[BankPart]:
    """The banks that `[learner] bank` or `banks` name; if both are empty, the bank that comes with proofmesh.

    Raises BanksError.
    """
    if one and several:
        raise BanksError("bank and banks are both given: name one bank in `bank`, or all of them in `banks`")
    parts = [parse(text) for text in several] if several else [BankPart(one or POCKET)]
    folders = Counter(each.directory.resolve() for each in parts)
    if repeated := [folder for folder, count in folders.items() if count > 1]:
        raise BanksError(f"banks: {repeated[0]} is named more than once")
    return parts


@dataclass
class BankContent:
    """The merged content of one or more banks. Names and train statements are unique, and no bank trains on a statement
    that another holds out."""

    train: list[tuple[BankTheorem, int]] = field(default_factory=list)
    """Statements, each with the index of its bank."""
    scored: list[BankTheorem] = field(default_factory=list)
    """Statements of the split that evaluations use."""
    held_out: list[BankTheorem] = field(default_factory=list)
    """Statements of all splits except `train`. They are excluded from training whichever split is scored, so the test
    statements stay unseen while settings are chosen on `valid`."""
    alike: Alike = field(default_factory=Alike)
    """The held-out statements of all banks that were read together."""
    bank_of: dict[str, str] = field(default_factory=dict)
    """The name of the bank's folder for each scored statement, if there are several banks."""
    transitions: list[BankTransition] = field(default_factory=list)
    digest: str = ""
    notes: list[str] = field(default_factory=list)
    """Log lines about data that was left out."""


def load(parts: Sequence[BankPart], split: str, *, scored: bool) -> BankContent:
    """Read banks. `split` names the split to score; `scored` says whether it must have statements.

    A single bank must have the requested splits. Of several banks, each may lack some. Raises BankError.
    """
    contents = [_single(part.directory, split, scored, alone=len(parts) == 1) for part in parts]
    apart = Apart([each for content in contents for each in content.held_out])
    for content in contents:
        _keep_apart(content, apart)
    merged = contents[0] if len(contents) == 1 else _mixed(parts, contents)
    merged.alike = apart.alike
    if apart.note:
        # The digest keys the warm-start cache: training on less data must not share an entry with training on all.
        merged.digest = _digest([merged.digest, apart.note, *apart.train])
        merged.notes.insert(0, apart.note)
    return merged


def _single(directory: Path, split: str, scored: bool, *, alone: bool) -> BankContent:
    """Read one bank, before decontamination. Raises BankError."""
    splits = bank.splits(directory)
    content = BankContent(digest=bank.digest(directory))
    if alone or "train" in splits or not splits:  # for an empty bank, load_statements raises the error that explains
        content.train = [(each, 0) for each in bank.load_statements("train", directory)]
    if split in splits or (alone and scored):
        content.scored = bank.load_statements(split, directory)
    content.held_out = [each for name in splits if name != "train" for each in bank.load_statements(name, directory)]
    content.transitions = bank.load_transitions(directory, warm_start=True)
    return content


def _keep_apart(content: BankContent, apart: Apart) -> None:
    """Remove from one bank's training data what any bank holds out."""
    removed_before = len(apart.train)
    content.train = [(each, 0) for each in apart.without_held_out(each for each, _ in content.train)]
    left_out = {*apart.train[removed_before:], *(each.theorem.name for each in content.held_out)}
    content.transitions = apart.without_revealing(content.transitions, left_out)


def _mixed(parts: Sequence[BankPart], contents: Sequence[BankContent]) -> BankContent:
    """Merge several banks: names are made unique, and repeated train statements are dropped."""
    merged = BankContent(digest=_digest(content.digest for content in contents))
    names = Names()
    for number, (part, content) in enumerate(zip(parts, contents, strict=True)):
        label = part.directory.resolve().name
        merged.train += [(_named(each, label, names), number) for each, _ in content.train]
        scored = [_named(each, label, names) for each in content.scored]
        merged.scored += scored
        merged.bank_of |= {each.theorem.name: label for each in scored}
        merged.transitions += content.transitions
    _drop_repeated(merged)
    return merged


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _named(each: BankTheorem, label: str, names: Names) -> BankTheorem:
    """The statement, renamed if an earlier bank uses its name."""
    name = names.free(each.theorem.name, label)
    if name == each.theorem.name:
        return each
    return msgspec.structs.replace(each, theorem=msgspec.structs.replace(each.theorem, name=name))


def _drop_repeated(content: BankContent) -> None:
    """Drop train statements that an earlier bank has."""
    first: dict[tuple[object, ...], int] = {}
    remaining = []
    for each, number in content.train:
        if first.setdefault((each.theorem.header, *each.theorem.stated), number) == number:
            remaining.append((each, number))
    if repeated := len(content.train) - len(remaining):
        content.notes.append(f"{repeated} train statements are left out: another of the banks has them, too")
    content.train = remaining


def factors(parts: Sequence[BankPart], numbers: Sequence[int]) -> list[float]:
    """A weight factor for each train statement; `numbers` holds the index of each statement's bank. New statements are
    then attempted in the proportion of the banks' weights, whatever the sizes of the banks. The largest factor is 1."""
    counts = Counter(numbers)
    shares = {number: parts[number].weight / count for number, count in counts.items()}
    largest = max(shares.values(), default=1.0)
    return [shares[number] / largest for number in numbers]


# ----------------------------------------------------------------------------------------------------------------------
# Decontamination: removes the statements of evaluations, and transitions that reveal them, from the training data.


@dataclass
class Apart:
    """The statements held out for evaluations, and a count of the training data removed because of them."""

    held_out: list[BankTheorem]
    train: list[str] = field(default_factory=list)
    """Names of the train statements that were removed."""
    transitions: int = 0
    """Number of transitions that were removed."""

    def __post_init__(self) -> None:
        self.alike = Alike()
        for each in self.held_out:
            self.alike.add_statement(each.theorem)

    def without_held_out(self, train: Iterable[BankTheorem]) -> list[BankTheorem]:
        """The train statements that no evaluation has, under whatever names of theorem, hypotheses and bound variables,
        and in whatever order of hypotheses."""
        remaining = []
        for each in train:
            if self.alike.has_statement(each.theorem):
                self.train.append(each.theorem.name)
            else:
                remaining.append(each)
        return remaining

    def without_revealing(self, transitions: Iterable[BankTransition], left_out: set[str]) -> list[BankTransition]:
        """The transitions of one bank that reveal no held-out statement. Removed are transitions from proofs of the
        theorems `left_out` (by their names in this bank), and transitions that start at a held-out statement, in any
        proof, up to names and order. Lean may print a statement differently from how it is written, so this finds many
        of them, but not all."""
        remaining = []
        for each in transitions:
            if each.theorem in left_out or each.state in self.alike:
                self.transitions += 1
            else:
                remaining.append(each)
        return remaining

    @property
    def note(self) -> str:
        """One line about the removed data; empty if nothing was removed."""
        if not self.train and not self.transitions:
            return ""
        first = f" (first {self.train[0]})" if self.train else ""
        return (
            f"{len(self.train)} train statements{first} and {self.transitions} transitions are left out of training: "
            "evaluations have the same statements"
        )
