"""Finds statements that do not elaborate under this Lean, with the errors. An import leaves them out. An evaluation
counts them separately, neither as solved nor as unsolved.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from common.files import cache_directory
from common.lean import Place, Theorem
from common.machine import read_machine
from node.bank.bank import SourceRecord
from node.lean.process.fresh import FinishedProcess, Limits, OutOfLimits, run_fresh
from node.lean.text.statement import import_lines, statement_lines
from node.lean.toolchain.advice import HEADER_REFUSED, damaged_module, with_advice
from node.lean.toolchain.lean_toolchain import LeanToolchain, library

JOB_MB = 6000
"""Expected memory of a Lean with Mathlib loaded, for the default number of processes."""

LIMITS = Limits(seconds=600.0, memory_mb=8192)
"""Limits of a batch of 100 statements, including the import of the library."""


def whitelists() -> Path:
    """The folder of the whitelists, which record which statements elaborate."""
    return cache_directory() / "whitelists"


def jobs_of(requested: int) -> int:
    """Lean processes that run at the same time; for 0, as many as cores and memory allow."""
    machine = read_machine()
    return requested or max(1, min(machine.cores, machine.memory_mb // JOB_MB))


async def elaboration_errors(
    theorems: Sequence[Theorem],
    toolchain: LeanToolchain,
    *,
    folder: Path | None = None,
    jobs: int = 0,
    limits: Limits = LIMITS,
    begin: Callable[[int], None] = lambda count: None,
    report: Callable[[int], None] = lambda count: None,
) -> dict[str, str]:
    """Lean's errors by the names of theorems that do not elaborate. Names must be unique.

    A statement that elaborates runs once for each header and version of Lean. A refused one runs again each time,
    because the project may have been mended. `folder` stores the results, by default `whitelists`.
    `begin` gets the number of statements to elaborate, `report` the number of those that are done.
    """
    whitelist = Whitelist.open(folder if folder is not None else whitelists(), toolchain)
    keys = [key(toolchain, theorem) for theorem in theorems]
    begin(len(set(keys) - whitelist.known.keys()))
    await StatementElaborator(toolchain, jobs_of(jobs), limits).run(theorems, whitelist, report)
    entries = zip(theorems, (whitelist.known[each] for each in keys), strict=True)
    return {theorem.name: entry.error for theorem, entry in entries if not entry.ok}


# ----------------------------------------------------------------------------------------------------------------------
# Finds out which statements elaborate under a toolchain, once for each, and stores the results on disk.
#
# Statements with the same header go through Lean together, in the form of the lean-proxy: `example BINDERS : (C :
# Prop) := by sorry`. A statement that exceeds a limit (a loop, memory) is found by halving the batch, so the results
# of the other statements are not lost. An interrupted run continues where it stopped.

BATCH = 100
"""Statements for one process. These are enough to make the import of Mathlib (5-20 s) a small part of the time, and few
enough to lose little if one of them ends Lean."""

HEARTBEATS = 200_000
"""Lean's default for a declaration. Statements of public data sets were checked with this limit or a higher one."""

OPTIONS = ("-Dlinter.all=false", "-DmaxErrors=1000000")

ABOVE = -2
"""Instead of a statement's index, for a line of the file above the statement."""

_GUARD = ("section", "end")
"""Lines between two statements. An error at an unfinished end of a statement is then reported here, not in the next."""


class Entry(msgspec.Struct, frozen=True):
    """A line of a whitelist file."""

    key: str
    ok: bool
    error: str = ""


def key(toolchain: LeanToolchain, theorem: Theorem) -> str:
    """The key of a statement under a toolchain: a digest of version, packages of the project, header and statement."""
    stated = theorem.place.key if theorem.place is not None else (toolchain.header(theorem.header), theorem.proposition)
    parts = (toolchain.version, packages(toolchain), *stated)
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def packages(toolchain: LeanToolchain) -> str:
    """The versions of a project's packages, from Lake's manifest; empty without a project."""
    if not toolchain.project:
        return ""
    manifest = Path(toolchain.project) / "lake-manifest.json"
    return manifest.read_text(encoding="utf-8") if manifest.is_file() else toolchain.project


