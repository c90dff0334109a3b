"""Verifies whole Lean files. The verdicts come from Lean's kernel, not from Lean's messages.

    compile    the file, in a confined process (`compiling`), where its code cannot do harm
    read       the .olean file as data, in a child process of ours (`judge`): names, types, values
    check      a process that has imported only the library gives each declaration to the kernel
    state      compare the compiled statements with those of the same text, compiled where none of its code ran and
               without its proofs (`clean`), and with those of the text with nothing but statements (`bare`): a theorem
               that differs there rests on something of its file, and the report says so

docs/trust.md says which attacks each step stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from node.lean.check.files import verdicts
from node.lean.check.files.against import MISSING
from node.lean.check.files.clean import SCOPED, acting, acts_unnamed, bare, cleaned, code_in, touches_statements
from node.lean.check.files.compiling import Compiler, passed_on
from node.lean.check.files.judge import (
    AnswerReply,
    AnswerRequest,
    CompareReply,
    CompareRequest,
    Done,
    Fact,
    ForgetRequest,
    ReadReply,
    ReadRequest,
    StatedReply,
    StatedRequest,
    stated_key,
)
from node.lean.check.files.report import DeclarationVerdict, FileReport, LocalItem
from node.lean.check.files.sources import SourceFile, from_text, in_order
from node.lean.check.second.calling import SecondKernel
from node.lean.check.verify.kernel import KernelProcess, Readers
from node.lean.olean.declarations import BadAnswer, Declarations, read_answer
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms
from node.lean.process.dialog import Dialog
from node.lean.process.fresh import Limits, OutOfLimits, scratch_folder
from node.lean.text.statement import imports, imports_of
from node.lean.toolchain.lean_toolchain import LeanToolchain

_CORE = frozenset({"Init", "Lean", "Std", "Lake"})
"""Libraries that are part of every Lean toolchain."""

_SCRATCH = "proofmesh-files-"

MOST_UNNAMED = 5
"""Most commands that are named where it is not known which of them a statement depends on."""

R = TypeVar("R")

NAMED = "named"
"""In place of a key: in this file a statement can depend only on what its text names."""

EXIT = "#exit"
"""Ends a file for Lean. It counts as code because it hides text, but it runs none."""

OWN_CODE = "code"
"""In place of a keyword: a statement that could not be compiled without running code of its file."""

UNNAMED = "unnamed"
"""In place of a keyword: commands that a statement depends on although its compiled form does not show them."""


class Judged:
    """A judged file: its report, and what its constants use if it could be compiled."""

    def __init__(
        self,
        report: FileReport,
        key: str = "",
        imported: Sequence[str] = (),
        facts: Sequence[Fact] = (),
        errors: Sequence[DeclarationVerdict] = (),
    ) -> None:
        self.report = report
        self.key = key
        """Its key in the session; empty if it was not compiled."""
        self.imported = imported
        """Keys of the user's files that it imports, directly or not, each after those that it imports."""
        self.facts = facts
        self.errors = errors
        """Verdicts on commands that Lean rejected."""


@dataclass
class _Run:
    """What all files of one call share."""

    folder: Path
    modules: Path
    """Folder of the compiled files of this call."""
    prefix: str
    """Of the keys of this call's files in the session."""
    salvage: bool
    everything: bool
    own: bool
    session: _Session
    clean: dict[str, asyncio.Task[str]] = field(default_factory=dict)
    """By module: the key of its compiled clean text; empty if that could not be compiled."""
    bare: dict[str, asyncio.Task[str]] = field(default_factory=dict)
    """The same for its bare text."""

    @property
    def clean_modules(self) -> Path:
        """Folder of the compiled clean texts."""
        return self.folder / "clean"

    @property
    def bare_modules(self) -> Path:
        """Folder of the compiled bare texts."""
        return self.folder / "bare"


