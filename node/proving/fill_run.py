"""Runs `proofmesh fill`: fills files one after the other. The files share Lean processes and the prover. Their imports
are compiled, and they are replaced atomically."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from common.life.waiting import unless_stopped
from common.output.visible import without_credentials
from common.settings import LeanSettings
from node.lean.check.files.compiling import Compiler, passed_on
from node.lean.check.files.sources import SourceFile, collect, in_order
from node.lean.check.files.verifier import FileVerifier
from node.lean.gaps.contexts import ContextModules
from node.lean.gaps.finder import GapFinder
from node.lean.gaps.gap import Gap, first_line_of
from node.lean.olean.region import BadOlean
from node.lean.process.fresh import Limits, scratch_folder
from node.lean.settings import LeanProcessSettings
from node.lean.text.allowed import rule_of
from node.lean.text.lexing import mentions
from node.lean.text.statement import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.proving.fill import FilledFile, Filler, FillMemory, FillOptions, FillProgress
from node.proving.fill_check import FileText, FillVerifier, unified_diff
from node.proving.prover import MESH_AT_ONCE, Budget, TheoremProver, local_prover, mesh_prover
from node.proving.settings import ProvingSettings


@dataclass(frozen=True)
class FillWork:
    """The settings of a run."""

    paths: Sequence[Path]
    """Lean files, folders with .lean files below them, and Lake projects."""
    write: bool = False
    """Write the proofs into the files."""
    only: str = ""
    """Fill only gaps on this line (a number), or of this declaration; empty: all."""
    seconds: float = 20.0
    """Seconds of search for each gap."""
    simulations: int = 2000
    """Expansions of proof states for each gap."""
    jobs: int = 0
    """Gaps searched at once; 0: as many as this machine allows."""
    again: bool = False
    """Search all gaps again, and ignore earlier results."""
    proving: ProvingSettings = field(default_factory=ProvingSettings)
    """Policy and search settings."""
    url: str = ""
    """Broker of a running mesh, whose provers search; empty: search in this process."""
    run: str = "demo"
    """Name of that mesh's run."""
    lean: LeanSettings = field(default_factory=LeanSettings)
    """Settings of the Lean toolchain."""
    file_seconds: float = 300.0
    """Time limit of each Lean process that elaborates a whole file."""
    memory_mb: int = 2048
    """Memory limit of each of these processes."""
    remembered: Path | None = None
    """Folder of earlier results; None: the folder in the cache, which all runs share."""


class FillListener(FillProgress, Protocol):
    """Receives the results of files."""

    def note(self, text: str) -> None:
        """A note or warning for the user."""

    def nothing(self, shown: str) -> None:
        """A file without a gap."""

    def unreadable(self, shown: str, problem: str) -> None:
        """A file that cannot be read, or that Lean cannot read."""

    def opened(self, shown: str, gaps: int) -> None:
        """The gaps of a file are known. Their searches start next."""

    def add(self, shown: str, done: FilledFile, diff: str, written: bool, problem: str, seconds: float) -> None:
        """A file is finished. `problem`: why it could not be written; empty if it was, or was not requested."""


@dataclass
class _Tools:
    """Tools that are shared by files with the same import path."""

    finder: GapFinder
    filler: Filler


ProverFor = Callable[[LeanToolchain], AbstractAsyncContextManager[tuple[TheoremProver, int]]]
"""Opens a prover for a toolchain. Also gives the number of gaps that it searches at once."""


