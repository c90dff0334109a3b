"""`proofmesh bank list`, `stats` and `check`: lists known data sets and banks, shows a bank's content, checks a bank.

Exit code: 0 no problems, 1 `check` found problems, 2 there is no such bank, or it cannot be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.lean_settings import LeanSettings
from common.output.visible import say
from node.bank.command import unusable

if TYPE_CHECKING:
    from node.bank.bank import BankTheorem
    from node.bank.manifest import Manifest

FINE, FOUND = 0, 1


@dataclass
class ListSettings:
    """List known data sets and theorem banks."""

    folders: Annotated[list[Path], tyro.conf.Positional] = field(default_factory=lambda: [Path()])
    """Banks, or folders of banks. By default the current folder."""

    data: list[Path] = field(default_factory=list)
    """Folders with local copies of known data sets, besides $PROOFMESH_DATA."""


@dataclass
class StatsSettings:
    """Show the content of a theorem bank."""

    bank: Annotated[str, tyro.conf.Positional]
    """Its folder, or `pocket`, `witness` or `textbook`, which are part of proofmesh."""


@dataclass
class CheckSettings:
    """Check that a theorem bank is complete, and that it was made for this Lean."""

    bank: Annotated[str, tyro.conf.Positional]
    """Its folder, or `pocket`, `witness` or `textbook`, which are part of proofmesh."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean to compare with the one under which its statements were tried (--lean.project)."""


def main(argv: Sequence[str]) -> int:
    """Run one of these commands. Returns the exit code."""
    name, arguments = argv[0], list(argv[1:])
    prog = f"proofmesh bank {name}"
    if name == "list":
        return list_all(tyro.cli(ListSettings, args=arguments, prog=prog))
    if name == "stats":
        return show_stats(tyro.cli(StatsSettings, args=arguments, prog=prog))
    return check(tyro.cli(CheckSettings, args=arguments, prog=prog))


def list_all(settings: ListSettings) -> int:
    """Print a line for each data set and each bank."""
    from rich.table import Table

    from common.output.terminal import Console, line
    from node.bank import bank
    from node.bank.known import KNOWN
    from node.bank.sources import is_bank, local_copy

    known = Table("name", "statements", "splits", "licence", "source", title="known data sets", expand=False)
    for each in KNOWN.values():
        copy = local_copy(each, settings.data)
        where = str(copy) if copy is not None else f"hub: {each.hub.id}"
        known.add_row(each.name, str(each.statements), ", ".join(each.splits), each.licence or "not stated", where)
    banks = Table("bank", "statements", "sources", title="theorem banks", expand=False)
    below = (path for folder in settings.folders if folder.is_dir() for path in [folder, *sorted(folder.iterdir())])
    folders = [*bank.BUNDLED.items(), *((str(path), path) for path in below if path.is_dir() and is_bank(path))]
    for name, folder in folders:
        try:
            counts = {split: len(bank.load_statements(split, folder)) for split in bank.splits(folder)}
            sources = ", ".join(bank.manifest_of(folder).sources)
        except bank.BankError as error:
            banks.add_row(name, line(str(error), style="red"), "")
            continue
        banks.add_row(name, ", ".join(f"{count} {split}" for split, count in counts.items()), sources)
    for column in (*known.columns, *banks.columns):
        column.overflow = "fold"
    Console().print(known, banks, sep="\n")
    return FINE


def folder_of(name: str) -> Path:
    """A bank's folder. Raises BankError if it is not a bank."""
    from node.bank import bank

    folder = bank.BUNDLED.get(name) or Path(name)
    if not bank.splits(folder):
        raise bank.BankError(
            f"{folder}: no theorem bank (no {', '.join(f'{split}.jsonl.gz' for split in bank.SPLITS)} in it); "
            "make one with `proofmesh bank import SOURCE`, or list banks with `proofmesh bank list`"
        )
    return folder