class _Session:
    """A child process that has read files, and knows what the kernel said about them."""

    def __init__(self, dialog: Dialog, declarations: Path, folder: Path) -> None:
        """`declarations`: the folder to which the child may write; `folder`: an empty folder for our files."""
        self.folder = folder
        self.declarations = declarations
        self.dialog = dialog
        self._turn = asyncio.Lock()
        self._runs = 0
        self._requests: dict[str, ReadRequest] = {}
        self._answers: dict[str, Path] = {}
        """The kernel's answers on disk, by key of the file: another child has to read them again."""
        self._loaded: set[str] = set()
        """Keys of the files that the running child has read."""
        self._child = 0
        """Which of the children this one is."""
        self._written = 0
        """Number of documents for the kernel so far."""

    def prefix(self) -> str:
        """A prefix for the keys of another call's files."""
        self._runs += 1
        return f"{self._runs}/"

    async def judge(self, read: ReadRequest, kernel: KernelProcess, everything: bool, touched: bool) -> AnswerReply:
        """Read a file and have the kernel check it; see AnswerRequest. Raises BadOlean and OutOfLimits."""
        self._written += 1
        declarations = self.declarations / f"{self._written}"
        imports = await self.read(msgspec.structs.replace(read, declarations=str(declarations)))
        answer = await kernel.answer(declarations, imports)
        declarations.unlink()
        request = AnswerRequest(read.key, answer, everything, touched)
        reply = await self.ask(request, [read.key, *read.others], AnswerReply)
        if reply.problem:
            raise BadOlean(reply.problem)
        self._answers[read.key] = self.folder / f"answer-{declarations.name}"
        self._answers[read.key].write_bytes(answer.encode())
        return reply

    async def read(self, request: ReadRequest) -> list[str]:
        """Read a file. Returns the imports of its declarations. Raises BadOlean and OutOfLimits."""
        async with self._turn:
            return await self._read(request)

    async def ask(self, request: object, keys: Sequence[str], reply: type[R]) -> R:
        """The reply to a request about files that were read. Raises BadOlean and OutOfLimits."""
        async with self._turn:
            await self._read_again(keys)
            return await self.dialog.ask(request, reply)

    async def _read(self, request: ReadRequest) -> list[str]:
        await self._read_again(request.others)
        self._requests[request.key] = msgspec.structs.replace(request, declarations="")
        reply = await self.dialog.ask(request, ReadReply)
        if reply.problem:
            raise BadOlean(reply.problem)
        self._loaded.add(request.key)
        return reply.imports

    async def _read_again(self, keys: Sequence[str]) -> None:
        """Have the child read files again that it has lost: another file was too much for it, and it was killed."""
        await self.dialog.start()
        if self._child != self.dialog.starts:
            self._child, self._loaded = self.dialog.starts, set()
        for key in keys:
            for each in (*self._requests[key].others, key):
                if each not in self._loaded:
                    await self._read_once_more(self._requests[each])

    async def _read_once_more(self, request: ReadRequest) -> None:
        """Have the child read a file, and the kernel's answer about it if there is one."""
        reply = await self.dialog.ask(request, ReadReply)
        if reply.problem:
            raise BadOlean(reply.problem)
        if request.key in self._answers:
            answer = AnswerRequest(request.key, self._answers[request.key].read_bytes().decode())
            judged = await self.dialog.ask(answer, AnswerReply)
            if judged.problem:
                raise BadOlean(judged.problem)
        self._loaded.add(request.key)

    def run_folder(self, prefix: str) -> Path:
        """The folder for the files of the call with this prefix of its keys. They stay until `forget`."""
        return self.folder / f"run-{prefix.rstrip('/')}"

    async def forget(self, keys: Sequence[str]) -> None:
        """Forget files of one call. Raises OutOfLimits."""
        for prefix in {key.split("/")[0] for key in keys}:
            shutil.rmtree(self.run_folder(prefix), ignore_errors=True)
        for key in keys:
            self._requests.pop(key, None)
            self._loaded.discard(key)
            if answer := self._answers.pop(key, None):
                answer.unlink(missing_ok=True)
        await self.ask(ForgetRequest([*keys]), [], Done)

    async def leave(self) -> None:
        """Have the child forget the session's files. A child that cannot has ended."""
        if self._requests:
            with contextlib.suppress(OutOfLimits):
                await self.forget([*self._requests])


