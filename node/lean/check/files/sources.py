"""Collects the Lean files of given files, folders and projects, with their imports from each other.

A file's module name is its path below its root: the given folder, or the parent folder of a given file. Imports of a
file below the root are local; all others are from the toolchain.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from node.lean.text.statement import imports_of

MAX_FILE_BYTES = 8 * 2**20
"""Size limit of a file. Mathlib's largest file has 0.3 MB."""

DOTTED = "a module name cannot contain a dot: rename the file or folder"

BOM = "the file begins with a byte order mark (BOM): remove it"

_PLAIN_PART = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff«»/\\:*?\"<>|]+")
"""A part of a module's name that every Lean takes as the name of a file."""


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


def collect(paths: Sequence[Path], project: Path | None = None) -> list[list[SourceFile]]:
    """The files of paths, in groups that may import each other. Each file appears once.

    `project`: the folder of a Lake project, which is the root of all paths inside it.
    """
    seen: set[str] = set()
    groups = []
    for path in paths:
        root = path if _is(path.is_dir) else path.parent
        inside = project is not None and _real(path).is_relative_to(_real(project))
        if project is not None and inside:
            path, root = _real(path), _real(project)
        below, closed = _files(path)
        files = [file for file in below if os.path.realpath(file) not in seen]
        seen.update(os.path.realpath(file) for file in files)
        sources = [_read(file, root) for file in files]
        sources += [SourceFile(str(folder), "", problem=problem, path=folder) for folder, problem in closed]
        if _is(path.is_file) and not inside:
            # A single file may have any name, because nothing imports it.
            sources = [
                replace(source, module=path.stem.replace(".", "_"), problem="") if source.problem == DOTTED else source
                for source in sources
            ]
        if not below and not closed:
            sources = [SourceFile(str(path), "", problem="no .lean file in this folder", path=path)]
        groups.append([*sources, *_imported(sources, root)])
    return [group for group in groups if group]


def _real(path: Path) -> Path:
    """The path without links. Circular links stay, where `Path.resolve` raises."""
    return Path(os.path.realpath(path))


def _is(question: Callable[[], bool]) -> bool:
    """The answer about a path; False if its folder cannot be read."""
    try:
        return question()
    except OSError:
        return False


def _files(path: Path) -> tuple[list[Path], list[tuple[Path, str]]]:
    """A file itself, or what is called .lean below a folder; and the folders that cannot be read, with the reasons.

    Hidden folders are skipped (`.lake` contains packages).
    """
    if not _is(path.is_dir):
        return [path], []
    found: list[Path] = []
    closed: list[tuple[Path, str]] = []

    def refused(error: OSError) -> None:
        closed.append((Path(error.filename), f"the folder cannot be read: {error.strerror}"))

    for folder, folders, files in os.walk(path, onerror=refused):
        folders[:] = [name for name in folders if not name.startswith(".")]
        # A folder called X.lean is taken for a file by mistake only if no file below it says so.
        empty = [name for name in folders if name.endswith(".lean") and not any(_below(Path(folder, name)))]
        names = [name for name in (*files, *empty) if name.endswith(".lean") and not name.startswith(".")]
        found += [Path(folder, name) for name in names if name != "lakefile.lean"]
    return sorted(found), closed


def _below(folder: Path) -> Iterator[str]:
    for _, _, files in os.walk(folder):
        yield from (name for name in files if name.endswith(".lean"))


def _imported(sources: Sequence[SourceFile], root: Path) -> list[SourceFile]:
    """Files below the root that these files import, directly or not, and that the user did not name."""
    collected = {source.module for source in sources}
    waiting = [name for source in sources for name in source.imports]
    imported = []
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        file = root.joinpath(*parts).with_suffix(".lean")
        if name in collected or not all(parts) or "/" in name or not _is(file.is_file):
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
    parts = file.relative_to(root).with_suffix("").parts
    module = ".".join(map(_part, parts))
    shown = str(file)
    if "." in "".join(parts):
        source = _read_text(file, root, shown, module)
        return replace(source, problem=source.problem or DOTTED)
    return _read_text(file, root, shown, module)


def _part(name: str) -> str:
    """A part of a module's name. A file name that Lean or a file system may refuse is replaced: nothing imports it."""
    if _PLAIN_PART.fullmatch(name):
        return name
    return f"File_{hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()}"


def _read_text(file: Path, root: Path, shown: str, module: str) -> SourceFile:
    try:
        if not file.resolve(strict=True).is_relative_to(_real(root)):
            return SourceFile(shown, module, problem="a link that leads out of the folder", path=file)
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):
            # A pipe would never end.
            kind = "a folder" if stat.S_ISDIR(status.st_mode) else "a pipe, a socket or a device"
            return SourceFile(shown, module, problem=f"it is {kind}, not a file", path=file)
        if status.st_size > MAX_FILE_BYTES:
            size = status.st_size / 2**20
            return SourceFile(
                shown,
                module,
                problem=f"the file has {size:.1f} MB, more than {MAX_FILE_BYTES >> 20} MB: split it",
                path=file,
            )
        # As Lean reads it: a carriage return alone is a character like others.
        text = file.read_bytes().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        return SourceFile(shown, module, problem=f"not UTF-8 ({error.reason} at byte {error.start})", path=file)
    except OSError as error:
        return SourceFile(shown, module, problem=str(error.strerror), path=file)
    except RuntimeError:
        return SourceFile(shown, module, problem="the link leads in a circle", path=file)
    if text.startswith("\ufeff"):
        return SourceFile(shown, module, problem=BOM, path=file)
    return SourceFile(shown, module, text, imports_of(text), path=file)


def in_order(sources: Iterable[SourceFile]) -> Iterator[tuple[SourceFile, str]]:
    """Each file after those that it imports, with why it cannot be compiled (circular imports); empty if it can."""
    # 1. One file for each module; a second one with the same name cannot be compiled.
    by_module: dict[str, SourceFile] = {}
    for source in sources:
        if source.module in by_module:
            other = by_module[source.module].shown
            yield replace(source, module=""), f"{other} is the same module: {source.module}"
        else:
            by_module[source.module] = source
    # 2. Depth-first over the imports, with a stack of our own: a chain of imports may be deeper than Python's.
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
            # 3. All that it imports is done, or waits for it: then it is part of a circle, which is named once.
            problem = ""
            if circle is not None:
                members = [*way[way.index(circle.module) :], circle.module]
                problem = f"circular imports: {' -> '.join(members)}"
            ordered.add(last.module)
            way.remove(last.module)
            waiting.pop()
            yield last, problem
