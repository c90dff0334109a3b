"""Verifies whole Lean files. The verdicts come from the compiled file, not from Lean's messages.

    compile    the file, in a confined process (`compiling`), where its code cannot do harm
    read       the .olean file without Lean (`olean`): names, types, values; every object is checked
    recheck    the kernel checks each declaration again, in a process that runs no code of the file (`verify.recheck`)
    axioms     computed from the read file; for the library, by a process that imports only the library (`axioms`)

docs/trust.md says which attacks each step stops.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from node.lean.files import verdicts
from node.lean.files.against import MISSING, Comparison
from node.lean.files.axioms import AxiomsUnknown, LibraryAxioms
from node.lean.files.compiling import Compiled, Compiler
from node.lean.files.judging import LocalModule
from node.lean.files.report import DeclarationVerdict, FileReport
from node.lean.files.sources import SourceFile, from_text, in_order
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms
from node.lean.process.fresh import Limits, OutOfLimits
from node.lean.process.scratch import scratch_folder
from node.lean.text.headers import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.fresh_lean import FreshLean
from node.lean.verify.recheck import Rechecker

_CORE = frozenset({"Init", "Lean", "Std", "Lake"})
"""Libraries that are part of every Lean toolchain."""

_SCRATCH = "proofmesh-files-"


class Judged:
    """A judged file: its report, and its contents if it could be compiled."""

    def __init__(
        self, report: FileReport, module: LocalModule | None = None, errors: Sequence[DeclarationVerdict] = ()
    ) -> None:
        self.report = report
        self.module = module
        self.errors = errors
        """Verdicts on commands that Lean rejected."""


@dataclass(frozen=True)
class _Run:
    """Settings that all files of one call share."""

    folder: Path
    modules: Path
    """Folder of the compiled files of this call."""
    salvage: bool
    everything: bool
    terms: Terms | None


class FileVerifier:
    """Verifies files, several in parallel, in its own scratch folder. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: files in parallel; `seconds` and `memory_mb`: limits of each process."""
        self._toolchain = toolchain
        limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self.folder = scratch_folder(_SCRATCH)
        self._gate = asyncio.Semaphore(at_once)
        self._compiler = Compiler(toolchain, limits)
        self._rechecker = Rechecker(toolchain, limits, self.folder)
        self._axioms = LibraryAxioms(toolchain, limits, self.folder)
        self._axioms_lock = asyncio.Lock()
        self._reading = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._asked = False
        self.version = toolchain.version
        """Lean's version; set after the first file."""

    @property
    def rechecked(self) -> str:
        """The program that checks compiled files again: `kernel`, `leanchecker`; empty if there is none."""
        return self._rechecker.name

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify_text(self, text: str, *, salvage: bool = True) -> FileReport:
        """Verify a text that imports no other file of the user. `salvage`: compile again without commands that fail."""
        async with aclosing(self.verify([from_text(text)], salvage=salvage)) as judged:
            return (await anext(judged)).report

    async def verify(
        self,
        sources: Sequence[SourceFile],
        *,
        salvage: bool = True,
        everything: bool = False,
        terms: Terms | None = None,
    ) -> AsyncGenerator[Judged]:
        """Verify files that may import each other. Yields each result once it is ready, after those of its imports.

        `everything`: also judge definitions; `terms`: read all files into this table, to compare them.
        """
        await self._prepare()
        scratch = Path(tempfile.mkdtemp(prefix="run-", dir=self.folder))
        run = _Run(scratch, scratch / "modules", salvage, everything, terms)
        run.modules.mkdir()
        tasks: dict[str, asyncio.Task[Judged]] = {}
        try:
            for source, problem in in_order(sources):
                needed = [tasks[name] for name in source.imports if name in tasks]
                work = self._verify_one(source, problem, needed, run)
                tasks[source.module or source.shown] = asyncio.create_task(work)
            for task in tasks.values():
                yield await task
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)
            shutil.rmtree(scratch, ignore_errors=True)

    async def compare(
        self, submission: Sequence[SourceFile], reference: Sequence[SourceFile]
    ) -> tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]:
        """Check that a submission proves what a reference states. The reference may use `sorry`.

        Returns the reports on files with problems, a verdict for each theorem of the reference, and the values in the
        submission of definitions that the reference leaves open.
        """
        async with aclosing(self.compare_many([submission], reference)) as compared:
            return await anext(compared)

    async def compare_many(
        self, submissions: Sequence[Sequence[SourceFile]], reference: Sequence[SourceFile]
    ) -> AsyncGenerator[tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]]:
        """The results of `compare` for several submissions, in order. The reference is compiled once."""
        terms = Terms()
        judged = [each async for each in self.verify(reference, terms=terms)]
        problems = _reference_problems(judged)
        tasks = [asyncio.create_task(self._compare(each, reference, judged, terms, problems)) for each in submissions]
        try:
            for task in tasks:
                yield await task
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _compare(
        self,
        submission: Sequence[SourceFile],
        reference: Sequence[SourceFile],
        expected: Sequence[Judged],
        terms: Terms,
        problems: list[FileReport],
    ) -> tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]:
        """The result of `compare`. `expected`: the reference, already judged."""
        if len(submission) == len(reference) == 1:
            # Private names contain the name of their module, so both files must be compiled as the same module.
            submission = [replace(submission[0], module=reference[0].module)]
        judged = [each async for each in self.verify(submission, terms=terms)]
        own = [replace(each.report, file=f"{each.report.file} (submission)") for each in judged if each.report.problem]
        expected_modules, modules = (
            [each.module for each in side if each.module is not None] for side in (expected, judged)
        )
        comparison = Comparison(terms, expected_modules, modules)
        verdicts = [] if problems else list(comparison.verdicts())
        if not problems and not verdicts:
            own.append(FileReport("the reference", "it states no theorem"))
        if conflict := await self._library_conflict(expected_modules, modules):
            own.append(FileReport("imports (submission)", conflict))
        reports = [each.report for each in judged]
        return [*problems, *own], [_with_cause(verdict, reports) for verdict in verdicts], comparison.filled

    async def _library_conflict(self, reference: Sequence[LocalModule], submission: Sequence[LocalModule]) -> str:
        """Why the two sides may use different libraries; empty if they use the same.

        Two modules of a library may declare different things under the same name, as long as no file imports both. So
        both sides' imports are loaded together.
        """
        sides = [[name for module in side for name in _library_imports(module)] for side in (reference, submission)]
        if set(sides[1]) <= set(sides[0]):
            return ""
        try:
            async with self._axioms_lock:
                await self._axioms.of(["True"], [*sides[0], *sides[1]])
        except (AxiomsUnknown, OutOfLimits) as error:
            return f"the imports of the reference and of the submission cannot be loaded together: {error}"
        return ""

    async def _prepare(self) -> None:
        """Find the toolchain's version and the program that checks compiled files, once. Raises OutOfLimits."""
        async with self._asking:
            if self._asked:
                return
            if not self.version:
                self.version = await FreshLean(self._toolchain, Limits()).version(self.folder)
            await self._rechecker.find()
            self._asked = True

    async def _verify_one(
        self,
        source: SourceFile,
        problem: str,
        needed: Sequence[asyncio.Task[Judged]],
        run: _Run,
    ) -> Judged:
        """Verify one file when the files that it imports are verified. `needed`: their tasks."""
        problem = source.problem or problem or self._taken(source.module)
        report = FileReport(source.shown, problem, lean_version=self.version)
        imported = [(await task) for task in needed]
        for judged in imported:
            if not report.problem and judged.module is None:
                report.problem = f"it imports {judged.report.file}, which cannot be compiled"
        if report.problem:
            return Judged(report)
        async with self._gate:
            started = time.monotonic()
            folder = Path(tempfile.mkdtemp(prefix="file-", dir=run.folder))
            try:
                judged = await self._check(source, report, _all(imported), folder, run)
            except (BadOlean, AxiomsUnknown, OutOfLimits, OSError) as error:
                report.problem, judged = f"the file cannot be judged: {error}", Judged(report)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            report.seconds = time.monotonic() - started
        return judged

    def _taken(self, module: str) -> str:
        """Why a file may not have this module name; empty if it may.

        An import of the library's module of the same name would load this file, or the other way round.
        """
        if module.split(".", maxsplit=1)[0] in _CORE or self._toolchain.compiled(module) is not None:
            return f"Lean's library has a module {module}: rename the file"
        return ""

    async def _check(
        self,
        source: SourceFile,
        report: FileReport,
        others: list[LocalModule],
        folder: Path,
        run: _Run,
    ) -> Judged:
        """Compile a file, check the compiled file, and write the verdicts into the report."""
        header = "" if imports(source.text) else self._toolchain.default_header
        text = f"{header}\n{source.text}" if header else source.text
        shift = text.count("\n") - source.text.count("\n")
        compiled = await self._compiler.compile(source.module, text, folder, [run.modules], salvage=run.salvage)
        report.messages = compiled.messages
        report.problem = compiled.problem
        report.runs_code = compiled.text.runs_code(compiled.commands)
        module = None
        if compiled.olean is not None:
            module = await self._read(source.module, compiled, others, run)
            report.rechecked = self.rechecked
        errors = verdicts.failed(compiled, shift)
        if not report.problem:
            report.declarations = sorted(
                [*errors, *verdicts.judged(module, compiled, run.everything, shift)], key=lambda verdict: verdict.line
            )
        return Judged(report, module, errors)

    async def _read(self, name: str, compiled: Compiled, others: list[LocalModule], run: _Run) -> LocalModule:
        """Read a compiled file and have it checked. Raises BadOlean, AxiomsUnknown, OutOfLimits, OSError."""
        assert compiled.olean is not None
        # Only the compiled module is passed on, because code in the file may have written other files next to it.
        olean = run.modules.joinpath(*name.split(".")).with_suffix(".olean")
        olean.parent.mkdir(parents=True, exist_ok=True)
        if compiled.olean.is_symlink():
            raise BadOlean("the compiled file is a link to another one")
        compiled.olean.rename(olean)
        commands = [command for command in compiled.commands if command not in compiled.failed]
        terms = run.terms or Terms()
        async with self._reading:  # a table of terms allows one writer, and reading holds the interpreter lock anyway
            module = await asyncio.to_thread(LocalModule.read, name, olean, compiled.text, commands, terms)
        module.others = others
        module.reject(await self._rechecker.rejected(name, module.imports, module.plan, [run.modules]))
        async with self._axioms_lock:
            library_axioms = await self._axioms.of(module.foreign(), _library_imports(module))
        module.find_axioms(library_axioms)
        return module