class FileVerifier:
    """Verifies files, several in parallel, in its own scratch folder. Call `close` at the end."""

    def __init__(
        self,
        toolchain: LeanToolchain,
        *,
        at_once: int,
        seconds: float,
        memory_mb: int,
        second: SecondKernel | None = None,
    ) -> None:
        """`at_once`: files in parallel; `seconds` and `memory_mb`: limits of each process; `second`: must accept each
        theorem, too."""
        self._toolchain = toolchain
        self._second = second
        self._limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self.folder = scratch_folder(_SCRATCH)
        self.at_once = at_once
        self._gate = asyncio.Semaphore(at_once)
        self._texts = asyncio.Semaphore(at_once)
        self._compiler = Compiler(toolchain, self._limits)
        self._clean_compiler = Compiler(toolchain, self._limits)
        if second is not None:
            second.may_read(self.folder)
        self._kernel = KernelProcess(toolchain, self._limits, self.folder)
        self._readers = Readers("node.lean.check.files.judge", toolchain, self._limits, self.folder)
        self.version = toolchain.version
        """Lean's version."""
        self.rechecked = "kernel" if second is None else "kernel and a second kernel"
        """What checks compiled files again."""

    async def close(self) -> None:
        """End its processes, and remove the scratch folder."""
        await asyncio.gather(self._kernel.close(), self._readers.close())
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify_text(self, text: str, *, salvage: bool = True, own: bool = False) -> FileReport:
        """The report on a text; see `judge_text`."""
        return (await self.judge_text(text, salvage=salvage, own=own)).report

    async def judge_text(self, text: str, *, salvage: bool = True, own: bool = False) -> Judged:
        """Verify a text that imports no other file of the user; see `verify`. One that waits has no process yet."""
        async with self._texts:
            (judged,) = [each async for each in self.verify([from_text(text)], salvage=salvage, own=own)]
            return judged

    async def verify(
        self,
        sources: Sequence[SourceFile],
        *,
        salvage: bool = True,
        everything: bool = False,
        own: bool = False,
    ) -> AsyncGenerator[Judged]:
        """Verify files that may import each other. Yields each result once it is ready, after those of its imports.

        `salvage`: compile again without commands that fail; `everything`: also judge definitions; `own`: the code in
        the files is the caller's own, so their statements are not compared with their text.
        """
        async with (
            self._session() as session,
            aclosing(self._verify(sources, session, salvage=salvage, everything=everything, own=own)) as judged,
        ):
            async for each in judged:
                yield each

    @asynccontextmanager
    async def trials(self) -> AsyncIterator[Callable[[SourceFile], Awaitable[Judged]]]:
        """Judges versions of a file one after the other in one child process, definitions included. The code in them is
        the caller's own; see `verify`."""
        async with self._session() as session:

            async def judged(source: SourceFile) -> Judged:
                run = self._verify([source], session, everything=True, own=True)
                async with aclosing(run) as verified:
                    found = await anext(verified)
                if found.key:
                    await session.forget([found.key])
                return found

            yield judged

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[_Session]:
        async with self._readers.borrowed() as (dialog, written):
            session = _Session(dialog, written, Path(tempfile.mkdtemp(prefix="session-", dir=self.folder)))
            try:
                yield session
                await session.leave()
            finally:
                shutil.rmtree(session.folder, ignore_errors=True)

    async def _verify(
        self,
        sources: Sequence[SourceFile],
        session: _Session,
        *,
        salvage: bool = True,
        everything: bool = False,
        own: bool,
    ) -> AsyncGenerator[Judged]:
        """The results of `verify` in a session, which keeps the files for comparisons."""
        prefix = session.prefix()
        scratch = session.run_folder(prefix)
        run = _Run(scratch, scratch / "modules", prefix, salvage, everything, own, session)
        run.modules.mkdir(parents=True)
        run.clean_modules.mkdir()
        tasks: dict[str, asyncio.Task[Judged]] = {}
        starting = asyncio.create_task(session.dialog.start())  # while the first file is compiled
        self._kernel.prepare(self._library_imports(sources))
        try:
            known: dict[str, SourceFile] = {}
            for source, problem in in_order(sources):
                needed = [tasks[name] for name in source.imports if name in tasks]
                below = _below(source, known)
                known[source.module or source.shown] = source
                work = self._verify_one(source, problem, needed, below, run)
                tasks[source.module or source.shown] = asyncio.create_task(work)
            for task in tasks.values():
                yield await task
        finally:
            everything_running = [starting, *tasks.values(), *run.clean.values(), *run.bare.values()]
            for each in everything_running:
                each.cancel()
            await asyncio.gather(*everything_running, return_exceptions=True)

    async def compare(
        self, submission: Sequence[SourceFile], reference: Sequence[SourceFile]
    ) -> tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]:
        """Check that a submission proves what a reference states. The reference may use `sorry`.

        Returns the reports on files with problems, a verdict for each theorem of the reference, and the values in the
        submission of definitions that the reference leaves open. A submission that waits has no process yet.
        """
        async with self._texts:
            (compared,) = [each async for each in self.compare_many([submission], reference)]
            return compared

    async def compare_many(
        self, submissions: Sequence[Sequence[SourceFile]], reference: Sequence[SourceFile]
    ) -> AsyncGenerator[tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]]:
        """The results of `compare` for several submissions, in order. The reference is compiled once for each batch."""
        tasks: list[asyncio.Task[tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]]] = []
        async with self._session() as session:
            try:
                judged = [each async for each in self._verify(reference, session, own=True)]
                problems = _reference_problems(judged)
                tasks = [
                    asyncio.create_task(self._compare(each, reference, judged, session, problems))
                    for each in submissions
                ]
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
        session: _Session,
        problems: list[FileReport],
    ) -> tuple[list[FileReport], list[DeclarationVerdict], dict[str, str]]:
        """The result of `compare`. `expected`: the reference, already judged."""
        if len(submission) == len(reference) == 1:
            # Private names contain the name of their module, so both files must be compiled as the same module.
            submission = [replace(submission[0], module=reference[0].module)]
        judged = [each async for each in self._verify(submission, session, own=True)]
        own = [replace(each.report, file=f"{each.report.file} (submission)") for each in judged if each.report.problem]
        keys = [[each.key for each in side if each.key] for side in (expected, judged)]
        compared = CompareReply()
        if not problems:
            try:
                compared = await session.ask(CompareRequest(*keys), [*keys[0], *keys[1]], CompareReply)
                await session.forget(keys[1])
            except (BadOlean, OutOfLimits, OSError) as error:
                own.append(FileReport("the comparison", str(error)))
            else:
                if not compared.verdicts:
                    own.append(FileReport("the reference", "it states no theorem"))
        if conflict := await self._library_conflict(reference, submission, session):
            own.append(FileReport("imports (submission)", conflict))
        reports = [each.report for each in judged]
        return [*problems, *own], [_with_cause(verdict, reports) for verdict in compared.verdicts], compared.filled

    async def _library_conflict(
        self, reference: Sequence[SourceFile], submission: Sequence[SourceFile], session: _Session
    ) -> str:
        """Why the two sides may use different libraries; empty if they use the same.

        Two modules of a library may declare different things under the same name, as long as no file imports both. So
        the kernel's process loads both sides' imports together.
        """
        sides = [self._library_imports(side) for side in (reference, submission)]
        if set(sides[1]) <= set(sides[0]):
            return ""
        file = session.declarations / "imports"
        together = dict.fromkeys([*sides[0], *sides[1]])
        file.write_bytes(Declarations(Terms()).written(together, []))
        try:
            read_answer((await self._kernel.answer(file, [*together])).encode(), 0, 0)
        except (BadAnswer, OutOfLimits) as error:
            return f"the imports of the reference and of the submission cannot be loaded together: {error}"
        return ""

    def _library_imports(self, sources: Sequence[SourceFile]) -> list[str]:
        """The toolchain's modules that files import."""
        own, of_header = {each.module for each in sources}, imports_of(self._toolchain.default_header)
        named = (each.imports if imports(each.text) else of_header for each in sources)
        return ["Init", *(name for names in named for name in names if name not in own)]

    async def _verify_one(
        self,
        source: SourceFile,
        problem: str,
        needed: Sequence[asyncio.Task[Judged]],
        below: Sequence[SourceFile],
        run: _Run,
    ) -> Judged:
        """Verify one file when the files that it imports are verified.

        `needed`: their tasks; `below`: all of the user's files that it imports, each after those that it imports.
        """
        problem = source.problem or problem or self._taken(source.module)
        report = FileReport(source.shown, problem, lean_version=self.version)
        imported = [(await task) for task in needed]
        for judged in imported:
            if not report.problem and not judged.key:
                report.problem = f"it imports {judged.report.file}, which cannot be compiled"
        if report.problem:
            return Judged(report)
        others = list(dict.fromkeys(key for each in imported for key in (*each.imported, each.key)))
        async with self._gate:
            started = time.monotonic()
            folder = Path(tempfile.mkdtemp(prefix="file-", dir=run.folder))
            try:
                judged = await self._check(source, report, others, below, folder, run)
            except (BadOlean, OutOfLimits, OSError, ValueError, RecursionError) as error:
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

    def _text(self, source: SourceFile) -> str:
        """The text to compile: that of the file, below the configured header if it has no imports."""
        header = "" if imports(source.text) else self._toolchain.default_header
        return f"{header}\n{source.text}" if header else source.text

    async def _check(
        self,
        source: SourceFile,
        report: FileReport,
        others: list[str],
        below: Sequence[SourceFile],
        folder: Path,
        run: _Run,
    ) -> Judged:
        """Compile a file, check the compiled file, and write the verdicts into the report."""
        # 1. Compile the text, and beside it the clean text.
        clean = None
        if not run.own:
            clean = asyncio.create_task(self._clean_keys(source, below, run))
            run.bare[source.module] = asyncio.create_task(self._compile_bare(source, below, run))
        text = self._text(source)
        shift = text.count("\n") - source.text.count("\n")
        compiled = await self._compiler.compile(source.module, text, folder, [run.modules], salvage=run.salvage)
        report.messages = compiled.messages
        report.problem = compiled.problem
        code, touching = code_in(text), touches_statements(text)
        if not report.problem:
            report.runs_code = [replace(item, line=max(item.line - shift, 0)) for item in code if item.name != EXIT]
        errors = verdicts.failed(compiled, shift)
        if compiled.olean is None:
            if not report.problem:
                report.declarations = errors
            return Judged(report, errors=errors)
        # 2. Have the kernel check what was compiled.
        read = ReadRequest(
            run.prefix + source.module,
            source.module,
            str(passed_on(compiled.olean, source.module, run.modules, text)),
            text,
            self.version,
            [command for command in compiled.commands if command not in compiled.failed],
            [*imports_of(text)],
            others,
            [item for item in touching if item.kind not in SCOPED],
            shift=shift,
        )
        answer = await run.session.judge(read, self._kernel, run.everything, touched=run.own)
        report.rechecked = self.rechecked
        if not report.problem:
            report.declarations = [*errors, *answer.verdicts]
            report.declarations += verdicts.unfinished(compiled, report.declarations, shift)
        # 3. Compare the statements with those of the text.
        if clean is not None:
            any_code = bool(code) or any(code_in(self._text(each)) for each in below)
            above = [replace(item, line=max(item.line - shift, 0)) for item in touching]
            above += [
                replace(item, line=0, name=f"{item.name} in {each.module}")
                for each in below
                for item in touches_statements(self._text(each))
            ]
            await self._compare_with_text(report, source, below, await clean, any_code, above, read.key, run)
        # 4. Ask the second kernel.
        if self._second is not None:
            library = [name for each in (source, *below) for name in imports_of(self._text(each))]
            await self._ask_second_kernel(report, read, library, run)
        report.declarations.sort(key=lambda verdict: verdict.line)
        return Judged(report, read.key, others, answer.facts, errors)

    async def _ask_second_kernel(
        self, report: FileReport, read: ReadRequest, library: Sequence[str], run: _Run
    ) -> None:
        """Reject what the second kernel does not accept. `library`: all modules that the file and its imports name."""
        assert self._second is not None
        own = [key.removeprefix(run.prefix) for key in (*read.others, read.key)]
        files = [run.modules.joinpath(*name.split(".")).with_suffix(".olean") for name in own]
        names = [each.constant for each in report.declarations if each.accepted]
        imported = [name for name in dict.fromkeys(["Init", *library]) if name not in own]
        opinion = await self._second.check(imported, self._toolchain.module_folders, files, names, self._limits.seconds)
        report.declarations = [
            replace(each, reason=opinion.problem(each.constant)) if each.accepted else each
            for each in report.declarations
        ]

    # --- statements as the text has them ----------------------------------------------------------------------------

    async def _clean_keys(self, source: SourceFile, below: Sequence[SourceFile], run: _Run) -> list[str]:
        """The keys of the compiled clean texts of a file and of the user's files that it imports; see `_clean`."""
        return [await self._clean(each, below, run) for each in (source, *below)]

    async def _compare_with_text(
        self,
        report: FileReport,
        source: SourceFile,
        below: Sequence[SourceFile],
        keys: Sequence[str],
        any_code: bool,
        above: Sequence[LocalItem],
        key: str,
        run: _Run,
    ) -> None:
        """Compare the statements of a compiled file with those of its clean text, and correct the verdicts.

        `keys`: of the clean texts, the file's own first; `any_code`, `above`: see `corrected`.
        """
        stated = StatedReply()
        unnamed = [LocalItem(UNNAMED, "text of this file that Lean cannot read alone", 0)]
        if keys[0]:
            # A statement that seems to depend on nothing of the file must mean the same without it.
            bare_key = await run.bare[source.module]
            named = bare_key == NAMED
            bare_key = "" if named else bare_key
            request = StatedRequest(key, [each for each in keys if each], named, bare_key)
            needed = [*request.clean, *([bare_key] if bare_key else []), key]
            stated = await run.session.ask(request, needed, StatedReply)
            text, own = cleaned(self._text(source)), {each.module for each in below}
            shift = text.count("\n") - source.text.count("\n")
            imported = [LocalItem(UNNAMED, f"the import of {name}", 0) for name in sorted(own & set(source.imports))]
            if bare_key != keys[0]:
                unnamed = [*(replace(item, line=item.line - shift) for item in acting(text)), *imported]
        report.declarations = [
            _with_unnamed(each, stated, unnamed) for each in corrected(report.declarations, stated, any_code, above)
        ]

    async def _compile_bare(self, source: SourceFile, below: Sequence[SourceFile], run: _Run) -> str:
        """The key of a file's compiled bare text, which is that of its clean text if they are the same; NAMED if none
        is needed; empty if it cannot be compiled."""
        text, own = cleaned(self._text(source)), {each.module for each in below}
        library = [name for name in self._library_imports([source, *below]) if name not in own and name != "Init"]
        rest = bare(text, own, library)
        if rest == text:
            return await self._clean(source, below, run)
        if not own and not acts_unnamed(text):
            return NAMED
        return await self._compile_instead(source, rest, run.bare_modules, [], run)

    async def _clean(self, source: SourceFile, below: Sequence[SourceFile], run: _Run) -> str:
        """The key of a file's compiled clean text, which is compiled once; empty if it cannot be compiled."""
        task = run.clean.get(source.module)
        if task is None:
            task = run.clean[source.module] = asyncio.create_task(self._compile_clean(source, below, run))
        return await asyncio.shield(task)

    async def _compile_clean(self, source: SourceFile, below: Sequence[SourceFile], run: _Run) -> str:
        by_module = {each.module: each for each in below}
        if not all([await self._clean(by_module[name], below, run) for name in source.imports if name in by_module]):
            return ""
        others = [f"{run.prefix}{run.clean_modules.name}/{each.module}" for each in _below(source, by_module)]
        return await self._compile_instead(source, cleaned(self._text(source)), run.clean_modules, others, run)

    async def _compile_instead(
        self, source: SourceFile, text: str, modules: Path, others: Sequence[str], run: _Run
    ) -> str:
        """The key of another text of a file, compiled and read; empty if it cannot be compiled.

        `modules`: folder for its compiled file, and of those that it imports; `others`: their keys.
        """
        folder = Path(tempfile.mkdtemp(prefix=f"{modules.name}-", dir=run.folder))
        try:
            # 1. Compile it, with the examples named as in the file's own text.
            whole = self._text(source)
            compiled = await self._clean_compiler.compile(
                source.module, text, folder, [modules], salvage=True, named_as=whole
            )
            if compiled.olean is None:
                return ""
            # 2. Have it read. The kernel is not asked: none of its code has run, and only its statements count.
            request = ReadRequest(
                f"{run.prefix}{modules.name}/{source.module}",
                source.module,
                str(passed_on(compiled.olean, source.module, modules, text)),
                text,
                self.version,
                [command for command in compiled.commands if command not in compiled.failed],
                [*imports_of(text)],
                [*others],
                [item for item in touches_statements(text) if item.kind not in SCOPED],
                shift=text.count("\n") - source.text.count("\n"),
                named_as=whole,
            )
            await run.session.read(request)
        except (BadOlean, OutOfLimits, OSError):
            return ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return request.key


