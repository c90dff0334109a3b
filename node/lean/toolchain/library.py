"""The commits of a Lake project and its packages."""

from __future__ import annotations

from pathlib import Path

import msgspec

PROJECT = "project"
"""Key of the project itself, such as a clone of Mathlib, among the names of packages."""


class _Package(msgspec.Struct):
    name: str = ""
    rev: str = ""


class _Packages(msgspec.Struct):
    packages: list[_Package] = []


def library(folder: str) -> dict[str, str]:
    """The commits of a project and its packages, by name; empty without a project (`""`) or if they are unknown."""
    if not folder:
        return {}
    project = Path(folder)
    try:
        manifest = msgspec.json.decode((project / "lake-manifest.json").read_bytes(), type=_Packages)
    except (OSError, msgspec.DecodeError):
        manifest = _Packages()
    commits = {each.name: each.rev for each in manifest.packages if each.rev}
    if head := _head(project / ".git"):
        commits[PROJECT] = head
    return commits


def _head(git: Path) -> str:
    """The commit of a working tree; empty if it cannot be read."""
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (git / name).is_file():
            return (git / name).read_text(encoding="utf-8").strip()
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.split()[0] for line in packed if line.endswith(f" {name}")), "")
