"""Writes the bank `textbook`: handwritten statements of introductory courses, from Lean files with their proofs.

    python -m data.generators.textbook        # writes data/textbook from data/generators/textbook_proofs

There is a Lean file for each topic, with a heading for each level. The bank gets only the statements. They are not
generated, never trained on, and were not used for any design choice. So their solve rate measures how a policy that
learned from pocket's generated statements generalizes.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import tyro

from common.files import bundled_bank, write_whole
from common.lean import Theorem
from data.generators.normal_form import binder_groups, normal_form
from node.bank import bank
from node.bank.bank import BankTheorem
from node.bank.statements import theorem as read_theorem

NAME = "textbook"
COMMAND = "python -m data.generators.textbook"
PROOFS = Path(__file__).with_name("textbook_proofs")

LEVELS = {"One step": 1, "A few steps": 2, "Several steps": 3, "Many steps": 4}
"""Headings of the files and their levels: the work for a person, estimated before any prover tried the statement."""

_VARIABLES = re.compile(r"(?:α|Nat|Prop|Type|List|→|[\s()])+")
"""Types of variables that `normal_form` supports."""
_PIECE = re.compile(r"^/-! ## (?P<level>.+?) -/$|^theorem (?:.|\n)*?(?=\n\n|\Z)", re.MULTILINE)


def files() -> list[Path]:
    """The Lean files, one for each topic."""
    return sorted(PROOFS.glob("*.lean"))


def statements() -> Iterator[BankTheorem]:
    """All statements, by topic and level. Raises KeyError for an unknown heading, Refused for an invalid statement."""
    for file in files():
        level = 0
        for piece in _PIECE.finditer(file.read_text(encoding="utf-8")):
            if piece["level"]:
                level = LEVELS[piece["level"]]
            else:
                yield BankTheorem(read_theorem(piece.group()), file.stem, level)


def write(folder: Path) -> int:
    """Write the bank; returns its number of statements. Raises OSError."""
    rows = [
        {
            "name": each.theorem.name,
            "binders": each.theorem.binders,
            "conclusion": each.theorem.conclusion,
            "family": each.family,
            "level": each.level,
        }
        for each in statements()
    ]
    folder.mkdir(exist_ok=True)
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    write_whole(folder / "test.jsonl.gz", gzip.compress(text, mtime=0))
    bank.write_manifest(folder, bank.Manifest(commands={NAME: COMMAND}, digest=bank.digest(folder)))
    return len(rows)


def form(theorem: Theorem) -> str:
    """A normal form that is equal up to names, order of hypotheses, types and instances (see `normal_form`)."""
    binders = re.sub(r"\[[^\]]*\]", "", theorem.binders.replace("{", "(").replace("}", ")"))
    explicit = msgspec.structs.replace(theorem, binders=binders)
    types = {name for group in binder_groups(explicit) if group.endswith(": Type") for name in group.split()[:-2]}
    alpha = re.compile(rf"\b(?:{'|'.join([*types, 'Bool', 'Option'])})\b")
    groups = [alpha.sub("α", group) for group in binder_groups(explicit) if not group.endswith(": Type")]
    # Variables first: after the first hypothesis, `normal_form` treats all binders as hypotheses.
    groups.sort(key=lambda group: not _VARIABLES.fullmatch(group.partition(" : ")[2]))
    bare = msgspec.structs.replace(
        theorem, binders=" ".join(f"({group})" for group in groups), conclusion=alpha.sub("α", theorem.conclusion)
    )
    return normal_form(bare)


def main() -> int:
    """Write the bank, and print its number of statements."""
    tyro.cli(lambda: None, description=__doc__)
    folder = bundled_bank(NAME)
    print(f"{folder}: {write(folder)} statements")
    return 0


if __name__ == "__main__":
    sys.exit(main())
