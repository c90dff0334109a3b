"""Which files to trace, what they are called, and which commit they are of."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LAKE_FILES = ("lakefile.toml", "lakefile.lean")

_BUILT = frozenset({".lake", "lake-packages", "build", ".git"})
"""Folders of a project that hold no source of its own."""

_CREDENTIALS = re.compile(r"(?<=://)[^/@]+@")


class NoSource(ValueError):
    """A path that leads to no Lean file; the message says which."""


@dataclass(frozen=True)
class Group:
    """Files that one Lean is to trace."""

    root: Path
    """The Lake project, or the folder that was named: paths are relative to it."""
    files: tuple[Path, ...]
    lake: bool
    commit: str = ""
    url: str = ""

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()


def groups(paths: Iterable[Path]) -> list[Group]:
    """The files below some paths, by project. Raises NoSource."""
    files_by_root: dict[Path, dict[Path, None]] = {}
    for path in paths:
        place = path.absolute()
        if not place.exists():
            raise NoSource(f"{path}: no such file or folder")
        files = [place] if place.is_file() else sorted(_below(place))
        if not files:
            raise NoSource(f"{path}: no .lean file in it")
        root = lake_project(place) or (place if place.is_dir() else place.parent)
        files_by_root.setdefault(root, {}).update(dict.fromkeys(files))
    return [_group(root, tuple(files)) for root, files in files_by_root.items()]


def lake_project(path: Path) -> Path | None:
    """The Lake project that a path lies in, or is."""
    for folder in (path, *path.parents):
        if any((folder / name).is_file() for name in LAKE_FILES):
            return folder
    return None


def _group(root: Path, files: tuple[Path, ...]) -> Group:
    commit = _git(root, "rev-parse", "HEAD")
    url = _CREDENTIALS.sub("", _git(root, "remote", "get-url", "origin")) if commit else ""
    return Group(root, files, lake_project(root) == root, commit, url.removesuffix(".git"))


def _below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in _BUILT and not entry.is_symlink():
            yield from _below(entry)
        elif entry.suffix == ".lean" and entry.name not in LAKE_FILES and entry.is_file():
            yield entry


def _git(folder: Path, *arguments: str) -> str:
    """git's answer; empty where there is no git, or no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