@dataclass
class FillRun:
    """One run of `fill`. Call `all` once."""

    settings: FillWork
    toolchain: LeanToolchain
    report: FillListener
    stopping: asyncio.Event
    stack: AsyncExitStack
    tools: dict[str, _Tools] = field(default_factory=dict)
    """By LEAN_PATH."""
    prover: ProverFor | None = None
    """Gives a prover for a toolchain, for example an existing one; None: create one."""

    async def all(self) -> None:
        """Fill all files. Raises ProvingFailed."""
        if self.settings.remembered is None:
            FillMemory.standard([]).sweep()
        project = Path(self.toolchain.project) if self.toolchain.project else None
        for group in collect(self.settings.paths, project):
            await self._group(group)

    async def _group(self, group: Sequence[SourceFile]) -> None:
        """Fill files that may import each other."""
        without_gaps = {each.shown for each in group if each.wanted and not each.problem and not mentions(each.text)}
        for source in group:
            if source.shown in without_gaps:
                self.report.nothing(source.shown)
        group = [replace(each, wanted=each.wanted and each.shown not in without_gaps) for each in group]
        limits = Limits(seconds=self.settings.file_seconds, memory_mb=self.settings.memory_mb)
        folder = scratch_folder("proofmesh-fill-")
        self.stack.callback(_remove, folder)
        toolchain, problems = await with_imports(group, self.toolchain, folder, limits)
        for source in group:
            if source.wanted and not self.stopping.is_set():
                await self._file(source, group, toolchain, problems)

    async def _file(
        self, source: SourceFile, group: Sequence[SourceFile], toolchain: LeanToolchain, problems: dict[str, str]
    ) -> None:
        """Fill one file with gaps. `problems`: why some files cannot be imported."""
        # 1. Read the file, and find its gaps.
        started = time.monotonic()
        imported = imported_texts(source, group)
        unimported = next((f"it imports {name}: {problems[name]}" for name, _ in imported if name in problems), "")
        problem = source.problem or unimported
        if problem or source.path is None:
            self.report.unreadable(source.shown, problem)
            return
        try:
            file = read_file(source.path)
            tools = await self._tools(toolchain)
            gaps = await unless_stopped(tools.finder.find(file.text), self.stopping)
        except (OSError, UnicodeDecodeError) as error:
            self.report.unreadable(source.shown, str(error))
            return
        if gaps is None:
            return
        if gaps.problem:
            self.report.unreadable(source.shown, gaps.problem)
            return
        gap_count = sum(_wanted(gap, self.settings.only) for gap in gaps.gaps)
        if not gap_count:
            return  # `--only` selects no gap of this file
        # 2. Fill them.
        self.report.opened(source.shown, gap_count)
        done = await tools.filler.fill(gaps, self._memory(imported))
        # 3. Write the file, if that is wanted.
        new = file.edited(done.edits)
        refused = ""
        if self.settings.write and done.edits:
            try:
                write_file(source.path, file.data, new.encode())
            except NotWritten as error:
                refused = str(error)
        written = bool(self.settings.write and done.edits and not refused)
        diff = unified_diff(source.shown, file.raw, new)
        self.report.add(source.shown, done, diff, written, refused, time.monotonic() - started)

    def _memory(self, imported: Sequence[tuple[str, str]]) -> FillMemory:
        lean = self.toolchain
        library = hashlib.blake2b("\0".join(part for each in imported for part in each).encode()).hexdigest()
        path = lean.environment.get("LEAN_PATH", "")
        meaning = (lean.version, " ".join(lean.command), path, lean.default_header, library)
        folder = self.settings.remembered
        return FillMemory(folder, meaning) if folder is not None else FillMemory.standard(meaning)

    async def _tools(self, toolchain: LeanToolchain) -> _Tools:
        """The tools for a toolchain, created once. Raises ProvingFailed."""
        settings, key = self.settings, toolchain.environment.get("LEAN_PATH", "")
        if key not in self.tools:
            seconds, memory = settings.file_seconds, settings.memory_mb
            contexts = ContextModules(toolchain, seconds=seconds, memory_mb=memory)
            finder = GapFinder(toolchain, seconds, memory, settings.lean.header_seconds, contexts)
            self.stack.push_async_callback(finder.close)
            files = FileVerifier(toolchain, at_once=1, seconds=seconds, memory_mb=memory)
            self.stack.push_async_callback(files.close)
            made = self.prover
            opening = _prover(settings, toolchain, self.report) if made is None else made(toolchain)
            prover, at_once = await self.stack.enter_async_context(opening)
            options = _options(settings, at_once)
            filler = Filler(prover, FillVerifier(toolchain, files), options, self.report, self.stopping)
            self.tools[key] = _Tools(finder, filler)
        return self.tools[key]


def _options(settings: FillWork, at_once: int) -> FillOptions:
    proving = settings.proving
    way = [
        without_credentials(settings.url),  # it is kept in a file
        settings.run if settings.url else "",
        proving.policy,
        proving.method,
        *proving.closing,
        *proving.searching,
        *(f"{name}:{entry}" for name, entries in (("allow", proving.allow), ("ban", proving.ban)) for entry in entries),
    ]
    return FillOptions(
        Budget(settings.seconds, settings.simulations),
        at_once,
        " ".join([*way, str(proving.samples)]),
        settings.again,
        lambda gap: _wanted(gap, settings.only),
        rule_of(proving.allow, proving.ban),
    )


def _wanted(gap: Gap, only: str) -> bool:
    """Whether `--only` selects this gap."""
    if only.isdigit():
        return gap.line == int(only)
    return not only or gap.name == only or gap.name.endswith(f".{only}")


@asynccontextmanager
async def _prover(
    settings: FillWork, toolchain: LeanToolchain, report: FillListener
) -> AsyncIterator[tuple[TheoremProver, int]]:
    """The prover, and how many gaps it searches at once. Raises ProvingFailed."""
    if settings.url:
        async with mesh_prover(settings.url, settings.run, settings.proving) as prover:
            yield prover, settings.jobs or MESH_AT_ONCE
        return

    from node.lean.opened import open_lean

    # The toolchain already has its sandbox protections, if they are enabled.
    processes = LeanProcessSettings(lean=settings.lean, workers=settings.jobs, sandbox=False)
    async with (
        open_lean(processes, toolchain) as lean,
        local_prover(lean, settings.proving, note=report.note) as prover,
    ):
        yield prover, processes.resolved_workers()


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


