"""Compiles what stands far above a gap, once, so that workers import it in place of elaborating it.

Lean's server keeps every command of a document in memory and walks over all of them at each edit (0.4 ms for each). So
of a long text, the commands but for the last few become a module, and the gap's document begins with its import. The
last few do not, so that the next gaps of the file find the same module. Modules are kept between runs.

A module serves candidates only: proofs are verified in the file itself. Where a text does not compile without an error,
or holds what cannot be brought back behind an import, workers elaborate it as it stands.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import msgspec
import structlog

from common.cache import cache_directory
from common.files import write_whole
from common.lean import Theorem
from common.places import Context, digest_of
from node.lean.contexts.scopes import ScopedText
from node.lean.files.sources import imports_of
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.process.scratch import scratch_folder
from node.lean.text.headers import imports_end, leading_imports
from node.lean.toolchain.lean_toolchain import LeanToolchain

STEP = 64
"""A module holds a multiple of this many commands, so that the next gap of the file mostly finds the same module."""

LEAST_STEPS = 2
"""A module is made only where at least this many steps of commands stand above a gap. With fewer commands, an edit
costs less than 50 ms without a module."""

KEPT_MODULES = 100
"""Modules on disk for one Lean. If there are more when a process starts, all of them are removed, because later ones
import earlier ones. A module takes about 5 KB for each command."""

PREFIX = "ProofmeshContext"

log = structlog.get_logger("lean")


class ContextModules:
    """Makes and finds modules of texts. The workers' toolchain must be `self.toolchain`, which finds them, too."""

    def __init__(
        self,
        toolchain: LeanToolchain,
        *,
        seconds: float,
        memory_mb: int,
        folder: Path | None = None,
        step: int = STEP,
    ) -> None:
        """`seconds`, `memory_mb`: limits of a compilation; `folder`: of the modules, by default in the cache; `step`:
        modules end behind multiples of so many commands."""
        self._step = step
        self._lean = toolchain
        self._limits = Limits(seconds=seconds, memory_mb=memory_mb)
        identity = repr((toolchain.command, toolchain.version, sorted(toolchain.environment.items())))
        self.folder = folder or cache_directory() / "contexts" / digest_of(identity)
        self.toolchain = replace(toolchain, environment=toolchain.with_modules([self.folder]))
        self._lock = asyncio.Lock()
        self._short: dict[str, Context] = {}
        """By digest of the text, what stands for it."""
        if self.folder.is_dir() and sum(1 for _ in self.folder.iterdir()) > KEPT_MODULES:
            shutil.rmtree(self.folder, ignore_errors=True)

    async def shortened(self, theorem: Theorem) -> Theorem:
        """The theorem with a shorter text above it that means the same; itself where there is none."""
        place = theorem.place
        if place is None:
            return theorem
        context = await self.shorter(place.context)
        return msgspec.structs.replace(theorem, place=msgspec.structs.replace(place, context=context))

    async def shorter(self, context: Context) -> Context:
        """A shorter text that means the same to what stands below it; the text itself where there is none."""
        known = self._short.get(context.digest)
        if known is None:
            async with self._lock:
                known = self._short.get(context.digest) or await self._shorten(context)
                self._short[context.digest] = known
        return known

    async def _shorten(self, context: Context) -> Context:
        """`shorter`, for a text that was not asked about before."""
        text = self._lean.header(context.text)
        if text.count("\n") < LEAST_STEPS * self._step or "module" in [line.strip() for line in leading_imports(text)]:
            return context
        imports = "".join(f"{line}\n" for line in leading_imports(text))
        imported = f"{imports}{self._builds(text)}"
        scoped = await asyncio.to_thread(ScopedText, text, imports_end(text))
        count = len(scoped.pieces) // self._step * self._step
        if count < LEAST_STEPS * self._step:
            return context
        module, done = self._longest(scoped, imported, count)
        if done < count:
            scope = scoped.open_scope(done)
            if scope is None or scoped.open_scope(count) is None:
                return context
            above = f"import {module}\n{scope}" if module else imports
            name = self._name(scoped, imported, count)
            log.info("compiling what stands above the gap, once", commands=count - done)
            if not await self._compile(name, above + scoped.public(scoped.pieces[done:count])):
                return context
            module, done = name, count
        return Context.of(f"import {module}\n{scoped.open_scope(done) or ''}{scoped.of(scoped.pieces[done:])}")

    def _builds(self, text: str) -> str:
        """Which builds of modules a text imports: a project that was built anew needs new modules of ours."""
        compiled = {name: self._lean.compiled(name) for name in imports_of(text)}
        states = {name: file.stat() for name, file in compiled.items() if file is not None}
        return repr([(name, state.st_size, state.st_mtime_ns) for name, state in states.items()])

    def _longest(self, scoped: ScopedText, imported: str, count: int) -> tuple[str, int]:
        """The module of the most commands that is there already, and how many these are."""
        for done in range(count, 0, -self._step):
            name = self._name(scoped, imported, done)
            if (self.folder / f"{name}.olean").exists() and scoped.open_scope(done) is not None:
                return name, done
        return "", 0

    def _name(self, scoped: ScopedText, imported: str, count: int) -> str:
        """The name of the module of the first commands, behind what is imported."""
        return f"{PREFIX}_{digest_of(imported + scoped.of(scoped.pieces[:count]))}"

    async def _compile(self, name: str, text: str) -> bool:
        """Compile a module; False where Lean does not get through it without an error."""
        self.folder.mkdir(parents=True, exist_ok=True)
        scratch = scratch_folder("proofmesh-context-")
        try:
            (scratch / f"{name}.lean").write_text(text, encoding="utf-8")
            finished = await run_fresh(
                [*self._lean.command, "-o", f"{name}.olean", f"{name}.lean"],
                environment=self.toolchain.environment,
                folder=scratch,
                limits=self._limits,
                keeper=self._lean.protections.keeper([scratch]),
            )
            compiled = scratch / f"{name}.olean"
            if finished.code != 0 or not compiled.is_file():
                return False
            write_whole(self.folder / f"{name}.olean", compiled.read_bytes())
            return True
        except OutOfLimits as error:
            log.warning("what stands above the gap was not compiled", reason=str(error))
            return False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
