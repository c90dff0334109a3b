"""Compares the Lean of a bank's manifest, under which its statements elaborate, with the configured Lean."""

from __future__ import annotations

from pathlib import Path

import msgspec

from node.bank.manifest import SourceRecord
from node.lean.toolchain.lean_toolchain import LeanToolchain

PROJECT = "project"
"""Key of the project itself, such as a clone of Mathlib, among the names of packages."""

SHOWN = 12
"""Number of characters of a commit in messages."""


class _Package(msgspec.Struct):
    name: str = ""
    rev: str = ""


class _Packages(msgspec.Struct):
    packages: list[_Package] = []


def library(toolchain: LeanToolchain) -> dict[str, str]:
    """The commits of a project and its packages, by name; empty without a project or if they are unknown."""
    if not toolchain.project:
        return {}
    project = Path(toolchain.project)
    try:
        manifest = msgspec.json.decode((project / "lake-manifest.json").read_bytes(), type=_Packages)
    except (OSError, msgspec.DecodeError):
        manifest = _Packages()
    commits = {each.name: each.rev for each in manifest.packages if each.rev}
    if head := _head(project / ".git"):
        commits[PROJECT] = head
    return commits


def difference(record: SourceRecord, toolchain: LeanToolchain) -> str:
    """The difference between this Lean and the Lean under which a source's statements were tried. Empty if there is
    none, or if the statements were not tried."""
    if not record.lean:
        return ""
    if record.lean != toolchain.version:
        return f"its statements were tried under Lean {record.lean}, and this is Lean {toolchain.version}"
    here = library(toolchain)
    for name in sorted(record.library.keys() | here.keys()):
        there, now = record.library.get(name, ""), here.get(name, "")
        if there != now:
            return f"{name} was {_shown(there)} when its statements were tried, and is {_shown(now)} now"
    return ""


def _shown(commit: str) -> str:
    return f"at {commit[:SHOWN]}" if commit else "absent"


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
