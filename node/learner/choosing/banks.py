"""Reads one theorem bank, or a weighted mixture of several (`WHERE[FAMILY, ...]*WEIGHT`), without duplicate statements.

A bank's weight counts in all that a run draws from it: statements to attempt, supervised transitions, and statements of
evaluations."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from common.protocol.messages import MAX_MESSAGE_BYTES
from node.bank import bank
from node.bank.bank import BankError, BankTheorem, BankTransition
from node.bank.importing import Names
from node.lean.text.canonical import Alike

POCKET = "pocket"

LARGEST_STATEMENT = MAX_MESSAGE_BYTES - 16 * 1024
"""Bytes of the largest statement that an attempt can have."""

T = TypeVar("T")

_PART = re.compile(r"(?:bank:)?(.+?)(?:\*(\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class BankPart:
    """One bank of a mixture."""

    where: str
    """Its folder, or the name of a bank that comes with proofmesh (`pocket`, `witness`)."""
    weight: float = 1.0
    families: frozenset[str] = frozenset()
    """The families to train and evaluate on; empty: all."""
    number: int = 1
    """2, 3, ... for further banks of the run whose folders have the same name as an earlier one's."""

    @property
    def directory(self) -> Path:
        return bank.BUNDLED.get(self.where) or Path(self.where)

    @property
    def label(self) -> str:
        """The name of its folder, for tables; with its number if that is not 1."""
        name = self.directory.resolve().name
        return name if self.number == 1 else f"{name}-{self.number}"


def parse(text: str) -> BankPart:
    """Parse `WHERE[FAMILY, ...]*WEIGHT`. Raises BankError."""
    match = _PART.fullmatch(text.strip())
    if match is None:
        raise BankError(f"{text!r}: write FOLDER, FOLDER*WEIGHT or FOLDER[FAMILY, ...]*WEIGHT, such as pocket*0.5")
    (where, families), weight = bank.families_of(match[1].strip()), float(match[2] or 1)
    if weight <= 0:
        raise BankError(f"{text!r}: the weight must be more than 0")
    return BankPart(where, weight, families)


def parts_of(one: str, several: Sequence[str]) -> list[BankPart]:
    """The banks that `[learner] bank` or `banks` name; if both are empty, the bank that comes with proofmesh.

    Raises BankError.
    """
    if one and several:
        raise BankError("bank and banks are both given: name one bank in `bank`, or all of them in `banks`")
    parts = [parse(text) for text in several] if several else [BankPart(one or POCKET)]
    folders = Counter(each.directory.resolve() for each in parts)
    if repeated := [folder for folder, count in folders.items() if count > 1]:
        raise BankError(f"banks: {repeated[0]} is named more than once")
    numbers: Counter[str] = Counter()
    for number, each in enumerate(parts):
        numbers[each.label] += 1
        parts[number] = replace(each, number=numbers[each.label])
    return parts


def budget_factors(texts: Sequence[str], parts: Sequence[BankPart]) -> list[float]:
    """For each bank, how many times as many simulations as given its attempts and evaluations get; 1 for banks that
    `texts` (`WHERE*FACTOR`) do not name. Raises BankError."""
    factors = {each.directory.resolve(): each for each in map(parse, texts)}
    for folder, each in factors.items():
        if each.families or folder not in (part.directory.resolve() for part in parts):
            raise BankError(f"budget_factors: {each.where!r} is none of the run's banks; write FOLDER*FACTOR")
    return [factors[folder].weight if (folder := part.directory.resolve()) in factors else 1.0 for part in parts]


@dataclass
class BankContent:
    """The merged content of one or more banks. Names and train statements are unique, and no bank trains on a statement
    that another holds out."""

    train: list[tuple[BankTheorem, int]] = field(default_factory=list)
    """Statements, each with the index of its bank."""
    scored: list[tuple[BankTheorem, int]] = field(default_factory=list)
    """The same for the split that evaluations use."""
    held_out: list[BankTheorem] = field(default_factory=list)
    """Statements of all splits except `train`. They are excluded from training whichever split is scored, so the test
    statements stay unseen while settings are chosen on `valid`."""
    transitions: list[tuple[BankTransition, int]] = field(default_factory=list)
    """Supervised transitions, each with the index of its bank."""
    digest: str = ""
    notes: list[str] = field(default_factory=list)
    """Log lines about data that was left out."""


def load(parts: Sequence[BankPart], split: str, *, scored: bool) -> BankContent:
    """Read banks. `split` names the split to score; `scored` says whether it must have statements.

    A single bank must have the requested splits. Of several banks, each may lack some. Raises BankError.
    """
    contents = [_single(part, split, scored, alone=len(parts) == 1) for part in parts]
    apart = Apart([each for content in contents for each in content.held_out])
    for content in contents:
        _keep_apart(content, apart)
    merged = contents[0] if len(contents) == 1 else _mixed(parts, contents)
    _drop_large(merged)
    if apart.note:
        # The digest keys the warm-start cache: training on less data must not share an entry with training on all.
        merged.digest = _digest([merged.digest, apart.note, *apart.train])
        merged.notes.insert(0, apart.note)
    return merged


