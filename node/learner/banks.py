"""One bank or several by weight: `WHERE*WEIGHT`, as training data has it. What they state together, each thing once."""

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
from node.bank.reading import Names
from node.learner.apart import Apart

POCKET = "pocket"

_PART = re.compile(r"(?:bank:)?(.+?)(?:\*(\d+(?:\.\d+)?))?")


class BanksError(ValueError):
    """Banks that are named in no known form; the message says which and why."""


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
    held_out: list[BankTheorem] = field(default_factory=list)
    """Statements of all splits but `train`. No training has them, whichever split is scored: the test statements stay
    unseen where settings are chosen on `valid`."""
    transitions: list[BankTransition] = field(default_factory=list)
    digest: str = ""
    notes: list[str] = field(default_factory=list)
    """What was left out, for the log."""


def load(parts: Sequence[BankPart], split: str, *, scored: bool) -> BankContent:
    """Read banks. `split`: of the scored statements; `scored`: whether there must be some.

    Of several banks each may lack a split; a single one must have what is asked for. Raises BankError.
    """
    contents = [_single(part.directory, split, scored, alone=len(parts) == 1) for part in parts]
    apart = Apart([each for content in contents for each in content.held_out])
    for content in contents:
        _keep_apart(content, apart)
    found = contents[0] if len(contents) == 1 else _mixed(parts, contents)
    if apart.note:
        # What is cached of a training on less than all belongs to that.
        found.digest = _digest([found.digest, apart.note, *apart.train])
        found.notes.insert(0, apart.note)
    return found


def _single(directory: Path, split: str, scored: bool, *, alone: bool) -> BankContent:
    """One bank as it is. Raises BankError."""
    there = bank.splits(directory)
    found = BankContent(digest=bank.digest(directory))
    if alone or "train" in there or not there:  # a bank with nothing in it: says what is missing
        found.train = [(each, 0) for each in bank.load_statements("train", directory)]
    if split in there or (alone and scored):
        found.scored = bank.load_statements(split, directory)
    found.held_out = [each for name in there if name != "train" for each in bank.load_statements(name, directory)]
    found.transitions = bank.load_transitions(directory, warm_start=True)
    return found


def _keep_apart(content: BankContent, apart: Apart) -> None:
    """Take from one bank's training what the splits of all have that are held out."""
    known = len(apart.train)
    content.train = [(each, 0) for each in apart.kept_train(each for each, _ in content.train)]
    left_out = {*apart.train[known:], *(each.theorem.name for each in content.held_out)}
    content.transitions = apart.kept_transitions(content.transitions, left_out)


def _mixed(parts: Sequence[BankPart], contents: Sequence[BankContent]) -> BankContent:
    """What several banks state, each thing once."""
    found = BankContent(digest=_digest(content.digest for content in contents))
    names = Names()
    for number, (part, content) in enumerate(zip(parts, contents, strict=True)):
        label = part.directory.resolve().name
        found.train += [(_named(each, label, names), number) for each, _ in content.train]
        found.scored += [_named(each, label, names) for each in content.scored]
        found.transitions += content.transitions
    _once(found)
    return found


def _digest(parts: Iterable[str]) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).hexdigest()


def _named(each: BankTheorem, label: str, names: Names) -> BankTheorem:
    """The statement under a name that no bank before it has given."""
    name = names.free(each.theorem.name, label)
    if name == each.theorem.name:
        return each
    return msgspec.structs.replace(each, theorem=msgspec.structs.replace(each.theorem, name=name))


def _once(found: BankContent) -> None:
    """Take from the train statements what a bank before has stated already."""
    first: dict[tuple[object, ...], int] = {}
    kept = []
    for each, number in found.train:
        if first.setdefault((each.theorem.header, *each.theorem.stated), number) == number:
            kept.append((each, number))
    if repeated := len(found.train) - len(kept):
        found.notes.append(f"{repeated} train statements are left out: another of the banks has them, too")
    found.train = kept


def factors(parts: Sequence[BankPart], numbers: Sequence[int]) -> list[float]:
    """For each train statement (by the number of its bank) a factor of its weight, so that new statements are attempted
    in the proportion of their banks' weights, however many each bank has. The largest factor is 1."""
    counts = Counter(numbers)
    shares = {number: parts[number].weight / count for number, count in counts.items()}
    largest = max(shares.values(), default=1.0)
    return [shares[number] / largest for number in numbers]
