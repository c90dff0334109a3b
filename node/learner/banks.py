"""One bank or several by weight: `WHERE*WEIGHT`, as training data has it. What they state together, each thing once."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from node.bank import bank
from node.bank.bank import BankTheorem, BankTransition
from node.bank.reading import Names

POCKET = "pocket"

_PART = re.compile(r"(?:bank:)?(.+?)(?:\*(\d+(?:\.\d+)?))?")


class BanksError(ValueError):
    """Banks that are named in no known form, or cannot be learned from; the message says which and why."""


@dataclass(frozen=True)
class BankPart:
    """One bank of a mixture."""

    where: str
    """Its folder, or `pocket` for the one that comes with proofmesh."""
    weight: float = 1.0

    @property
    def directory(self) -> Path:
        return bank.DIRECTORY if self.where == POCKET else Path(self.where)


def parse(text: str) -> BankPart:
    """`WHERE*WEIGHT`. Raises BanksError."""
    found = _PART.fullmatch(text.strip())
    if found is None:
        raise BanksError(f"{text!r}: write FOLDER or FOLDER*WEIGHT, such as pocket*0.5")
    weight = float(found[2] or 1)
    if weight <= 0:
        raise BanksError(f"{text!r}: the weight must be more than 0")
    return BankPart(found[1], weight)


def parts_of(one: str, several: Sequence[str]) -> list[BankPart]:
    """The banks that `[learner] bank` and `banks` name; without either, the one that comes with proofmesh.

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
    """What some banks hold together. No two of them share a name or a train statement, and none trains on what another
    is scored on."""

    train: list[tuple[BankTheorem, int]] = field(default_factory=list)
    """Statements, with the number of the bank that they are from."""
    scored: list[BankTheorem] = field(default_factory=list)
    transitions: list[BankTransition] = field(default_factory=list)
    digest: str = ""
    notes: list[str] = field(default_factory=list)
    """What was left out, for the log."""


def load(parts: Sequence[BankPart], split: str, *, scored: bool) -> BankContent:
    """Read banks. `split`: of the scored statements; `scored`: whether there must be some.

    Of several banks each may lack a split; a single one must have what is asked for. Raises BankError, BanksError.
    """
    if len(parts) == 1:
        return _single(parts[0].directory, split, scored)
    found = BankContent()
    digests = []
    names = Names()
    for number, part in enumerate(parts):
        there = bank.splits(part.directory)
        if not there:
            bank.load_statements("train", part.directory)  # says what is missing
        content = _single(part.directory, split if split in there else "", False, "train" in there)
        label = part.directory.resolve().name
        found.train += [(_named(each, label, names), number) for each, _ in content.train]
        found.scored += [_named(each, label, names) for each in content.scored]
        found.transitions += content.transitions
        digests.append(content.digest)
    found.digest = hashlib.blake2b("\0".join(digests).encode(), digest_size=16).hexdigest()
    _leave_out(found)
    return found


def _single(directory: Path, split: str, scored: bool, train: bool = True) -> BankContent:
    """One bank. Raises BankError, BanksError."""
    found = BankContent(digest=bank.digest(directory))
    if train:
        found.train = [(each, 0) for each in bank.load_statements("train", directory)]
    if split and (scored or split in bank.splits(directory)):
        found.scored = bank.load_statements(split, directory)
    found.transitions = bank.load_transitions(directory, warm_start=True)
    forbidden = {each.theorem.stated for each in found.scored}
    leaked = [each.theorem.name for each, _ in found.train if each.theorem.stated in forbidden]
    if leaked:
        raise BanksError(
            f"{directory}: {len(leaked)} train statements are {split} statements too, first {leaked[0]}: fix the bank"
        )
    return found


def _named(each: BankTheorem, label: str, names: Names) -> BankTheorem:
    """The statement under a name that no bank before it has given."""
    name = names.free(each.theorem.name, label)
    if name == each.theorem.name:
        return each
    return msgspec.structs.replace(each, theorem=msgspec.structs.replace(each.theorem, name=name))


def _leave_out(found: BankContent) -> None:
    """Take from the train statements what another bank is scored on, and what one before has stated already."""
    scored = {each.theorem.stated for each in found.scored}
    first: dict[tuple[object, ...], int] = {}
    kept = []
    leaked = repeated = 0
    for each, number in found.train:
        whole = (each.theorem.header, *each.theorem.stated)
        if each.theorem.stated in scored:
            leaked += 1
        elif first.setdefault(whole, number) != number:
            repeated += 1
        else:
            kept.append((each, number))
    found.train = kept
    if leaked:
        found.notes.append(f"{leaked} train statements are left out: another of the banks is scored on them")
    if repeated:
        found.notes.append(f"{repeated} train statements are left out: another of the banks has them, too")


def factors(parts: Sequence[BankPart], numbers: Sequence[int]) -> list[float]:
    """For each train statement (by the number of its bank) a factor of its weight, so that new statements are attempted
    in the proportion of their banks' weights, however many each bank has. The largest factor is 1."""
    counts = Counter(numbers)
    shares = {number: parts[number].weight / count for number, count in counts.items()}
    largest = max(shares.values(), default=1.0)
    return [shares[number] / largest for number in numbers]
