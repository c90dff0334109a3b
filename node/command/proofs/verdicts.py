"""The verdicts of `proofmesh verify`: finds Lean and the files, gets a verdict on each theorem, and prints them.

A verdict is a row: one for each declaration, and one for each file that cannot be read.
"""

from __future__ import annotations

import asyncio
import enum
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from common.output.command import Exit, UserError
from common.output.visible import as_json, say, visible
from common.report.table import Cell, Column, Table, Tone
from node.command.hints import unnoticed, with_hint
from node.command.projects import lean_for
from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import SourceFile, collect, from_text
from node.lean.check.files.verifier import FileVerifier, Judged
from node.lean.check.verify.judge import axioms_problem
from node.lean.text.statement import StatementError, parse_statement
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanToolchain

if TYPE_CHECKING:
    from node.command.proofs.verify import VerifySettings


# --- the rows ---------------------------------------------------------------------------------------------------------


INDENT = " " * 10
"""Begins the second and later lines of a verdict: as wide as the verdict and the spaces behind it."""


_DEPENDS = re.compile(r"(it may depend on the command in line \d+), which fails: .*", re.DOTALL)


class ProofVerdict(enum.StrEnum):
    """The verdict on a theorem's proof."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNREADABLE = "unreadable"
    """The file cannot be read or compiled."""


@dataclass(frozen=True)
class Row:
    """The verdict on one declaration, or on a file that cannot be read (then without line and name)."""

    file: str
    line: int
    theorem: str
    verdict: ProofVerdict
    reason: str = ""
    axioms: tuple[str, ...] = ()
    lean: str = ""
    seconds: float = 0.0
    rechecked: str = ""
    """What checked it again: `kernel`, or `kernel and a second kernel`."""
    kind: str = ""
    depends: tuple[str, ...] = ()
    """Declarations of the user's own files that its statement depends on."""

    @property
    def place(self) -> str:
        """`FILE:LINE: NAME`, as far as they are known."""
        file = f"{self.file}:{self.line}" if self.line else self.file
        return f"{file}: {self.theorem}" if self.theorem else file

    def line_text(self) -> str:
        """The line that reports it. A reason of several lines continues below, indented."""
        place = visible(self.place)
        if self.verdict is ProofVerdict.UNREADABLE:
            return f"proofmesh verify: {place}: {visible(self.reason, multiline=True, indent=INDENT)}"
        if self.verdict is ProofVerdict.REJECTED:
            return f"rejected  {place}: {visible(self.reason, multiline=True, indent=INDENT)}"
        again = f"; checked again by the {self.rechecked}" if self.rechecked else ""
        axioms = visible(axioms_text(self))
        text = f"accepted  {place} (axioms: {axioms}; Lean {self.lean}{again}; {self.seconds:.2f} s)"
        return text + (f"\n{INDENT}as this file defines: {visible(', '.join(self.depends))}" if self.depends else "")


