"""`proofmesh bank import SOURCE`: imports the statements of a data set that elaborate under this Lean into a bank.

SOURCE: the name of a known data set (`proofmesh bank list`), a .json, .jsonl, .parquet, .txt or .lean file, a folder of
these, or a Hugging Face id. Train on the bank with `[learner] bank = "OUT"`. It has no proofs for a warm start, so name
a network in `[learner.warm_start] checkpoint`.

Exit code: 0 statements were imported, 1 none of them elaborates, 2 the source or the Lean cannot be used.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import tyro

from common.lean_settings import LeanSettings
from common.limits import Natural, Positive, Timeout
from common.output.visible import say

if TYPE_CHECKING:
    from node.bank.importing import Written
    from node.bank.manifest import SourceRecord
    from node.bank.reading import SourceReading
    from node.bank.sources import Source
    from node.lean.toolchain.lean_toolchain import LeanToolchain

IMPORTED, NOTHING, UNUSABLE = 0, 1, 2

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
        return IMPORTED if argv else UNUSABLE
    if argv[0] in ("list", "stats", "check"):
        from node.bank import looking

        return looking.main(argv)
    if argv[0] != "import":
        return unusable(f"no command `{argv[0]}`; there are import, list, stats and check")
    settings = tyro.cli(ImportSettings, args=list(argv[1:]), prog="proofmesh bank import")
    return import_source(settings, shlex.join(["proofmesh", "bank", *argv]))


def import_source(settings: ImportSettings, command: str) -> int:
    """Run an import. Returns the exit code. `command`: the command line, for the bank's manifest."""
    from node.bank.bank import BankError
    from node.bank.importing import write
    from node.bank.problems import SourceProblem
    from node.bank.sources import find as find_source
    from node.lean.toolchain.find import find
    from node.lean.toolchain.pocket.build import PocketBuildError
    from node.lean.toolchain.problems import LeanProblem

    source = find_source(settings.source, settings.data, config=settings.config, revision=settings.revision)
    if source.is_bank:
        return unusable(f"{source.origin} is already a theorem bank; train on it with [learner] bank")
    try:
        reading = _read(settings, source)
        toolchain = find(settings.lean) if settings.check else None
        record = _record(settings, source, reading, toolchain)
        if left_out := source.left_out():
            say(left_out)
    except (SourceProblem, LeanProblem, PocketBuildError, BankError) as error:
        return unusable(str(error))
    failed = _failed(settings, toolchain, reading) if toolchain is not None else {}
    good = [each for each in reading.statements if each.theorem.name not in failed]
    try:
        written = write(good, settings.out, command, record) if good else None
        _report(settings, reading, failed, toolchain, written)
    except BankError as error:
        return unusable(str(error))
    except OSError as error:
        return unusable(f"{settings.out}: cannot be written ({error.strerror}); use another folder with --out")
    return IMPORTED if good else NOTHING


def _read(settings: ImportSettings, source: Source) -> SourceReading:
    """The statements of the source. Raises SourceProblem, also if it has no rows."""
    from node.bank.problems import SourceProblem
    from node.bank.reading import Reader

    known = source.data_set
    split = settings.split or ("train" if known is None else known.splits[0] if len(known.splits) == 1 else "")
    reader = Reader(settings.name or source.name, split=split, header=settings.header, known=known)
    reading = reader.collect(source.rows(), settings.limit or None)
    if not reading.rows:
        raise SourceProblem(f"{source.origin}: there is nothing in it; check path and split")
    if unsorted := [each.theorem.name for each in reading.statements if not each.split]:
        problem = f"{len(unsorted)} rows do not say which split they are of, first {unsorted[0]}"
        raise SourceProblem(f"{source.origin}: {problem}; name it with --split")
    return reading


def _record(
    settings: ImportSettings, source: Source, reading: SourceReading, toolchain: LeanToolchain | None
) -> SourceRecord:
    """The source's record in the bank's manifest. Raises SourceProblem."""
    from node.bank.manifest import SourceRecord
    from node.lean.toolchain.library import library

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
            folder=cache(),
            jobs=settings.jobs,
            limits=Limits(seconds=settings.seconds, memory_mb=settings.memory_mb),
            begin=lambda count: progress.update(task, total=count),
            report=lambda count: progress.advance(task, count),
        )
        return asyncio.run(errors)


def cache() -> Path:
    """The folder of the whitelists."""
    from node.bank.elaboration import whitelists

    return whitelists()


def _report(
    settings: ImportSettings,
    reading: SourceReading,
    failed: Mapping[str, str],
    toolchain: LeanToolchain | None,
    written: Written | None,
) -> None:
    """Print a summary of the import, and write all details to OUT/import.json."""
    from common.output.words import number_of
    from node.bank.reading import Names

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


def unusable(message: str) -> int:
    """Print an error to standard error. Returns the exit code."""
    say(f"proofmesh bank: {message}", file=sys.stderr)
    return UNUSABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
