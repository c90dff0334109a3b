"""Keeps Lean's state after a header's imports on disk, so that a later process maps it instead of importing again.

Lean 4.35 can save this state (`--incr-header-save`) and start from it (`--incr-load`): with a library of 370,000
constants a start takes a tenth of a second instead of two. It saves in about six times the time of the import, and the
file is about a fifth of the compiled modules. Older versions of Lean refuse the option; then nothing is kept.

Only files with untrusted text are compiled from a kept state: whatever they compile to is checked as data. Statements
and the kernel's process always import the modules themselves. A process that saves a state has read nothing but the
import lines. Processes that read it cannot write to it, and it is not used after one of its modules has changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.files import NOT_JSON, cache_directory
from common.lean import digest_of
from common.machine import read_machine
from node.lean.process.fresh import Limits, OutOfLimits, run_fresh
from node.lean.text.statement import leading_imports
from node.lean.toolchain.lean_toolchain import LeanToolchain

_PLAIN_IMPORT = re.compile(r"import [\w.]+")

HEAVY_SECONDS = 1.5
"""A header is kept if a process took longer to import it. Others would gain little."""

MOST_KEPT = 3
"""Kept states on disk. The least recently used one is removed."""

LEFT_SECONDS = 24 * 3600.0
"""A folder in which a state is being saved is as old as this only if the process was killed."""

FILE_BYTES = 4 * 2**30
"""Largest state that is kept."""

MEMORY_SHARE = 0.5
"""Share of the machine's memory that saving may take: four times what the import takes."""

SAVE, LOAD = "--incr-header-save", "--incr-load"

SAVING = ".saving-"
"""Prefix of folders in which a state is being saved."""

STATE, MODULES, BUILDS, SOURCE = "state", "state.deps", "builds.json", "Header.lean"
"""The files of a kept state: Lean's own two, when the modules were built, and the text that was compiled."""


class _Module(msgspec.Struct, rename="camel"):
    """The files of a module in Lean's list of what a state refers to."""

    olean: str = ""
    olean_server: str = ""
    olean_private: str = ""
    ir: str = ""
    ir_sig: str = ""

    def files(self) -> list[str]:
        return [file for file in msgspec.structs.astuple(self) if file]


_Builds = list[tuple[str, int, int, int]]
"""Path, size, time of the last change in nanoseconds, and inode of each file that a state refers to."""


@dataclass(frozen=True)
class KeptHeader:
    """A state that a process may start from."""

    folder: Path

    @property
    def arguments(self) -> list[str]:
        """Command-line arguments of Lean. A file with other imports is imported as usual."""
        return [f"{LOAD}={self.folder / STATE}"]

    def forget(self) -> None:
        """Remove it."""
        shutil.rmtree(self.folder, ignore_errors=True)


class KeptHeaders:
    """The kept states of one Lean."""

    def __init__(self, toolchain: LeanToolchain, options: Sequence[str], folder: Path | None = None) -> None:
        """`options`: Lean's options in the processes that start from a state; a state has them from where it was saved.
        `folder`: of the states, by default in the cache; no process that runs a user's code may write there."""
        self._toolchain = toolchain
        self._options = tuple(options)
        self._folder = folder or cache_directory() / "headers"

    async def find(self, header: str) -> KeptHeader | None:
        """The kept state of a header's imports; None if there is none, or if a module has changed since."""
        place = self._place(header)
        if place is None or not (place / BUILDS).is_file():
            return None
        if not await asyncio.to_thread(_is_current, place):
            await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(place)  # the least recently used one is removed first
        return KeptHeader(place)

    async def keep(self, header: str, seconds: float, begin: Callable[[], None] = lambda: None) -> None:
        """Keep the state of a header's imports, unless it is kept already. `seconds`: time limit. `begin` is called if
        it is to be saved.

        It is not kept if this Lean cannot, if a limit is exceeded, or if the disk is full.
        """
        place = self._place(header)
        if place is None or await self.find(header) is not None or not await self._can():
            return
        begin()
        with contextlib.suppress(OSError, OutOfLimits, *NOT_JSON):
            self._folder.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=SAVING, dir=self._folder))
            try:
                if await self._saved(header, scratch, seconds):
                    scratch.rename(place)  # raises if another process was faster
                    await asyncio.to_thread(self._remove_old)
            finally:
                await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)

    async def _can(self) -> bool:
        """True if this Lean can save its state after a header."""
        lean = self._toolchain
        with contextlib.suppress(OSError, OutOfLimits):
            helped = await run_fresh(
                [*lean.command, "--help"], environment=lean.environment, limits=Limits(), keeper=lean.keeper()
            )
            return SAVE in helped.output + helped.errors
        return False

    async def _saved(self, header: str, scratch: Path, seconds: float) -> bool:
        """Save the state into a folder. Raises OSError, OutOfLimits."""
        began = time.time_ns()
        (scratch / SOURCE).write_text(_source(header), encoding="utf-8")
        finished = await run_fresh(
            [*self._toolchain.command, *self._options, f"{SAVE}={STATE}", SOURCE],
            environment=self._toolchain.environment,
            folder=scratch,
            limits=Limits(seconds, int(read_machine().memory_mb * MEMORY_SHARE)),
            keeper=self._toolchain.keeper([scratch]),
            file_bytes=FILE_BYTES,
        )
        if finished.code != 0 or not (scratch / STATE).is_file():
            return False
        builds = await asyncio.to_thread(_builds, scratch)
        if any(changed >= began for _, _, changed, _ in builds):
            return False  # the project is being built
        (scratch / BUILDS).write_bytes(msgspec.json.encode(builds))
        return True

    def _place(self, header: str) -> Path | None:
        """The folder of a header's state; None if there can be none: it imports nothing, or there is more in its first
        lines than imports."""
        lines = leading_imports(header)
        if not lines or not all(map(_PLAIN_IMPORT.fullmatch, lines)):
            return None
        lean = self._toolchain
        environment = sorted(lean.environment.items())
        identity = repr((lean.command, lean.version, environment, self._options, _source(header)))
        return self._folder / digest_of(identity)

    def _remove_old(self) -> None:
        """Remove the least recently used states, and what killed processes have left a day ago."""
        folders = [(each.stat().st_mtime, each) for each in self._folder.iterdir()]
        kept = sorted((used, each) for used, each in folders if not each.name.startswith(SAVING))
        left = [each for began, each in folders if each.name.startswith(SAVING) and began < time.time() - LEFT_SECONDS]
        for old in [*(each for _, each in kept[:-MOST_KEPT]), *left]:
            shutil.rmtree(old, ignore_errors=True)


def _source(header: str) -> str:
    """The text whose state is kept: Lean takes it for another one with the same imports up to its first command."""
    return "\n".join(leading_imports(header)) + "\n"


def _builds(folder: Path) -> _Builds:
    """The present builds of the modules that a state refers to. Raises OSError, msgspec.DecodeError."""
    modules = msgspec.json.decode((folder / MODULES).read_bytes(), type=list[_Module])
    return list(_stamps(file for module in modules for file in module.files()))


def _stamps(files: Iterable[str]) -> Iterator[tuple[str, int, int, int]]:
    for file in files:
        status = Path(file).stat()
        yield file, status.st_size, status.st_mtime_ns, status.st_ino


def _is_current(folder: Path) -> bool:
    """True if no module that a state refers to has changed since it was saved."""
    try:
        kept = msgspec.json.decode((folder / BUILDS).read_bytes(), type=_Builds)
        return kept == list(_stamps(file for file, *_ in kept))
    except (OSError, *NOT_JSON):
        return False
