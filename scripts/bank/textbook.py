"""The bank `textbook`: statements as a person writes them for an introductory course, each by hand, with their proofs.

    python -m scripts.bank.textbook        # writes data/textbook from scripts/bank/textbook_proofs

The Lean files hold statement and proof, a file for each topic and a heading for each level; the bank gets the
statements alone. No generator touches them, nothing trains on them, and no choice was made by them: what is solved of
them says how far a policy that learned from pocket's generated statements goes beyond these.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import tyro

from common.files import write_whole
from common.lean import Theorem
from common.recipes import bundled_bank
from node.bank import bank, manifest
from node.bank.bank import BankTheorem
from node.bank.statements import theorem as read_theorem
from scripts.bank.normal_form import binder_groups, normal_form

NAME = "textbook"
COMMAND = "python -m scripts.bank.textbook"
PROOFS = Path(__file__).with_name("textbook_proofs")

LEVELS = {"One step": 1, "A few steps": 2, "Several steps": 3, "Many steps": 4}
"""Headings of the files: how much there is to do for a person, guessed before any prover saw the statement."""

_VARIABLES = re.compile(r"(?:α|Nat|Prop|Type|List|→|[\s()])+")
"""Types of variables, as `normal_form` knows them."""
_PIECE = re.compile(r"^/-! ## (?P<level>.+?) -/$|^theorem (?:.|\n)*?(?=\n\n|\Z)", re.MULTILINE)


def files() -> list[Path]:
    """One for each topic."""
    return sorted(PROOFS.glob("*.lean"))


def statements() -> Iterator[BankTheorem]:
    """All statements, by topic and level. Raises KeyError for a heading that is no level, Refused for a statement."""
    for file in files():
        level = 0
        for piece in _PIECE.finditer(file.read_text(encoding="utf-8")):
            if piece["level"]:
                level = LEVELS[piece["level"]]
            else:
                yield BankTheorem(read_theorem(piece.group()), file.stem, level)


def write(folder: Path) -> int:
    """Write the bank; how many statements it has. Raises OSError."""
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
    manifest.write(folder, manifest.Manifest(commands={NAME: COMMAND}, digest=bank.digest(folder)))
    return len(rows)


def form(theorem: Theorem) -> str:
    """Equal for statements that are the same up to names, order of hypotheses, types and instances (`normal_form`)."""
    binders = re.sub(r"\[[^\]]*\]", "", theorem.binders.replace("{", "(").replace("}", ")"))
    explicit = msgspec.structs.replace(theorem, binders=binders)
    types = {name for group in binder_groups(explicit) if group.endswith(": Type") for name in group.split()[:-2]}
    alpha = re.compile(rf"\b(?:{'|'.join([*types, 'Bool', 'Option'])})\b")
    groups = [alpha.sub("α", group) for group in binder_groups(explicit) if not group.endswith(": Type")]
    # Variables come first: behind the first hypothesis `normal_form` takes them for hypotheses.
    groups.sort(key=lambda group: not _VARIABLES.fullmatch(group.partition(" : ")[2]))
    bare = msgspec.structs.replace(
        theorem, binders=" ".join(f"({group})" for group in groups), conclusion=alpha.sub("α", theorem.conclusion)
    )
    return normal_form(bare)


def main() -> int:
    """Write the bank and say what it holds."""
    tyro.cli(lambda: None, description=__doc__)
    folder = bundled_bank(NAME)
    print(f"{folder}: {write(folder)} statements")
    return 0


if __name__ == "__main__":
    sys.exit(main())
