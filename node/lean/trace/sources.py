"""Collects the files to trace, with their names and their commit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.lean_settings import POCKET, LeanSettings
from common.output.visible import without_credentials
from node.lean.toolchain import lake
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.trace.clones import clone, remote_of
from node.lean.trace.worktrees import LAKE_FILES, NoSource, changed, commit_of, git

_BUILT = frozenset({".lake", "lake-packages", "build", ".git"})
"""Folders of a project that contain no sources of the project itself."""


@dataclass(frozen=True)
class Group:
    """Files to trace with the same Lean."""

    root: Path
    """The Lake project, or the given folder. Paths are relative to it."""
    files: tuple[Path, ...]
    lake: bool
    commit: str = ""
    url: str = ""

    def name(self, file: Path) -> str:
        return file.relative_to(self.root).as_posix()

    def warning(self) -> str:
        """A warning if files differ from the commit that the results name; empty if none does."""
        files = changed(self.root) if self.commit else []
        if not files:
            return ""
        more = f" and {len(files) - 1} more" if len(files) > 1 else ""
        return (
            f"{self.root} differs from its commit ({files[0]}{more}), but the results name that commit: "
            f"to trace the commit itself, pass {self.root}@{self.commit}"
        )


def groups(names: Iterable[str | Path]) -> list[Group]:
    """The files below the given paths, grouped by project. `URL@COMMIT` is cloned into the cache. Raises NoSource."""
    files_by_root: dict[Path, dict[Path, None]] = {}
    for path in names:
        place = place_of(path).absolute()
        if not place.exists():
            raise NoSource(f"{path}: no such file or folder")
        files = [place] if place.is_file() else sorted(_below(place))
        if not files:
            raise NoSource(f"{path}: no .lean file in it")
        root = lake_project(place) or (place if place.is_dir() else place.parent)
        files_by_root.setdefault(root, {}).update(dict.fromkeys(files))
    return [_group(root, tuple(files)) for root, files in files_by_root.items()]


def place_of(name: str | Path) -> Path:
    """The folder or file of a path, or the clone of `URL@COMMIT`. Raises NoSource."""
    remote = remote_of(str(name))
    return Path(name) if remote is None else clone(remote)


def toolchain_of(group: Group, lean: LeanSettings) -> LeanToolchain:
    """The toolchain for a group of files: its project's, unless the settings name one. It is pocket Lean if the project
    pins no toolchain and there is no `lake`. Raises LeanProblem."""
    if lean.project or lean.toolchain or not group.lake:
        return find(lean)
    if lake.pinned_toolchain(group.root) is None:
        try:
            lake.find_lake(os.environ)
        except LeanProblem:
            return find(replace(lean, toolchain=POCKET))
    return find(replace(lean, project=str(group.root)))


def lake_project(path: Path) -> Path | None:
    """The Lake project that contains a path, or is this path; None if there is none."""
    for folder in (path, *path.parents):
        if any((folder / name).is_file() for name in LAKE_FILES):
            return folder
    return None


def _group(root: Path, files: tuple[Path, ...]) -> Group:
    commit = commit_of(root)
    url = without_credentials(git(root, "remote", "get-url", "origin")) if commit else ""
    return Group(root, files, lake_project(root) == root, commit, url.removesuffix(".git"))


def _below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name not in _BUILT and not entry.is_symlink():
            yield from _below(entry)
        elif entry.suffix == ".lean" and entry.name not in LAKE_FILES and entry.is_file():
            yield entry