def _single(part: BankPart, split: str, scored: bool, *, alone: bool) -> BankContent:
    """Read one bank, before decontamination. Raises BankError."""
    directory, splits = part.directory, bank.splits(part.directory)
    content = BankContent(digest=bank.digest(directory))
    if alone or "train" in splits or not splits:  # for an empty bank, load_statements raises the error that explains
        content.train = [(each, 0) for each in bank.load_statements("train", directory)]
    if split in splits or (alone and scored):
        content.scored = [(each, 0) for each in bank.load_statements(split, directory)]
    content.held_out = [each for name in splits if name != "train" for each in bank.load_statements(name, directory)]
    content.transitions = [(each, 0) for each in bank.load_transitions(directory, warm_start=True)]
    if part.families:
        _keep_families(content, part)
    return content


def _keep_families(content: BankContent, part: BankPart) -> None:
    """Remove what belongs to other families; all that the bank holds out stays held out. Raises BankError."""
    bank.check_families(part.where, part.families, (each.family for each, _ in (*content.train, *content.scored)))
    content.train = [pair for pair in content.train if pair[0].family in part.families]
    content.scored = [pair for pair in content.scored if pair[0].family in part.families]
    content.transitions = [pair for pair in content.transitions if pair[0].family in part.families]
    content.digest = _digest([content.digest, *sorted(part.families)])


def _keep_apart(content: BankContent, apart: Apart) -> None:
    """Remove from one bank's training data what any bank holds out."""
    removed_before = len(apart.train)
    content.train = [(each, 0) for each in apart.without_held_out(each for each, _ in content.train)]
    left_out = {*apart.train[removed_before:], *(each.theorem.name for each in content.held_out)}
    revealing = apart.without_revealing([each for each, _ in content.transitions], left_out)
    content.transitions = [(each, 0) for each in revealing]


def _mixed(parts: Sequence[BankPart], contents: Sequence[BankContent]) -> BankContent:
    """Merge several banks: names are made unique, and repeated train statements are dropped."""
    pairs = list(zip(parts, contents, strict=True))
    merged = BankContent(digest=_digest(f"{part.weight} {content.digest}" for part, content in pairs))
    names = Names()
    for number, (part, content) in enumerate(pairs):
        label = part.label
        merged.train += [(_named(each, label, names), number) for each, _ in content.train]
        merged.scored += [(_named(each, label, names), number) for each, _ in content.scored]
        merged.transitions += [(each, number) for each, _ in content.transitions]
    _drop_repeated(merged)
    return merged


def _drop_large(content: BankContent) -> None:
    """Leave out statements that do not fit into a message with all that an attempt says besides."""
    for rows in (content.train, content.scored):
        large = {id(each) for each, _ in rows if len(msgspec.msgpack.encode(each.theorem)) > LARGEST_STATEMENT}
        if large:
            first = next(each.theorem.name for each, _ in rows if id(each) in large)
            content.notes.append(f"{len(large)} statements are too large for a message and are left out, first {first}")
            rows[:] = [pair for pair in rows if id(pair[0]) not in large]


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
    shares = _share_of_each(parts, numbers)
    largest = max(shares.values(), default=1.0)
    return [shares[number] / largest for number in numbers]


MOST_COPIES = 100
"""Most copies of a supervised transition: a bank with too few for its weight is not learned by heart."""


def copies(parts: Sequence[BankPart], numbers: Sequence[int]) -> list[int]:
    """How often each supervised transition is in an epoch, so that banks have the shares of their weights, about."""
    shares = _share_of_each(parts, numbers)
    least = min(shares.values(), default=1.0)
    return [min(MOST_COPIES, round(shares[number] / least)) for number in numbers]


def _share_of_each(parts: Sequence[BankPart], numbers: Sequence[int]) -> dict[int, float]:
    """The share of a single element of each bank, if banks share by their weights."""
    return {number: parts[number].weight / count for number, count in Counter(numbers).items()}


def by_bank(numbered: Iterable[tuple[T, int]]) -> dict[int, list[T]]:
    """The elements of each bank, by its index."""
    grouped: dict[int, list[T]] = {}
    for each, number in numbered:
        grouped.setdefault(number, []).append(each)
    return grouped


def divided(count: int, parts: Sequence[BankPart], sizes: Mapping[int, int]) -> dict[int, int]:
    """How many of `count` statements come from each bank, by weight; what a small bank lacks, the others give."""
    taken = dict.fromkeys(sizes, 0)
    for _ in range(min(count, sum(sizes.values()))):
        # The bank that is furthest behind its share gives the next statement (D'Hondt); the first of equals.
        open_banks = [number for number in sizes if taken[number] < sizes[number]]
        taken[max(open_banks, key=lambda number: parts[number].weight / (taken[number] + 1))] += 1
    return taken


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
        self._alike = Alike()
        for each in self.held_out:
            self._alike.add_statement(each.theorem)

    def without_held_out(self, train: Iterable[BankTheorem]) -> list[BankTheorem]:
        """The train statements that no evaluation has, under whatever names of theorem, hypotheses and bound variables,
        and in whatever order of hypotheses."""
        remaining = []
        for each in train:
            if self._alike.has_statement(each.theorem):
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
            if each.theorem in left_out or each.state in self._alike:
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
