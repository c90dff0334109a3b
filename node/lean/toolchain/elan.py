"""elan's toolchains: their names, their folders, and the toolchain that a project is pinned to.

A toolchain is a folder of $ELAN_HOME/toolchains with the toolchain's name. The rules are those of elan's source
(`lookup_toolchain_desc`, `Toolchain::from`, `find_override_from_dir_walk`). elan itself only runs to look up the latest
release of a channel such as `stable`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

FILE = "lean-toolchain"
"""A file of a project. Its first line names the project's toolchain."""

CHANNELS = ("stable", "beta", "nightly")
"""Names of release channels. elan looks up their latest release."""

_NAME = re.compile(r"(?:(?P<origin>[\w-]+/[\w-]+):)?(?P<release>[\w.-]+)")
_RELEASE = re.compile(r"v?(\d+\.\d+\.\d+(?:-rc\d+)?)")


def is_name(text: str) -> bool:
    """True for a name that elan accepts: `leanprover/lean4:v4.20.0`, `v4.20.0`, `stable`, `my-toolchain`."""
    return _NAME.fullmatch(text) is not None


def is_channel(name: str) -> bool:
    """True for the name of a release channel, with or without an origin."""
    match = _NAME.fullmatch(name)
    return match is not None and match["release"] in CHANNELS


def full_name(name: str) -> str:
    """The name with its origin and a leading `v`: `4.20.0` becomes `leanprover/lean4:v4.20.0`."""
    match = _NAME.fullmatch(name.strip())
    if match is None:
        return name.strip()
    origin, release = match["origin"] or "leanprover/lean4", match["release"]
    if release.startswith("nightly") and not origin.endswith("-nightly"):
        origin += "-nightly"
    return f"{origin}:{'v' if release[0].isdigit() else ''}{release}"


def release(name: str) -> str:
    """The Lean version in a toolchain's name, for example `4.20.0`; empty for nightly and local toolchains."""
    match = _RELEASE.fullmatch(full_name(name).rpartition(":")[2])
    return match.group(1) if match else ""


def home(environ: Mapping[str, str]) -> Path:
    """elan's folder: $ELAN_HOME, or ~/.elan."""
    configured = environ.get("ELAN_HOME")
    return Path(configured) if configured else Path(environ.get("HOME") or Path.home()) / ".elan"


def folder(name: str, environ: Mapping[str, str]) -> Path | None:
    """The folder of an installed toolchain; None if it is not installed. A linked one of the same name comes first."""
    for each in (name.strip(), full_name(name)):
        candidate = home(environ) / "toolchains" / each.replace("/", "--").replace(":", "---")
        if (candidate / "bin" / "lean").is_file():
            return candidate
    return None


def pinned(project: Path) -> tuple[str, Path] | None:
    """The toolchain that a project is pinned to, and the `lean-toolchain` file, in its folder or a folder above."""
    for each in (project, *project.parents):
        file = each / FILE
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
            return lines[0].strip(), file
    return None