@dataclass
class Whitelist:
    """The known results. Statements that elaborate have a line in an append-only file."""

    path: Path
    known: dict[str, Entry] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path, toolchain: LeanToolchain) -> Whitelist:
        """The whitelist of a toolchain. An incomplete line of a killed run is ignored."""
        version = "".join(char if char.isalnum() or char in ".-" else "-" for char in toolchain.version) or "unknown"
        digest = hashlib.blake2b(packages(toolchain).encode(), digest_size=4).hexdigest()
        whitelist = cls(folder / f"{version}-{digest}.jsonl")
        if whitelist.path.exists():
            for line in whitelist.path.read_bytes().splitlines():
                try:
                    entry = msgspec.json.decode(line, type=Entry)
                except msgspec.DecodeError:
                    continue
                if entry.ok:
                    whitelist.known[entry.key] = entry
        return whitelist

    def add(self, entries: Sequence[Entry]) -> None:
        """Add entries. Those of statements that elaborate are also written to the file, at once."""
        self.known |= {entry.key: entry for entry in entries}
        elaborating = [entry for entry in entries if entry.ok]
        if not elaborating:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = b"\n".join([b"", *(msgspec.json.encode(entry) for entry in elaborating), b""])
        with self.path.open("ab") as file:  # the text starts with a line break, in case the last line is incomplete
            file.write(text)


class _Crashed(OutOfLimits):
    """Lean ended without an answer."""


@dataclass(frozen=True)
class StatementElaborator:
    """Elaborates batches of statements, `jobs` of them at the same time."""

    toolchain: LeanToolchain
    jobs: int
    limits: Limits

    async def run(
        self, theorems: Sequence[Theorem], whitelist: Whitelist, report: Callable[[int], None] = lambda count: None
    ) -> None:
        """Elaborate all statements that are not in the whitelist. `report` gets the number of finished statements."""
        missing = {key(self.toolchain, theorem): theorem for theorem in theorems}
        missing = {each: theorem for each, theorem in missing.items() if each not in whitelist.known}
        batches = list(_batches(missing.values()))
        queue = iter(batches)

        async def work() -> None:
            for batch in queue:
                for part, errors in await self._settled(batch):
                    entries = [
                        Entry(key(self.toolchain, theorem), error is None, error or "")
                        for theorem, error in zip(part, errors, strict=True)
                    ]
                    whitelist.add(entries)
                    report(len(entries))

        async with asyncio.TaskGroup() as group:
            for _ in range(max(1, min(self.jobs, len(batches)))):
                group.create_task(work())

    async def _settled(
        self, batch: list[Theorem], *, loads: bool = False
    ) -> list[tuple[list[Theorem], list[str | None]]]:
        """The batch in parts: the statements, and the error of each (None: it elaborates). `loads`: Lean loads their
        header."""
        try:
            return [(batch, await self._elaborated(batch))]
        except OutOfLimits as error:
            if isinstance(error, _Crashed) and not loads and (reason := await self._crash_at_header(batch[0])):
                return [(batch, [reason] * len(batch))]
            if len(batch) == 1:
                return [(batch, [f"Lean did not finish it: {error}"])]
        half = len(batch) // 2
        return [*await self._settled(batch[:half], loads=True), *await self._settled(batch[half:], loads=True)]

    async def _elaborated(self, batch: list[Theorem]) -> list[str | None]:
        """The error of each statement. Raises OutOfLimits if Lean did not finish."""
        options = [*OPTIONS, "-DautoImplicit=false", f"-DmaxHeartbeats={HEARTBEATS}"]
        if (place := batch[0].place) is not None:  # the text of a file needs Lean's default options
            lines, owners = _file(self.toolchain.header(place.context.text), place)
            options = list(OPTIONS)
        else:
            lines, owners = _document(self.toolchain.header(batch[0].header), batch)
        return _errors((await self._finished(lines, options)).output, owners, len(batch))

    async def _crash_at_header(self, theorem: Theorem) -> str:
        """Why Lean does not get past the imports of a statement; empty if it does."""
        header = self.toolchain.header(theorem.place.context.text if theorem.place is not None else theorem.header)
        try:
            await self._finished(header.split("\n")[: import_lines(header)], OPTIONS)
        except OutOfLimits as error:
            damage = await damaged_module(self.toolchain.module_folders)
            return f"{HEADER_REFUSED}: {error}{damage}"
        return ""

    async def _finished(self, lines: Sequence[str], options: Sequence[str]) -> FinishedProcess:
        """The process that elaborated a document. Raises OutOfLimits if it did not finish."""
        with tempfile.TemporaryDirectory(prefix="proofmesh-import-") as scratch:
            file = Path(scratch) / "Statements.lean"
            file.write_text("\n".join(lines) + "\n", encoding="utf-8")
            finished = await run_fresh(
                [*self.toolchain.command, "--json", *options, str(file)],
                environment=self.toolchain.environment,
                folder=Path(self.toolchain.project or scratch),
                limits=self.limits,
                keeper=self.toolchain.keeper((), [scratch]),
            )
        if finished.code not in (0, 1):
            raise _Crashed(f"Lean ended with code {finished.code}: {finished.errors.strip()[-200:]}")
        return finished


