"""The text above a gap: splits it into commands, and compiles those far above into a module that workers import."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import structlog
from cachetools import LRUCache

from common.files import cache_directory, write_whole
from common.lean import Context, Theorem, digest_of
from node.lean.check.files.commands import LookedAt
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh, scratch_folder
from node.lean.settings import LeanProcessSettings
from node.lean.text.statement import imports_end, imports_of, leading_imports
from node.lean.toolchain.lean_toolchain import LeanToolchain

# --- Splits a text into commands, and collects those that an import does not restore. Pure ---------------------------
#
# A compiled module keeps declarations. Commands whose effect ends with their section or file (namespaces, sections,
# variables, options) must be repeated behind its import: `open_scope` collects them. Commands are recognized by their
# text, without Lean.


_SCOPED_COMMANDS = frozenset({"variable", "open", "universe", "set_option", "include", "omit", "suppress_compilation"})
"""Commands whose effect lasts to the end of their section."""

_LOCAL = re.compile(r"\blocal\b")
_LOCAL_DECLARATION = re.compile(r"@\[[^\]]*\blocal\b|\blocal\s+(?:instance|simproc|dsimproc)\b")
"""Declarations with an attribute whose effect lasts to the end of their section. They cannot be repeated."""

_PRIVATE = re.compile(r"(?<![\w.'@])private(?=\s)")
_SECTION_NAME = re.compile(r"\bsection\b[ \t]*([^\s]*)")


@dataclass(frozen=True)
class Piece:
    """A command of a text, including the white space and comments behind it."""

    start: int
    end: int
    keyword: str


@dataclass
class _Scope:
    """A namespace, a section, or the file."""

    opener: str
    commands: list[str]


class ScopedText:
    """A text split into commands."""

    def __init__(self, text: str, start: int) -> None:
        """`start`: offset behind the imports, where the first command may begin."""
        self._text = LookedAt(text)
        self.pieces = list(self._pieces(start))

    def start_of(self, at: int) -> int:
        """Start of the command that contains an offset; 0 above the first command."""
        return max((piece.start for piece in self.pieces if piece.start <= at), default=0)

    def of(self, pieces: Sequence[Piece]) -> str:
        """The text of consecutive commands."""
        return self._text.original[pieces[0].start : pieces[-1].end] if pieces else ""

    def public(self, pieces: Sequence[Piece]) -> str:
        """The text of commands with `private` blanked out, so that other modules can use them. No column moves."""
        if not pieces:
            return ""
        start, end = pieces[0].start, pieces[-1].end
        original, code = self._text.original[start:end], self._text.code[start:end]
        characters = list(original)
        for match in _PRIVATE.finditer(code):
            characters[match.start() : match.end()] = " " * len("private")
        return "".join(characters)

    def open_scope(self, count: int) -> str | None:
        """Commands that restore the scope behind the first `count` commands; None if that is impossible."""
        scopes = [_Scope("", [])]
        for piece in self.pieces[:count]:
            code = self._text.code[piece.start : piece.end]
            if _LOCAL_DECLARATION.search(code):
                scopes[-1].commands.append("")  # marks a scope that cannot be restored
                continue
            self._enter(scopes, piece, code)
            if not scopes:
                return None
        lines = [line for scope in scopes for line in (scope.opener, *scope.commands)]
        if any(not command for scope in scopes for command in scope.commands):
            return None
        return "".join(f"{line}\n" for line in lines if line)

    def _enter(self, scopes: list[_Scope], piece: Piece, code: str) -> None:
        """Update the open scopes by one command."""
        words = code.split()
        if piece.keyword == "namespace":
            scopes += [_Scope(f"namespace {part}", []) for part in words[words.index("namespace") + 1].split(".")]
        elif piece.keyword == "section":
            name = _SECTION_NAME.search(code)
            parts = name.group(1).split(".") if name else [""]
            opener = code[: name.start() if name else 0].strip()
            scopes += [_Scope(f"{opener} section {part}".strip(), []) for part in parts]
        elif piece.keyword == "end":
            name_parts = words[1].split(".") if len(words) > 1 else [""]
            del scopes[len(scopes) - min(len(name_parts), len(scopes)) :]
        elif piece.keyword in _SCOPED_COMMANDS or _LOCAL.search(code):
            scopes[-1].commands.append(self._text.original[piece.start : piece.end].rstrip())

    def _pieces(self, start: int) -> Iterator[Piece]:
        """The commands, recognized by their text. A `mutual` block is one command."""
        commands = [command for command in self._text.commands if command.start >= start]
        firsts = []
        inside = False
        for command in commands:
            if not inside:
                firsts.append(command)
            inside = command.keyword == "mutual" or (inside and command.keyword != "end")
        begins = [self._text.begin(command) for command in firsts]
        ends = [*begins[1:], len(self._text.original)]
        for command, begin, end in zip(firsts, begins, ends, strict=True):
            yield Piece(begin, end, command.keyword)


# --- Compiles the commands far above a gap once, so that workers import them instead of elaborating them -------------
#
# Lean's server keeps every command of a document in memory and visits all of them at each edit (0.4 ms for each). So
# all commands of a long text except the last few become a module, and the gap's document begins with its import.
# Leaving out the last few lets the next gaps of the file use the same module. Modules stay on disk between runs.
#
# Modules are only used to run candidates; proofs are verified in the file itself. If a text has an error, or commands
# that cannot be restored behind an import, workers elaborate the text itself.


STEP = 64
"""A module contains a multiple of this many commands, so that the next gap of the file can mostly use the same one."""

LEAST_STEPS = 2
"""A module is made only where at least this many steps of commands stand above a gap. With fewer commands, an edit
costs less than 50 ms without a module."""

KEPT_MODULES = 100
"""Modules on disk for one Lean. If there are more when a process starts, all of them are removed, because later ones
import earlier ones. A module takes about 5 KB for each command."""

PREFIX = "ProofmeshContext"

log = structlog.get_logger("lean")


class ContextModules:
    """Makes and finds context modules. Workers must use `self.toolchain`, whose search path includes them."""

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
        a module contains a multiple of this many commands."""
        self._step = step
        self._lean = toolchain
        self._limits = Limits(seconds=seconds, memory_mb=memory_mb)
        identity = repr((toolchain.command, toolchain.version, sorted(toolchain.environment.items())))
        self.folder = folder or cache_directory() / "contexts" / digest_of(identity)
        self.toolchain = replace(toolchain, environment=toolchain.with_modules([self.folder]))
        self._lock = asyncio.Lock()
        self._short: LRUCache[str, Context] = LRUCache(KEPT_MODULES)
        """Shortened texts by digest of the original text."""
        if self.folder.is_dir() and len(modules := [*self.folder.iterdir()]) > KEPT_MODULES:
            # Not the folder: the processes of others that work now may read this one, and none in its place.
            for module in modules:
                module.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)  # a process may only read folders that exist at its start

    async def shortened(self, theorem: Theorem) -> Theorem:
        """The theorem with a shorter equivalent text above it; unchanged if there is none."""
        place = theorem.place
        if place is None:
            return theorem
        context = await self.shorter(place.context)
        return msgspec.structs.replace(theorem, place=msgspec.structs.replace(place, context=context))

    async def shorter(self, context: Context) -> Context:
        """A shorter text that is equivalent for the commands below it; the text itself if there is none."""
        short = self._known(context)
        if short is None:
            async with self._lock:
                short = self._known(context) or await self._shorten(context)
                self._short[context.digest] = short
        return short

    def _known(self, context: Context) -> Context | None:
        """The shorter text of an earlier call, unless another process has removed its module."""
        short = self._short.get(context.digest)
        modules = [name for name in imports_of(short.text) if name.startswith(PREFIX)] if short is not None else []
        return short if all((self.folder / f"{name}.olean").is_file() for name in modules) else None

    async def _shorten(self, context: Context) -> Context:
        """`shorter` without its cache."""
        text = self._lean.header(context.text)
        if text.count("\n") < LEAST_STEPS * self._step or "module" in [line.strip() for line in leading_imports(text)]:
            return context
        imports = "".join(f"{line}\n" for line in leading_imports(text))
        imported = f"{imports}{self._builds(text)}"
        scoped = await asyncio.to_thread(ScopedText, text, imports_end(text))
        count = len(scoped.pieces) // self._step * self._step
        if count < LEAST_STEPS * self._step:
            return context
        module, compiled = self._longest(scoped, imported, count)
        if compiled < count:
            # Extend the longest existing module by the commands that it lacks.
            scope = scoped.open_scope(compiled)
            if scope is None or scoped.open_scope(count) is None:
                return context
            above = f"import {module}\n{scope}" if module else imports
            name = self._name(scoped, imported, count)
            log.info("compiling the commands above the gap", commands=count - compiled)
            if not await self._compile(name, above + scoped.public(scoped.pieces[compiled:count])):
                return context
            module, compiled = name, count
        return Context.of(f"import {module}\n{scoped.open_scope(compiled) or ''}{scoped.of(scoped.pieces[compiled:])}")

    def _builds(self, text: str) -> str:
        """Identifies the builds of a text's imports: after a rebuild of the project, context modules are stale."""
        compiled = {name: self._lean.compiled(name) for name in imports_of(text)}
        states = {name: file.stat() for name, file in compiled.items() if file is not None}
        return repr([(name, state.st_size, state.st_mtime_ns) for name, state in states.items()])

    def _longest(self, scoped: ScopedText, imported: str, count: int) -> tuple[str, int]:
        """The existing module with the most commands, and the number of its commands; `"", 0` if there is none."""
        for compiled in range(count, 0, -self._step):
            name = self._name(scoped, imported, compiled)
            if (self.folder / f"{name}.olean").exists() and scoped.open_scope(compiled) is not None:
                return name, compiled
        return "", 0

    def _name(self, scoped: ScopedText, imported: str, count: int) -> str:
        """The name of the module with the first `count` commands and these imports."""
        return f"{PREFIX}_{digest_of(imported + scoped.of(scoped.pieces[:count]))}"

    async def _compile(self, name: str, text: str) -> bool:
        """Compile a module. Returns False if Lean reports an error or exceeds a limit."""
        self.folder.mkdir(parents=True, exist_ok=True)
        scratch = scratch_folder("proofmesh-context-")
        try:
            (scratch / f"{name}.lean").write_text(text, encoding="utf-8")
            finished = await run_fresh(
                [*self._lean.command, "-o", f"{name}.olean", f"{name}.lean"],
                environment=self.toolchain.environment,
                folder=scratch,
                limits=self._limits,
                keeper=self.toolchain.keeper([scratch]),
            )
            compiled = scratch / f"{name}.olean"
            if finished.code != 0 or not compiled.is_file():
                return False
            write_whole(self.folder / f"{name}.olean", compiled.read_bytes())
            return True
        except OutOfLimits as error:
            log.warning("the commands above the gap could not be compiled", reason=str(error))
            return False
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


# --- Creates `ContextModules` from the settings of Lean processes ----------------------------------------------------


def context_modules(settings: LeanProcessSettings, toolchain: LeanToolchain) -> ContextModules:
    """Context modules with the limits of a header, because a context is the header of a gap."""
    memory_mb = settings.verify_memory_mb + settings.memory_mb
    return ContextModules(toolchain, seconds=settings.lean.header_seconds, memory_mb=memory_mb)
