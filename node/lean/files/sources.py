"""Collects the Lean files of given files, folders and projects, with their imports from each other.

A file's module name is its path below its root: the given folder, or the parent folder of a given file. Imports of a
file below the root are local; all others are from the toolchain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from node.lean.text.lexing import blanked

MAX_FILE_BYTES = 8 * 2**20
"""Size limit of a file. Mathlib's largest file has 0.3 MB."""

DOTTED = "a module name cannot contain a dot: rename the file or folder"

_IMPORT = re.compile(r"(?:(?:public|meta|private)\s+)*import\s+(?:all\s+)?([^\s;]+)")
_HEADER = re.compile(r"(?:\s+|module\b|prelude\b|(?:(?:public|meta|private)\s+)*import\s+(?:all\s+)?[^\s;]+)*")


@dataclass(frozen=True)
class SourceFile:
    """A file to compile."""

    shown: str
    """Its name in reports."""
    module: str
    text: str = ""
    imports: tuple[str, ...] = ()
    """Names of the modules that it imports, both local ones and those of the toolchain."""
    problem: str = ""
    """Why it cannot be read; empty if it can."""
    path: Path | None = None
    wanted: bool = True
    """False for a file that the user did not name and that is only imported by others."""


def from_text(text: str, shown: str = "input", module: str = "Main") -> SourceFile:
    """A file that is not on disk."""
    return SourceFile(shown, module, text, imports_of(text))


def imports_of(text: str) -> tuple[str, ...]:
    """The modules that a file's header imports."""
    code = blanked(text)
    header = _HEADER.match(code)
    return tuple(name.replace("«", "").replace("»", "") for name in _IMPORT.findall(header.group() if header else ""))


def collect(paths: Sequence[Path], project: Path | None = None) -> list[list[SourceFile]]:
    """The files of paths, in groups that may import each other. Each file appears once.

    `project`: the folder of a Lake project, which is the root of all paths inside it.
    """
    seen: set[str] = set()
    groups = []
    for path in paths:
        root = path if path.is_dir() else path.parent
        inside = project is not None and path.resolve().is_relative_to(project.resolve())
        if project is not None and inside:
            path, root = path.resolve(), project.resolve()
        # `realpath` also works for circular links, where `resolve` raises.
        below = _files(path)
        files = [file for file in below if os.path.realpath(file) not in seen]
        seen.update(os.path.realpath(file) for file in files)
        sources = [_read(file, root) for file in files]
        if path.is_file() and not inside:
            # A single file may have any name, because nothing imports it.
            sources = [
                replace(source, module=path.stem.replace(".", "_"), problem="") if source.problem == DOTTED else source
                for source in sources
            ]
        if not below:
            sources = [SourceFile(str(path), "", problem="no .lean file in this folder", path=path)]
        groups.append([*sources, *_imported(sources, root)])
    return [group for group in groups if group]


def _files(path: Path) -> list[Path]:
    """A file itself, or the .lean files below a folder. Hidden folders are skipped (`.lake` contains packages)."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*.lean") if file.is_file() or file.is_symlink())
    shown = sorted(file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts))
    return [file for file in shown if file.name != "lakefile.lean"]


def _imported(sources: Sequence[SourceFile], root: Path) -> list[SourceFile]:
    """Files below the root that these files import, directly or not, and that the user did not name."""
    collected = {source.module for source in sources}
    waiting = [name for source in sources for name in source.imports]
    imported = []
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        file = root.joinpath(*parts).with_suffix(".lean")
        if name in collected or not all(parts) or "/" in name or not file.is_file():
            continue
        collected.add(name)
        source = _read(file, root)
        imported.append(
            SourceFile(
                source.shown, source.module, source.text, source.imports, source.problem, source.path, wanted=False
            )
        )
        waiting += source.imports
    return imported


def _read(file: Path, root: Path) -> SourceFile:
    module = ".".join(file.relative_to(root).with_suffix("").parts)
    shown = str(file)
    if "." in "".join(file.relative_to(root).with_suffix("").parts):
        source = _read_text(file, root, shown, module)
        return replace(source, problem=source.problem or DOTTED)
    return _read_text(file, root, shown, module)


def _read_text(file: Path, root: Path, shown: str, module: str) -> SourceFile:
    try:
        if not file.resolve(strict=True).is_relative_to(root.resolve()):
            return SourceFile(shown, module, problem="a link that leads out of the folder", path=file)
        if file.stat().st_size > MAX_FILE_BYTES:
            size = file.stat().st_size / 2**20
            return SourceFile(
                shown,
                module,
                problem=f"the file has {size:.1f} MB, more than {MAX_FILE_BYTES >> 20} MB: split it",
                path=file,
            )
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        return SourceFile(shown, module, problem=f"not UTF-8 ({error.reason} at byte {error.start})", path=file)
    except (OSError, RuntimeError) as error:  # RuntimeError: circular links
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return SourceFile(shown, module, problem=str(reason), path=file)
    return SourceFile(shown, module, text, imports_of(text), path=file)


def in_order(sources: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, str]]:
    """Each file after those that it imports, with why it cannot be compiled (circular imports); empty if it can."""
    by_module: dict[str, SourceFile] = {}
    for source in sources:
        if source.module in by_module:
            other = by_module[source.module].shown
            yield replace(source, module=""), f"{other} is the same module: {source.module}"
        else:
            by_module[source.module] = source
    ordered: set[str] = set()
    for source in by_module.values():
        waiting = [source]
        way: list[str] = []
        while waiting:
            last = waiting[-1]
            if last.module in ordered:
                waiting.pop()
                continue
            if last.module not in way:
                way.append(last.module)
            missing = [by_module[name] for name in last.imports if name in by_module and name not in ordered]
            circle = next((each for each in missing if each.module in way), None)
            if missing and circle is None:
                waiting += missing
                continue
            problem = ""
            if circle is not None:
                members = [*way[way.index(circle.module) :], circle.module]
                problem = f"circular imports: {' -> '.join(members)}"
            ordered.add(last.module)
            way.remove(last.module)
            waiting.pop()
            yield last, problem