def _batches(theorems: Iterable[Theorem]) -> Iterator[list[Theorem]]:
    """Batches of statements with the same header. A theorem in a file is a batch alone."""
    by_header: dict[str, list[Theorem]] = defaultdict(list)
    for theorem in theorems:
        if theorem.place is not None:
            yield [theorem]
            continue
        by_header[theorem.header].append(theorem)
    for theorems_of_header in by_header.values():
        for start in range(0, len(theorems_of_header), BATCH):
            yield theorems_of_header[start : start + BATCH]


def _document(header: str, batch: Sequence[Theorem]) -> tuple[list[str], list[int]]:
    """The lines of a document, and for each line the index of its statement (-1: the header)."""
    lines = header.split("\n") if header else []
    owners = [-1] * len(lines)
    for index, theorem in enumerate(batch):
        block = [*statement_lines("example", theorem), "  sorry", *_GUARD]
        block = [line for part in block for line in part.split("\n")]
        lines += block
        owners += [index] * len(block)
    return lines, owners


def _file(context: str, place: Place) -> tuple[list[str], list[int]]:
    """The lines of a file up to the end of a theorem's command. For each line: 0 if it belongs to the command, -1 if it
    belongs to the imports, ABOVE for the lines between, whose errors do not count."""
    above = context.split("\n")[:-1] if context.endswith("\n") else context.split("\n") if context else []
    command = f"{place.before}sorry{place.after}".split("\n")
    imports = import_lines(context)
    return [*above, *command], [*([-1] * imports), *([ABOVE] * (len(above) - imports)), *([0] * len(command))]


def _errors(output: str, owners: Sequence[int], count: int) -> list[str | None]:
    """The first error of each statement. An error of the header is an error of all statements."""
    errors: list[str | None] = [None] * count
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        message = json.loads(line)
        if message.get("severity") != "error":
            continue
        place = min(int(message["pos"]["line"]), len(owners)) - 1
        text = str(message["data"])
        if owners[place] == ABOVE:
            continue
        if owners[place] < 0:
            return [f"{HEADER_REFUSED}: {with_advice(text)}"] * count
        if errors[owners[place]] is None:
            errors[owners[place]] = text
    return errors


# ----------------------------------------------------------------------------------------------------------------------
# Compares the Lean of a bank's manifest, under which its statements elaborate, with the configured Lean.

SHOWN = 12
"""Number of characters of a commit in messages."""


def difference(record: SourceRecord, toolchain: LeanToolchain) -> str:
    """The difference between this Lean and the Lean under which a source's statements were tried. Empty if there is
    none, or if the statements were not tried."""
    if not record.lean:
        return ""
    if record.lean != toolchain.version:
        return f"its statements were tried under Lean {record.lean}, and this is Lean {toolchain.version}"
    here = library(toolchain.project)
    for name in sorted(record.library.keys() | here.keys()):
        there, now = record.library.get(name, ""), here.get(name, "")
        if there != now:
            return f"{name} was {_shown(there)} when its statements were tried, and is {_shown(now)} now"
    return ""


def _shown(commit: str) -> str:
    return f"at {commit[:SHOWN]}" if commit else "absent"
