"""`proofmesh bank`: imports data sets into theorem banks, lists banks and known data sets, shows and checks a bank.

`proofmesh bank import SOURCE` imports the statements of a data set that elaborate under this Lean into a bank. SOURCE:
the name of a known data set (`proofmesh bank list`), a .json, .jsonl, .parquet, .txt or .lean file, a folder of these,
or a Hugging Face id. Train on the bank with `[learner] bank = "OUT"`. It has no proofs for a warm start, so name a
network in `[learner.warm_start] checkpoint`.

Exit code: 0 no problems (import: statements were imported), 1 `check` found problems or none of the imported statements
elaborates, 2 the source, the bank or the Lean cannot be used.
"""

from __future__ import annotations

import asyncio
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import tyro

from common.limits import Natural, Positive, Timeout
from common.output.command import Exit, UserError, refuse
from common.output.visible import say
from common.settings import LeanSettings

if TYPE_CHECKING:
    from node.bank.bank import BankTheorem, Manifest, SourceRecord
    from node.bank.importing import SourceReading, Written
    from node.bank.sources import Source
    from node.lean.toolchain.lean_toolchain import LeanToolchain

FIRST_ERRORS = 5
"""Errors of each kind that are shown. All are in OUT/import.json."""

ERROR_CHARACTERS = 200


@dataclass
class ImportSettings:
    """Import the statements of a dataset into a theorem bank."""

    source: Annotated[str, tyro.conf.Positional]
    """Known data set (`proofmesh bank list`), file (.json, .jsonl, .parquet, .txt, .lean), folder of such files, or
    Hugging Face id (OWNER/NAME)."""

    out: Path = Path("bank")
    """Folder of the bank. Statements of other sources in it stay."""

    name: str = ""
    """Name of the source in the bank; by default, the file's name or the id."""

    split: Literal["", "train", "valid", "test"] = ""
    """Split of statements whose row names none; by default the split of a known data set, or `train`."""

    header: str = ""
    """Header of statements without one (such as Lean-Workbook's, whose default is its own header with Mathlib)."""

    data: list[Path] = field(default_factory=list)
    """Folders with local copies of known data sets, besides $PROOFMESH_DATA. Without a copy, the hub's is used."""

    licence: str = ""
    """Licence to record for the source; by default that of a known data set."""

    check: bool = True
    """Leave out statements that do not elaborate under this Lean."""

    limit: Natural = 0
    """Most rows to read; 0 means all."""

    jobs: Natural = 0
    """Lean processes that run at the same time; 0 means as many as cores and memory allow."""

    seconds: Timeout = 600.0
    """Time limit of Lean for a batch of 100 statements, including the import of the library."""

    memory_mb: Positive = 8192
    """Memory limit for each Lean process."""

    config: str = ""
    """Configuration of a Hugging Face dataset."""

    revision: str = ""
    """Revision of a Hugging Face dataset."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean. Statements of public data sets need a Lake project with Mathlib (--lean.project)."""


USAGE = """proofmesh bank import SOURCE [OPTIONS]    import statements of a data set into a theorem bank
proofmesh bank list [FOLDER ...]          list known data sets and theorem banks
proofmesh bank stats BANK                 show the content of a bank: splits, families, sources, licences
proofmesh bank check BANK [OPTIONS]       check that a bank is complete and made for this Lean
--help after a command shows its options."""


def main(argv: Sequence[str]) -> int:
    """Entry point of `proofmesh bank`. Returns the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return Exit.DONE if argv else Exit.UNUSABLE
    name, arguments = argv[0], list(argv[1:])
    prog = f"proofmesh bank {name}"
    try:
        if name == "list":
            return list_all(tyro.cli(ListSettings, args=arguments, prog=prog))
        if name == "stats":
            return show_stats(tyro.cli(StatsSettings, args=arguments, prog=prog))
        if name == "check":
            return check(tyro.cli(CheckSettings, args=arguments, prog=prog))
        if name == "import":
            command_line = shlex.join(["proofmesh", "bank", *argv])
            return import_source(tyro.cli(ImportSettings, args=arguments, prog=prog), command_line)
        raise UserError(f"no command `{name}`; there are import, list, stats and check")
    except UserError as error:
        return refuse("proofmesh bank", error)


def import_source(settings: ImportSettings, command: str) -> int:
    """Run an import. Returns the exit code. `command`: the command line, for the bank's manifest."""
    from node.bank.importing import write
    from node.bank.sources import find as find_source
    from node.lean.toolchain.find import find

    source = find_source(settings.source, settings.data, config=settings.config, revision=settings.revision)
    if source.is_bank:
        raise UserError(f"{source.origin} is already a theorem bank; train on it with [learner] bank")
    reading = _read(settings, source)
    toolchain = find(settings.lean) if settings.check else None
    record = _record(settings, source, reading, toolchain)
    if left_out := source.left_out():
        say(left_out)
    failed = _failed(settings, toolchain, reading) if toolchain is not None else {}
    good = [each for each in reading.statements if each.theorem.name not in failed]
    try:
        written = write(good, settings.out, command, record) if good else None
        _report(settings, reading, failed, toolchain, written)
    except OSError as error:
        raise UserError(
            f"{settings.out}: cannot be written ({error.strerror}); use another folder with --out"
        ) from error
    return Exit.DONE if good else Exit.FAILED