@dataclass
class Verdicts:
    """Collects verdicts."""

    strict: bool = False
    """Reject theorems whose statements depend on the user's own definitions."""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files: list[dict[str, object]] = field(default_factory=list)

    def add_file(self, report: FileReport) -> None:
        """Add the verdicts on a file."""
        self.files.append(
            {
                "file": report.file,
                "problem": report.problem,
                "seconds": round(report.seconds, 3),
                "runs_code": [asdict(item) for item in report.runs_code],
            }
        )
        if report.problem:
            self.add(Row(report.file, 0, "", ProofVerdict.UNREADABLE, report.problem + hint(report)))
        causes: dict[str, str] = {}
        for each in report.declarations:
            row = self._row(report.file, each, report.lean_version, report.rechecked)
            if match := _DEPENDS.fullmatch(row.reason):
                # The cause may have many lines, and every declaration below it would repeat them.
                first = causes.setdefault(match[1], row.theorem)
                row = row if first == row.theorem else replace(row, reason=f"{match[1]} (see {first})")
            self.add(row)
        if report.runs_code:
            names = ", ".join(dict.fromkeys(f"{item.name} (line {item.line})" for item in report.runs_code))
            self.note(f"{report.file} runs code of its own while Lean elaborates it: {names}")
        if not report.problem and not report.declarations:
            self.note(f"{report.file}: no theorem here")

    def add_comparison(
        self, file: str, verdicts: Sequence[DeclarationVerdict], filled: Mapping[str, str], lean: str, rechecked: str
    ) -> None:
        """Add the verdicts of a comparison with a reference."""
        for each in verdicts:
            self.add(self._row(file, each, lean, rechecked))
        for name, value in filled.items():
            self.note(f"{file}: the reference leaves {name} open; here it is {value}")

    def _row(self, file: str, verdict: DeclarationVerdict, lean: str, rechecked: str) -> Row:
        depends = tuple(str(item) for item in verdict.depends)
        reason = verdict.reason
        if not reason and self.strict and depends:
            reason = f"its statement depends on definitions of the file itself: {', '.join(depends)}"
        return Row(
            file,
            verdict.line,
            verdict.name,
            ProofVerdict.REJECTED if reason else ProofVerdict.ACCEPTED,
            reason,
            verdict.axioms,
            lean,
            round(verdict.seconds, 3),
            rechecked,
            verdict.kind,
            depends,
        )

    def add(self, row: Row) -> None:
        """Add a verdict."""
        self.rows.append(row)

    def note(self, text: str) -> None:
        """Add a note, which is not a verdict."""
        self.notes.append(text)

    def counts(self) -> dict[str, int]:
        """The number of rows with each verdict."""
        return {str(verdict): sum(row.verdict == verdict for row in self.rows) for verdict in ProofVerdict}


def hint(report: FileReport) -> str:
    """What to do about a file that is not Lean source: benchmarks and outputs of models often are .jsonl files, and
    Lean's first error in them does not say so."""
    suffix = PurePath(report.file).suffix
    if suffix in ("", ".lean") or "expected command" not in report.problem:
        return ""
    return f"; `verify` reads Lean source (.lean), and this is a {suffix} file"


def axioms_text(row: Row) -> str:
    """The axioms of a row, for people."""
    return ", ".join(row.axioms) or "none"


# --- the work ---------------------------------------------------------------------------------------------------------


class BadReference(UserError):
    """`--against` is not a usable reference. The message gives the reason."""


async def verify_all(
    verifier: FileVerifier,
    groups: Sequence[Sequence[SourceFile]],
    reference: list[SourceFile],
    report: Verdicts,
    *,
    everything: bool = False,
    shown: str = "",
    bare: bool = False,
) -> None:
    """Verify groups of files that may import each other, or compare them with a reference if there is one.

    `everything`: also verdicts on definitions. `shown`: the name of several files together in a comparison. `bare`:
    files without imports have Lean's own names only, so what looks like Mathlib's is noted.
    """
    if reference:
        await _compare(verifier, [source for group in groups for source in group], reference, report, shown)
        return
    async for group, judged in _verified(verifier, groups, everything):
        source = next(each for each in group if each.shown == judged.report.file)
        if source.wanted:
            report.add_file(_with_hints(judged.report, source.text))
            if bare and (said := unnoticed(source.text)):
                report.note(f"{source.shown}, {said}")