# ----------------------------------------------------------------------------------------------------------------------
# Compiles the user's files that a file imports into a temporary folder, so that Lean finds them.

STALE = "its build is older than its source: run `lake build`"


async def with_imports(
    group: Sequence[SourceFile], toolchain: LeanToolchain, folder: Path, limits: Limits
) -> tuple[LeanToolchain, dict[str, str]]:
    """A toolchain that finds the imports among the files of a group, and the problems of modules that cannot be
    imported.

    Modules that Lake has built are used, unless their source is newer.
    """
    local = {source.module: source for source in group}
    needed = _needed(group, local)
    problems: dict[str, str] = {}
    modules = folder / "modules"
    compiled = False
    for source, circle in in_order(group):
        if source.module not in needed:
            continue
        built = toolchain.compiled(source.module)
        broken = next((f"it imports {name}: {problems[name]}" for name in source.imports if name in problems), "")
        problem = source.problem or circle or broken
        if not problem and built is not None:
            fresh = source.path is None or source.path.stat().st_mtime <= built.stat().st_mtime
            problem = "" if fresh else STALE
        elif not problem:
            problem = await _compile(source, toolchain, folder, modules, limits)
            compiled = True
        if problem:
            problems[source.module] = problem
    if compiled:
        toolchain = replace(toolchain, environment=toolchain.with_modules([modules]))
    return toolchain, problems


def _needed(group: Sequence[SourceFile], local: Mapping[str, SourceFile]) -> set[str]:
    """The modules of a group that its requested files import, directly or indirectly."""
    waiting = [name for source in group if source.wanted for name in source.imports if name in local]
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [each for each in local[name].imports if each in local]
    return needed


def imported_texts(source: SourceFile, group: Sequence[SourceFile]) -> list[tuple[str, str]]:
    """The files of a group that this source imports, directly or indirectly: (module, text)."""
    local = {each.module: each for each in group}
    return [(name, local[name].text) for name in sorted(_needed([replace(source, wanted=True)], local))]


async def _compile(source: SourceFile, toolchain: LeanToolchain, folder: Path, modules: Path, limits: Limits) -> str:
    """Compile a file. Returns the problem; empty if there is none."""
    header = "" if imports(source.text) else toolchain.default_header
    text = f"{header}\n{source.text}" if header else source.text
    place = Path(tempfile.mkdtemp(dir=folder))
    try:
        compiled = await Compiler(toolchain, limits).compile(source.module, text, place, [modules], salvage=False)
        if compiled.olean is None:
            error = next((each for each in compiled.messages if each.severity == "error"), None)
            shift = text.count("\n") - source.text.count("\n")
            where = f"line {error.line - shift}: {first_line_of(error.text)}" if error else "Lean did not finish"
            return compiled.problem or f"{source.shown} does not compile: {where}"
        passed_on(compiled.olean, source.module, modules, text)
    except BadOlean as error:
        return f"{source.shown}: {error}"
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return ""


# ----------------------------------------------------------------------------------------------------------------------
# Reads the files of `fill` and replaces them atomically. Never overwrites a file that changed after it was read.


NO_WRITE_BIT = "it is write-protected: no one may write it (chmod u+w)"


class NotWritten(Exception):
    """A file was not replaced. The message has the reason."""


def read_file(path: Path) -> FileText:
    """Read a file and check its encoding. Raises OSError, UnicodeDecodeError."""
    file = FileText(path.read_bytes())
    _ = file.text
    return file


def write_file(path: Path, old: bytes, new: bytes) -> None:
    """Replace a file atomically, if its content is still `old`. Raises NotWritten.

    Keeps mode and owner, and follows symbolic links. Concurrent readers see either the old or the new file.
    """
    try:
        _replace(path.resolve(strict=True), old, new)
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise NotWritten(f"it cannot be written: {reason}") from error


def _replace(real: Path, old: bytes, new: bytes) -> None:
    status = real.stat()
    # Replacing a file needs write permission for its folder only, so check the file's own permissions here.
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise NotWritten(NO_WRITE_BIT)
    if not os.access(real, os.W_OK):
        raise NotWritten("no permission to write it")
    handle, name = tempfile.mkstemp(prefix=f".{real.name[:100]}.", suffix=".proofmesh", dir=real.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(handle)
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, status.st_uid, status.st_gid)
        temporary.chmod(stat.S_IMODE(status.st_mode))
        if real.read_bytes() != old:
            raise NotWritten("it has changed since it was read: run `fill` again")
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)