def _reference_problems(judged: Sequence[Judged]) -> list[FileReport]:
    """The reports on files of a reference that cannot serve as one."""
    problems = []
    for each in judged:
        report = each.report
        if not report.problem and each.errors:
            report.problem = f"the reference has an error in line {each.errors[0].line}: {each.errors[0].reason}"
        if report.problem:
            problems.append(replace(report, file=f"{report.file} (reference)"))
    return problems


def _with_cause(verdict: DeclarationVerdict, reports: Sequence[FileReport]) -> DeclarationVerdict:
    """The verdict, or if the theorem is missing because Lean rejected it, that reason."""
    if not verdict.reason.startswith(MISSING):
        return verdict
    for report in reports:
        for each in report.declarations:
            if each.reason and f".{verdict.name}".endswith(f".{each.name}"):
                return replace(verdict, line=each.line, reason=each.reason)
    return verdict


def _all(judged: Sequence[Judged]) -> list[LocalModule]:
    """The modules of judged files, and the modules that they import, each once."""
    modules = [each for one in judged if one.module for each in (one.module, *one.module.others)]
    return list({each.name: each for each in modules}.values())


def _library_imports(module: LocalModule) -> list[str]:
    """The toolchain's modules that a file imports, directly or through the user's other files."""
    own = {other.name for other in module.others}
    return list(dict.fromkeys(name for each in (module, *module.others) for name in each.imports if name not in own))