def show_stats(settings: StatsSettings) -> int:
    """Print the content of a bank. Returns the exit code."""
    from node.bank import bank

    try:
        folder = folder_of(settings.bank)
        manifest = bank.manifest_of(folder)
        say(f"{settings.bank}: digest {bank.digest(folder)}")
        for split in bank.splits(folder):
            _show_split(split, bank.load_statements(split, folder))
        say(f"transitions: {len(bank.load_transitions(folder))}")
    except bank.BankError as error:
        return unusable(str(error))
    for name, record in manifest.sources.items():
        lean = f"tried under Lean {record.lean}" if record.lean else "not tried under any Lean"
        revision = f" at {record.revision}" if record.revision else ""
        say(f"source {name}: {record.statements} statements of {record.rows} rows of {record.origin}{revision}")
        say(f"  licence {record.licence or 'not known'}; {lean}; digest {record.digest}")
        for package, commit in record.library.items():
            say(f"  {package} {commit}")
    return FINE


def _show_split(split: str, statements: Sequence[BankTheorem]) -> None:
    headers = Counter(each.theorem.header for each in statements)
    sizes = sorted(len(each.theorem.signature) for each in statements)
    say(f"{split}: {len(statements)} statements, {len(headers)} headers", end="")
    say(f", {sizes[len(sizes) // 2]} characters in the middle, {sizes[-1]} at most" if sizes else "")
    for title, counts in (
        ("families", Counter(each.family for each in statements)),
        ("levels", Counter(str(each.level) for each in statements)),
    ):
        if counts:
            say(f"  {title}: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    if flawed := [each.theorem.name for each in statements if each.flaw]:
        say(f"  known to be flawed: {', '.join(flawed)}")


def check(settings: CheckSettings) -> int:
    """Compare a bank with its manifest and with this Lean. Returns the exit code."""
    from node.bank import bank
    from node.bank.library import difference
    from node.lean.toolchain.find import find
    from node.lean.toolchain.pocket.build import PocketBuildError
    from node.lean.toolchain.problems import LeanProblem

    try:
        folder = folder_of(settings.bank)
        manifest = bank.manifest_of(folder)
        problems = _content_problems(folder, manifest)
        toolchain = find(settings.lean) if any(each.lean for each in manifest.sources.values()) else None
    except (bank.BankError, LeanProblem, PocketBuildError) as error:
        return unusable(str(error))
    for name, record in manifest.sources.items():
        if toolchain is not None and (problem := difference(record, toolchain)):
            problems.append(f"{name}: {problem}; import it again, or name its Lean with --lean.project")
        elif not record.lean:
            say(f"{name}: its statements were not tried under any Lean")
    for problem in problems:
        say(f"{settings.bank}: {problem}")
    if not problems:
        under = f", of Lean {toolchain.version}" if toolchain is not None else ""
        say(
            f"{settings.bank}: whole{under}"
            if manifest.digest
            else f"{settings.bank}: readable; its manifest has no digest to compare with"
        )
    return FOUND if problems else FINE


def _content_problems(folder: Path, manifest: Manifest) -> list[str]:
    """The problems of a bank's content. Raises BankError for a file that cannot be read."""
    from node.bank import bank

    problems = []
    names: Counter[str] = Counter()
    stated: dict[str, set[tuple[object, ...]]] = {}
    for split in bank.splits(folder):
        statements = bank.load_statements(split, folder)
        names.update(each.theorem.name for each in statements)
        stated[split] = {each.theorem.stated for each in statements}
    bank.load_transitions(folder)
    digest = bank.digest(folder)
    if manifest.digest and digest != manifest.digest:
        problems.append(f"its content is not what was written: its digest is {digest}, and was {manifest.digest}")
    if repeated := [name for name, count in names.items() if count > 1]:
        problems.append(f"{len(repeated)} names stand for several statements, first {repeated[0]}")
    scored = stated.get("valid", set()) | stated.get("test", set())
    if leaked := stated.get("train", set()) & scored:
        problems.append(f"{len(leaked)} train statements are valid or test statements too")
    return problems