def _read(settings: ImportSettings, source: Source) -> SourceReading:
    """The statements of the source. Raises BankError, also if it has no rows."""
    from node.bank.bank import BankError
    from node.bank.importing import Reader

    known = source.data_set
    split = settings.split or ("train" if known is None else known.splits[0] if len(known.splits) == 1 else "")
    reader = Reader(settings.name or source.name, split=split, header=settings.header, known=known)
    reading = reader.collect(source.rows(), settings.limit or None)
    if not reading.rows:
        raise BankError(f"{source.origin}: there is nothing in it; check path and split")
    if unsorted := [each.theorem.name for each in reading.statements if not each.split]:
        problem = f"{len(unsorted)} rows do not say which split they are of, first {unsorted[0]}"
        raise BankError(f"{source.origin}: {problem}; name it with --split")
    return reading


def _record(
    settings: ImportSettings, source: Source, reading: SourceReading, toolchain: LeanToolchain | None
) -> SourceRecord:
    """The source's record in the bank's manifest. Raises BankError."""
    from node.bank.bank import SourceRecord
    from node.lean.toolchain.lean_toolchain import library

    known = source.data_set
    return SourceRecord(
        origin=source.origin,
        revision=source.revision(),
        licence=settings.licence or (known.licence if known is not None else ""),
        homepage=known.source if known is not None else "",
        paper=known.paper if known is not None else "",
        digest=reading.digest(),
        rows=reading.rows,
        statements=len(reading.statements),
        lean=toolchain.version if toolchain is not None else "",
        library=library(toolchain.project) if toolchain is not None else {},
    )


def _failed(settings: ImportSettings, toolchain: LeanToolchain, reading: SourceReading) -> dict[str, str]:
    """Names and errors of the statements that do not elaborate."""
    from rich.progress import Progress

    from common.output.terminal import Console
    from node.bank.elaboration import elaboration_errors
    from node.lean.process.fresh import Limits

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(f"elaborating under Lean {toolchain.version}")
        errors = elaboration_errors(
            [each.theorem for each in reading.statements],
            toolchain,
            jobs=settings.jobs,
            limits=Limits(seconds=settings.seconds, memory_mb=settings.memory_mb),
            begin=lambda count: progress.update(task, total=count),
            report=lambda count: progress.advance(task, count),
        )
        return asyncio.run(errors)