def corrected(
    declarations: Sequence[DeclarationVerdict], stated: StatedReply, any_code: bool, above: Sequence[LocalItem]
) -> list[DeclarationVerdict]:
    """Verdicts on a file after the comparison with its text.

    `any_code`: code of the file, or of one that it imports, could run; `above`: commands of these files that could
    touch statements below.
    """
    # 1. The statements of the compiled file.
    verdicts = []
    for verdict in declarations:
        mark = stated_key(verdict.name, verdict.line)
        if verdict.accepted and mark in stated.differing:
            reason = f"it was compiled as another statement than the text has: {stated.differing[mark]}"
            verdict = replace(verdict, reason=reason)
        elif mark in stated.same:
            # Code and macros are not in the clean text, so they do not touch a statement that is the same there.
            verdict = replace(verdict, depends=(*verdict.depends, *stated.touching[mark], *stated.hidden.get(mark, ())))
        else:  # the clean text has no such statement: what it takes from above is not known
            items = [item for item in above if not verdict.line or item.line <= verdict.line][-MOST_UNNAMED:]
            own = [LocalItem(OWN_CODE, "code of this file", 0)] if any_code else []
            verdict = replace(verdict, depends=(*verdict.depends, *items, *own))
        verdicts.append(verdict)
    # 2. Those that it lacks. Lean rejected most of them, and they have a verdict. Examples have no names.
    reported = {_unquoted(verdict.name) for verdict in verdicts}
    rejected = sum(verdict.name == "example" and not verdict.accepted for verdict in verdicts)
    examples = [each for each in stated.missing if each.name == "example"][rejected:]
    named = [each for each in stated.missing if each.name != "example" and _unquoted(each.name) not in reported]
    return [*verdicts, *named, *examples]


def _unquoted(name: str) -> str:
    """A name without guillemets, with which a text may write it or not."""
    return name.replace("«", "").replace("»", "")


def _with_unnamed(verdict: DeclarationVerdict, stated: StatedReply, others: Sequence[LocalItem]) -> DeclarationVerdict:
    """A verdict whose statement the bare text has, too, depends on nothing but its variables. Another depends on
    something.

    `others`: the commands that the bare text lacks.
    """
    mark = stated_key(verdict.name, verdict.line)
    if mark in stated.plain:  # what stands above it has not changed it
        return replace(verdict, depends=tuple(stated.hidden.get(mark, ())))
    if not verdict.accepted or verdict.depends:
        return verdict
    above = [item for item in others if not verdict.line or item.line <= verdict.line] or others
    return replace(verdict, depends=tuple(above[-MOST_UNNAMED:]))


def _below(source: SourceFile, known: dict[str, SourceFile]) -> list[SourceFile]:
    """The user's files that a file imports, directly or not, each after those that it imports."""
    found: dict[str, SourceFile] = {}
    waiting = [name for name in source.imports if name in known]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = known[name]
            waiting += [each for each in known[name].imports if each in known]
    return [each for name, each in known.items() if name in found]


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
