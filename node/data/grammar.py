"""The grammar of training data, the same for all trainers: `[KIND:]WHERE[@SPLIT][*WEIGHT]`.

docs/training.md ("Sources of training data") explains it. KIND says what is read, WHERE where it is, SPLIT which part
of it, and WEIGHT its share in a mixture. A trainer that reads one kind by default needs no KIND.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from common.output.visible import say
from node.data.errors import InputError

TEXT, LEAN, TRANSITIONS, PROOFS, CONJECTURES = "text", "lean", "transitions", "proofs", "conjectures"
PAIRS, STATEMENTS, PROGRESS, PREMISES = "pairs", "statements", "progress", "premises"

KINDS = {
    TEXT: "texts",
    LEAN: "texts of Lean code",
    TRANSITIONS: "proof states with the tactic that a proof applies",
    PROOFS: "statements with whole proofs",
    CONJECTURES: "conjectures with the lemma and the proof that they were asked for with",
    PAIRS: "prompts with completions, used unchanged",
    STATEMENTS: "statements to prove",
    PROGRESS: "tactics with the number of steps that remain",
    PREMISES: "LeanDojo's theorems, whose tactics name premises",
}
"""What each KIND reads."""

BANK, POCKET, HUB = "bank", "pocket", "hub:"
"""WHERE of the built-in bank, of pocket Lean's library, and of a dataset of the hub (hub:ORG/NAME[/CONFIG])."""

WARM, ALL = "warm", "all"
"""SPLIT of a bank: its warm start (the default of `bank`), or everything (the default of another bank's folder)."""

OLD_ALL = "bank-all"
"""How `bank@all` was written."""

_OLD_BANK = re.compile(rf"^((?:\w+:)?){OLD_ALL}(?=\*|$)")
_OLD_FOLDER = re.compile(rf"({BANK}|{OLD_ALL}):(.+)")
"""`bank-all`, `KIND:bank-all*WEIGHT`; `bank:FOLDER`, `bank-all:FOLDER`."""

_REST = re.compile(r"(?P<where>.+?)(?:@(?P<split>[\w.\[\]:%+-]+))?(?:\*(?P<weight>\d+(?:\.\d+)?))?")


@dataclass(frozen=True)
class Source:
    """The parsed name of a source."""

    kind: str
    """A key of KINDS; empty: all that the trainer reads."""
    where: str
    split: str = ""
    weight: float = 1.0

    @property
    def name(self) -> str:
        """`KIND:WHERE@SPLIT`, for messages."""
        return f"{self.kind}:{self.where}".removeprefix(":") + (f"@{self.split}" if self.split else "")

    def __str__(self) -> str:
        return self.name if self.weight == 1 else f"{self.name}*{self.weight:.12g}"

    @property
    def seed(self) -> tuple[str, str]:
        """What seeds the order of its rows. Stored positions of trainings depend on it, so an old spelling stays."""
        if (self.where, self.split) == (BANK, ALL):
            return self.kind, OLD_ALL
        return self.kind, self.where + (f"@{self.split}" if self.split else "")

    @property
    def is_bank(self) -> bool:
        """Whether it is the bank that comes with proofmesh."""
        return self.where == BANK

    @property
    def path(self) -> Path:
        return Path(self.where).expanduser()


def parse(text: str, kinds: Collection[str], default: str | None = None) -> Source:
    """The source that a text names. `kinds`: those that the trainer reads; `default`: the kind of a text without one,
    None if there must be one. Old spellings are read, too, with a note on standard error. Raises InputError."""
    if (new := modern(text)) != text:
        _note(text, new)
    kind, colon, rest = new.partition(":")
    if not colon or kind not in KINDS:
        kind, rest = default or "", new
    elif kind not in kinds:
        raise InputError(f"data `{text}`: no {KINDS[kind]} are read here, but {' or '.join(kinds)}")
    found = _REST.fullmatch(rest)
    if found is None or (not kind and default is None):
        raise InputError(f"data `{text}`: expected KIND:WHERE with KIND one of {', '.join(kinds)}, such as text:bank")
    where, split, weight = found["where"], found["split"] or "", float(found["weight"] or 1)
    if split and is_there(f"{where}@{split}"):  # a file with an @ in its name
        where, split = f"{where}@{split}", ""
    if weight <= 0:
        raise InputError(f"data `{text}`: the weight must be more than 0")
    return Source(kind, where, split, weight)


def is_there(name: str) -> bool:
    """Whether a file or folder has this name, which may be none that a file can have."""
    return os.path.exists(os.path.expanduser(name))  # noqa: PTH110, PTH111 -- pathlib raises for a name that is too long


def modern(text: str) -> str:
    """A text in today's spelling. Stored settings keep the spelling that they were written in."""
    if found := _OLD_FOLDER.fullmatch(text):
        return f"{found[2]}@{WARM if found[1] == BANK else ALL}"
    return _OLD_BANK.sub(rf"\1{BANK}@{ALL}", text)


@cache
def _note(old: str, new: str) -> None:
    """Once for each spelling."""
    say(f"data `{old}`: write `{new}`; the old spelling is still read", file=sys.stderr)