async def _verified(
    verifier: FileVerifier, groups: Sequence[Sequence[SourceFile]], everything: bool
) -> AsyncIterator[tuple[Sequence[SourceFile], Judged]]:
    """The results of all groups in their order, as many groups in parallel as files."""
    places = asyncio.Semaphore(verifier.at_once)
    # None says that a group has no more results.
    results: list[asyncio.Queue[Judged | None]] = [asyncio.Queue() for _ in groups]

    async def verify(group: Sequence[SourceFile], into: asyncio.Queue[Judged | None]) -> None:
        try:
            async with places, aclosing(verifier.verify(group, everything=everything)) as verified:
                async for judged in verified:
                    into.put_nowait(judged)
        finally:
            into.put_nowait(None)

    tasks = [asyncio.create_task(verify(group, into)) for group, into in zip(groups, results, strict=True)]
    try:
        for group, task, queue in zip(groups, tasks, results, strict=True):
            while (judged := await queue.get()) is not None:
                yield group, judged
            await task
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _with_hints(report: FileReport, text: str) -> FileReport:
    """A report whose reasons say what to do, where Lean's messages do not."""
    lines = text.splitlines(keepends=True)
    declarations = []
    for each, following in zip_longest(report.declarations, report.declarations[1:]):
        until = following.line - 1 if following is not None and following.line > each.line else len(lines)
        reason = with_hint(each.reason, "".join(lines[max(each.line - 1, 0) : until]))
        declarations.append(replace(each, reason=reason))
    return replace(report, problem=with_hint(report.problem, text), declarations=declarations)


async def _compare(
    verifier: FileVerifier,
    submission: Sequence[SourceFile],
    reference: list[SourceFile],
    report: Verdicts,
    shown: str,
) -> None:
    """Report the verdict on each theorem of the reference."""
    requested = [source for source in submission if source.wanted]
    judged: list[DeclarationVerdict] = []
    if len(reference) == 1 and len(requested) == 1:
        # With one file on each side, both get the same module name, so that their declarations can be compared.
        reference = [replace(reference[0], module=requested[0].module)]
        if reference[0].path is None:
            reference, judged = await _with_imports(verifier, reference[0], requested[0], submission)
    problems, verdicts, filled = await verifier.compare(submission, reference)
    for problem in problems:
        report.add_file(problem)
    if judged:  # the other files of this reference are the submission's own
        depends = {each.name: each.depends for each in judged}
        # Their axioms are axioms of the submission, which a reference would permit.
        verdicts = [
            replace(each, depends=depends[each.name], reason=each.reason or axioms_problem([*each.axioms]))
            for each in verdicts
            if each.name in depends
        ]
    shown = requested[0].shown if len(requested) == 1 else shown
    report.add_comparison(shown, verdicts, filled, verifier.version, verifier.rechecked)


async def _with_imports(
    verifier: FileVerifier, statement: SourceFile, requested: SourceFile, submission: Sequence[SourceFile]
) -> tuple[list[SourceFile], list[DeclarationVerdict]]:
    """The files of a reference that is one statement. If they include files of the submission: also what the statement
    depends on there, in verdicts on it.

    The statement gets the imports of the requested file. The submission's own files may change what a statement means,
    so it is compiled without them. Only if it names what they declare are they part of the reference.
    """
    # 1. The modules of the library that the requested file imports, directly or through files of the submission.
    local = {source.module: source for source in submission}
    waiting, names = [requested.module], [requested.module]
    while waiting:
        for name in local[waiting.pop()].imports:
            if name not in names:
                names.append(name)
                waiting += [name] if name in local else []
    library = tuple(name for name in names if name not in local)
    own = [local[name] for name in names[1:] if name in local]
    exact = _importing(statement, library)
    # Otherwise a name that only a file of the submission declares would be a variable of the statement.
    declared = replace(statement, text=f"set_option autoImplicit false\n{statement.text}")
    alone = [each async for each in verifier.verify([_importing(declared, library)], own=True)] if own else []
    if not any(each.report.problem or each.errors for each in alone):
        return [exact], []
    # 2. With the submission's files. All their syntax counts as used: the verdicts on the statement list it.
    reference = [_importing(declared, requested.imports), *(replace(source, wanted=False) for source in own)]
    judged = [each async for each in verifier.verify(reference, own=True)]
    if any(each.report.problem or each.errors for each in judged):
        return [exact], []
    (stated,) = (each.report.declarations for each in judged if each.report.file == statement.shown)
    return reference, stated


def _importing(statement: SourceFile, names: Sequence[str]) -> SourceFile:
    """A statement behind imports."""
    header = "".join(f"import {name}\n" for name in names)
    return replace(statement, text=header + statement.text, imports=tuple(names))


