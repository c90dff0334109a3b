"""Has the second kernel check theorems of compiled modules, in a process of its own with limits.

The process stays, because reading a library takes seconds. It reads the modules as data, and runs nothing of them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from node.lean.check.second.__main__ import Task, with_large_stack
from node.lean.check.second.export import Library
from node.lean.check.second.parse import BadExport
from node.lean.check.second.special import LEAN_AXIOMS
from node.lean.olean.module import imports_of
from node.lean.olean.region import BadOlean
from node.lean.process.dialog import Dialog
from node.lean.process.dialog_child import answer
from node.lean.process.fresh import Limits, OutOfLimits
from node.lean.toolchain.lean_toolchain import LeanToolchain

MEMORY_MB = 4096

_READING_SECONDS = 60.0
"""Added to the time limit: for the library, when it is new to the process."""


class SecondOpinion(msgspec.Struct):
    """What the second kernel found out. Constants of trusted modules are in none of the lists."""

    checked: list[str] = []
    refused: Mapping[str, str] = {}
    """The reason by name: these break a rule of the type theory."""
    not_checked: Mapping[str, str] = {}
    """The reason by name: these may be right or wrong."""
    axioms: Mapping[str, Sequence[str]] = {}
    """The axioms that each checked constant uses, directly or not."""
    seconds: float = 0.0

    def problem(self, name: str) -> str:
        """Why a constant is not proved; empty if it was checked, and uses no axioms but Lean's own three."""
        if name in self.refused:
            return f"the second kernel refuses it: {self.refused[name]}"
        if name not in self.checked or name not in self.axioms:
            return f"the second kernel has not checked it: {self.not_checked.get(name, 'it uses what is not checked')}"
        foreign = sorted(set(self.axioms[name]) - LEAN_AXIOMS)
        return f"by the second kernel it uses other axioms than Lean's own: {', '.join(foreign)}" if foreign else ""


class Request(msgspec.Struct):
    """Constants to check, with all that they use."""

    library: list[str]
    """Names of modules whose constants, and those of all that they import, are taken as well typed."""
    folders: list[str]
    """Where they are."""
    modules: list[str]
    """Paths of more modules, in the order of imports."""
    names: list[str]
    seconds: float
    export: str
    """Path of the file to write the export to."""


class SecondKernel:
    """Asks the process. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain | None = None, memory_mb: int = MEMORY_MB) -> None:
        """`toolchain`: whose protections its process gets, and whose library it may read; None for no protections."""
        self._toolchain = toolchain
        self._limits = Limits(_READING_SECONDS, memory_mb)
        self._folder = Path(tempfile.mkdtemp(prefix="proofmesh-second-"))
        self._readable: list[Path] = []
        self._dialog = self._new_dialog()

    def may_read(self, folder: Path) -> None:
        """Let its process read the modules in a folder. Call it before the first `check`."""
        assert self._dialog.starts == 0, "the process runs already, and cannot get more to read"
        self._readable.append(folder)
        self._dialog = self._new_dialog()

    def _new_dialog(self) -> Dialog:
        lean = self._toolchain
        keeper = lean.keeper([self._folder], self._readable, packages=True) if lean else []
        return Dialog("node.lean.check.second.calling", self._limits, keeper)

    async def check(
        self,
        library: Sequence[str],
        folders: Sequence[str],
        modules: Sequence[Path],
        names: Sequence[str],
        seconds: float = 60.0,
    ) -> SecondOpinion:
        """Check constants of modules and all that they use.

        `library`: names of modules that are trusted, with all that they import; `folders`: where they are. Never raises
        for what a module holds: a constant that could not be looked at is in `not_checked`.
        """
        names = list(dict.fromkeys(names))
        if not names:
            return SecondOpinion()
        file = self._folder / "export.ndjson"
        request = Request([*library], [*folders], [*map(str, modules)], names, seconds, str(file))
        try:
            return await self._dialog.ask(request, SecondOpinion, more_seconds=seconds)
        except OutOfLimits as error:
            return SecondOpinion(not_checked=dict.fromkeys(names, str(error)))

    async def close(self) -> None:
        """End the process and remove its folder."""
        await self._dialog.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class Checker:
    """The process's side."""

    def __init__(self) -> None:
        self._libraries: dict[tuple[tuple[str, ...], tuple[str, ...]], Library] = {}
        """The library that was used last."""

    def handle(self, request: Request) -> SecondOpinion:
        """What was found out."""
        try:
            with open(request.export, "w", encoding="utf-8", newline="\n") as out:  # noqa: PTH123 - a text from our parent
                library = self.library(request.library, request.folders)
                trusted = library.export([*map(Path, request.modules)], out, request.names).trusted
            # Trusted constants are in no list, but the axioms are wanted of all names.
            found = with_large_stack(Task(Path(request.export), (), trusted, request.seconds))
        except (BadOlean, BadExport, OSError, ValueError) as error:
            return SecondOpinion(not_checked=dict.fromkeys(request.names, str(error)))
        return msgspec.convert(found, SecondOpinion)

    def library(self, modules: Sequence[str], folders: Sequence[str]) -> Library:
        """A library, read when it is new. Raises BadOlean and OSError."""
        key = tuple(modules), tuple(folders)
        library = self._libraries.get(key)
        if library is None or library.large:
            self._libraries.clear()
            library = self._libraries[key] = Library(with_imports(modules, [*map(Path, folders)]))
        return library


def with_imports(modules: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    """The compiled files of modules and of all modules that they import, each after those. Raises BadOlean, OSError."""
    found: dict[str, Path] = {}
    waiting = [(name, False) for name in reversed(modules)]
    while waiting:
        name, below_is_there = waiting.pop()
        if name in found:
            continue
        files = (folder.joinpath(*name.split(".")).with_suffix(".olean") for folder in folders)
        file = next((each for each in files if each.is_file()), None)
        if file is None:
            raise BadOlean(f"the compiled module {name} was not found")
        if below_is_there:
            found[name] = file
            continue
        waiting.append((name, True))
        waiting += [(each, False) for each in imports_of(file) if each not in found]
    return [*found.values()]


def main() -> None:
    """Entry point of the process."""
    answer(Request, Checker().handle)