def _report(
    settings: ImportSettings,
    reading: SourceReading,
    failed: Mapping[str, str],
    toolchain: LeanToolchain | None,
    written: Written | None,
) -> None:
    """Print a summary of the import, and write all details to OUT/import.json."""
    from common.output.words import number_of
    from node.bank.importing import Names

    # 1. For the terminal: a few lines of each kind.
    names = Names()
    read = len(reading.statements)
    counts = f"{number_of(reading.rows, 'row')}, {number_of(read, 'statement')}"
    say(f"{settings.source}: {counts} ({reading.repeated} repeated)")
    _show("not read", [(each.name, each.reason) for each in reading.refused])
    if toolchain is not None:
        say(f"{read - len(failed)} of {read} elaborate under Lean {toolchain.version} ({toolchain.name})")
        _show("do not elaborate", list(failed.items()))
    if written is not None:
        say(f"{settings.out}: " + ", ".join(f"{count} {split}" for split, count in written.counts.items()))
        if written.scored:
            say(f"{written.scored} left out of train, because valid or test has them too")
    flawed = [(each.theorem.name, each.flaw) for each in reading.statements if each.flaw]
    _show("are known to be flawed, and marked", flawed)
    # 2. For the file: everything, also when nothing was written into the bank. null: not elaborated at all, which is
    # not 0.
    settings.out.mkdir(parents=True, exist_ok=True)
    summary = {
        "source": settings.source,
        "rows": reading.rows,
        "repeated": reading.repeated,
        "statements": read,
        "elaborate": read - len(failed) if toolchain is not None else None,
        "lean_version": toolchain.version if toolchain is not None else "",
        "not_read": {names.free(each.name): each.reason for each in reading.refused},
        "do_not_elaborate": failed,
        "bank": written.counts if written is not None else {},
        "scored": written.scored if written is not None else 0,
    }
    (settings.out / "import.json").write_bytes(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")


def _show(title: str, problems: Sequence[tuple[str, str]]) -> None:
    """The most frequent reasons, with the first name of each."""
    first: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for name, reason in problems:
        line = reason.split("\n")[0][:ERROR_CHARACTERS]
        counts[line] += 1
        first.setdefault(line, name)
    if problems:
        say(f"{len(problems)} {title}:")
    for reason, count in counts.most_common(FIRST_ERRORS):
        say(f"  {count:6d}  {reason}  (first: {first[reason]})")


# ----------------------------------------------------------------------------------------------------------------------
# `proofmesh bank list`, `stats` and `check`: lists known data sets and banks, shows a bank's content, checks a bank.
#
# Exit code: 0 no problems, 1 `check` found problems, 2 there is no such bank, or it cannot be read.


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
    """Its folder, or the name of one that is part of proofmesh, such as `pocket` (all: `proofmesh bank list`)."""


@dataclass
class CheckSettings:
    """Check that a theorem bank is complete, and that it was made for this Lean."""

    bank: Annotated[str, tyro.conf.Positional]
    """Its folder, or the name of one that is part of proofmesh, such as `pocket` (all: `proofmesh bank list`)."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean to compare with the one under which its statements were tried (--lean.project)."""


def list_all(settings: ListSettings) -> int:
    """Print a line for each data set and each bank."""
    from rich.table import Table

    from common.output.terminal import Console, line
    from node.bank import bank
    from node.bank.known import KNOWN
    from node.bank.sources import is_bank, local_copy

    # 1. Data sets that can be imported by name, with the place where they are read from.
    known = Table("name", "statements", "splits", "licence", "source", title="known data sets", expand=False)
    for each in KNOWN.values():
        copy = local_copy(each, settings.data)
        where = str(copy) if copy is not None else f"hub: {each.hub.id}"
        known.add_row(each.name, str(each.statements), ", ".join(each.splits), each.licence or "not stated", where)
    # 2. Banks: those of this repository, and those in the folders. A damaged one is a row with its error, because the
    # others can still be used.
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
    # A path that is cut off cannot be copied.
    for column in (*known.columns, *banks.columns):
        column.overflow = "fold"
    Console().print(known, banks, sep="\n")
    return Exit.DONE


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

    folder = folder_of(settings.bank)
    manifest = bank.manifest_of(folder)
    say(f"{settings.bank}: digest {bank.digest(folder)}")
    if manifest.rule is not None:
        say(f"tactics: {manifest.rule}")
    for split in bank.splits(folder):
        _show_split(split, bank.load_statements(split, folder))
    say(f"transitions: {len(bank.load_transitions(folder))}")
    for name, record in manifest.sources.items():
        lean = f"tried under Lean {record.lean}" if record.lean else "not tried under any Lean"
        revision = f" at {record.revision}" if record.revision else ""
        say(f"source {name}: {record.statements} statements of {record.rows} rows of {record.origin}{revision}")
        say(f"  licence {record.licence or 'not known'}; {lean}; digest {record.digest}")
        for package, commit in record.library.items():
            say(f"  {package} {commit}")
    return Exit.DONE


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
    from node.bank.elaboration import difference
    from node.lean.toolchain.find import find

    folder = folder_of(settings.bank)
    manifest = bank.manifest_of(folder)
    problems = _content_problems(folder, manifest)
    toolchain = find(settings.lean) if any(each.lean for each in manifest.sources.values()) else None
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
    return Exit.FAILED if problems else Exit.DONE


def _content_problems(folder: Path, manifest: Manifest) -> list[str]:
    """The problems of a bank's content. Raises BankError for a file that cannot be read."""
    from node.bank import bank
    from node.lean.text.allowed import refusal, theorem_problem
    from node.lean.text.canonical import Alike

    problems = []
    names: Counter[str] = Counter()
    by_split = {split: bank.load_statements(split, folder) for split in bank.splits(folder)}
    scored = Alike()
    for split, statements in by_split.items():
        names.update(each.theorem.name for each in statements)
        for each in statements if split != "train" else ():
            scored.add_statement(each.theorem)
        unruled = ((each.theorem.name, problem) for each in statements if (problem := theorem_problem(each.theorem)))
        if broken := next(unruled, None):
            problems.append(f"its rule for tactics cannot be kept for {broken[0]}: {broken[1]}")
    refused = [row for row in bank.load_transitions(folder) if manifest.rule and refusal(row.tactic, manifest.rule)]
    if refused:
        first = f"first `{refused[0].tactic}` of {refused[0].theorem}"
        problems.append(f"{len(refused)} of its transitions have tactics that it does not allow, {first}")
    digest = bank.digest(folder)
    if manifest.digest and digest != manifest.digest:
        problems.append(f"its content is not what was written: its digest is {digest}, and was {manifest.digest}")
    if repeated := [name for name, count in names.items() if count > 1]:
        problems.append(f"{len(repeated)} names stand for several statements, first {repeated[0]}")
    leaked = [each.theorem.name for each in by_split.get("train", []) if scored.has_statement(each.theorem)]
    if leaked:
        problems.append(
            f"{len(leaked)} train statements are valid or test statements too, up to names and the order of hypotheses "
            f"(first {leaked[0]})"
        )
    return problems