def reference_of(against: str) -> list[SourceFile]:
    """The files of a reference: a file, a folder or a statement; none for an empty text. Raises BadReference."""
    if not against:
        return []
    path = Path(against)
    if "\n" not in against and path.exists():
        sources = [source for group in collect([path]) for source in group]
        if problem := next((f"{each.shown}: {each.problem}" for each in sources if each.problem), ""):
            raise BadReference(f"--against {problem}")
        return sources
    try:
        parse_statement(against)
    except StatementError as error:
        raise BadReference(
            f"--against {against[:60]!r} is not an existing file or folder, and not a statement ({error})"
        ) from None
    text = against.strip()
    return [from_text(text if ":= " in text else f"{text.removesuffix(':=').rstrip()} := sorry", "the statement")]


def toolchain_of(settings: VerifySettings) -> LeanToolchain:
    """The Lean to use. A Lake project's own Lean is used for its folder and for files in it. Raises LeanProblem."""
    toolchain = find(lean_for(settings.lean, settings.paths))
    own = f"{toolchain.project}{os.sep}"
    if toolchain.project and any(f"{os.path.realpath(path)}{os.sep}".startswith(own) for path in settings.paths):
        # The project's own modules are compiled again and checked, so its build folder must not be on LEAN_PATH.
        search_path = [
            folder
            for folder in toolchain.environment.get("LEAN_PATH", "").split(os.pathsep)
            if not folder.startswith(own) or f"{os.sep}packages{os.sep}" in folder
        ]
        toolchain = replace(toolchain, environment={**toolchain.environment, "LEAN_PATH": os.pathsep.join(search_path)})
    return toolchain


# --- what is printed: lines at once, a table or JSON at the end -------------------------------------------------------


_CODES = {
    ProofVerdict.ACCEPTED: Exit.DONE,
    ProofVerdict.REJECTED: Exit.FAILED,
    ProofVerdict.UNREADABLE: Exit.UNUSABLE,
}
"""The highest of all rows counts."""

_TONES: dict[ProofVerdict, Tone] = {
    ProofVerdict.ACCEPTED: "good",
    ProofVerdict.REJECTED: "bad",
    ProofVerdict.UNREADABLE: "warn",
}


@dataclass
class Report(Verdicts):
    """Collects verdicts and prints them: lines at once, a table or JSON at the end."""

    form: Literal["lines", "table", "json"] = "lines"

    def add(self, row: Row) -> None:
        """Add a verdict."""
        super().add(row)
        if self.form == "lines":
            file = sys.stderr if row.verdict is ProofVerdict.UNREADABLE else sys.stdout
            say(row.line_text(), file=file, flush=True, indent=INDENT)

    def note(self, text: str) -> None:
        """Add a note, which is not a verdict."""
        super().note(text)
        if self.form == "lines":
            say(f"note      {visible(text)}", flush=True)

    def finish(self) -> int:
        """Print the final output; returns the exit code."""
        if self.form == "json":
            document = {
                "counts": self.counts(),
                "theorems": [asdict(row) for row in self.rows],
                "files": self.files,
                "notes": self.notes,
            }
            print(as_json(document))
        elif self.form == "table":
            self._table()
        return max((_CODES[row.verdict] for row in self.rows), default=Exit.DONE)

    def _table(self) -> None:
        from common.output.terminal import Console

        counts = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items() if number)
        columns = ("verdict", "theorem", "where", Column("axioms, or why not", lines=True), "s")
        table = Table(columns, notes=(counts, *self.notes))
        for row in self.rows:
            where = f"{row.file}:{row.line}" if row.line else row.file
            depends = f"; as this file defines: {', '.join(row.depends)}" if row.depends and not row.reason else ""
            said = row.reason or axioms_text(row) + depends
            verdict = Cell(row.verdict, _TONES[row.verdict])
            table.add(verdict, row.theorem, where, said, f"{row.seconds:.2f}" if row.seconds else "")
        Console().print(table)
