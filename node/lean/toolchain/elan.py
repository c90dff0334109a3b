"""elan's toolchains: their names, where they are, and which one a project wants.

As in elan's source (`lookup_toolchain_desc`, `Toolchain::from`, `find_override_from_dir_walk`): a toolchain is a folder
of $ELAN_HOME/toolchains named after it. Only what elan alone can know (what `stable` is today) is asked of elan.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

FILE = "lean-toolchain"
"""Its first line names the toolchain of a project."""

CHANNELS = ("stable", "beta", "nightly")
"""Names that stand for the latest release, which elan looks up."""

_NAME = re.compile(r"(?:(?P<origin>[\w-]+/[\w-]+):)?(?P<release>[\w.-]+)")
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:-rc\d+)?)")


def is_name(text: str) -> bool:
    """Whether this is how elan names toolchains: `leanprover/lean4:v4.20.0`, `v4.20.0`, `stable`, `my-toolchain`."""
    return _NAME.fullmatch(text) is not None


def is_channel(name: str) -> bool:
    """Whether it stands for the latest release of a kind."""
    match = _NAME.fullmatch(name)
    return match is not None and match["release"] in CHANNELS


def full_name(name: str) -> str:
    """With origin and a leading `v`: `4.20.0` is `leanprover/lean4:v4.20.0`."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return name.strip()
    origin, release = match["origin"] or "leanprover/lean4", match["release"]
    if release.startswith("nightly") and not origin.endswith("-nightly"):
        origin += "-nightly"
    return f"{origin}:{'v' if release[0].isdigit() else ''}{release}"


def release(name: str) -> str:
    """The version that a toolchain of this name says it is, e.g. `4.20.0`; empty for nightly and local ones."""
    match = _RELEASE.fullmatch(full_name(name).rpartition(":")[2])
    return match.group(1) if match else ""


def home(environ: Mapping[str, str]) -> Path:
    """elan's folder: $ELAN_HOME, or ~/.elan."""
    named = environ.get("ELAN_HOME")
    return Path(named) if named else Path(environ.get("HOME") or Path.home()) / ".elan"


def folder(name: str, environ: Mapping[str, str]) -> Path | None:
    """The folder of an installed toolchain (a linked one of that very name comes first); None when there is none."""
    for each in (name.strip(), full_name(name)):
        candidate = home(environ) / "toolchains" / each.replace("/", "--").replace(":", "---")
        if (candidate / "bin" / "lean").is_file():
            return candidate
    return None


def pinned(project: Path) -> tuple[str, Path] | None:
    """The toolchain that a project is pinned to, and the file that says so: in its folder, or above it."""
    for each in (project, *project.parents):
        file = each / FILE
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            return lines[0].strip(), file
    return None
