"""Writes a folder that tools accept as the community's REPL built by Lake, and that starts our REPL.

Such tools run `lake env FOLDER/.lake/build/bin/repl`, and read Lean's version from `FOLDER/lean-toolchain`. The folder
has both files, and a `lake` for machines without Lake.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from common.files import write_whole

REPL = Path(".lake", "build", "bin", "repl")
LAKE = Path("bin", "lake")
TOOLCHAIN = Path("lean-toolchain")
SETTINGS = Path("proofmesh.toml")

_MARK = "# proofmesh: stand-in"
"""A line of every script in such a folder. Files without it are not overwritten."""

_PACKAGES = Path(__file__).parents[4]
"""The folder of the package `node`, because the scripts run in other folders."""


class NotOurs(ValueError):
    """The folder has another file with one of the names; the text says which."""


def install(folder: Path, lean_version: str, settings: str, flags: Sequence[str]) -> None:
    """Write the folder, or overwrite an earlier one. Raises NotOurs, OSError.

    `settings`: the text of its proofmesh.toml. `flags`: more flags of `proofmesh repl`.
    """
    folder = folder.absolute()
    for name in (REPL, LAKE):
        path = folder / name
        if path.exists() and _MARK not in path.read_bytes().decode(errors="replace"):
            raise NotOurs(f"{path} exists and was not written by proofmesh; use another folder")
    write_whole(_made(folder / SETTINGS), settings.encode())
    write_whole(_made(folder / TOOLCHAIN), f"leanprover/lean4:v{lean_version}\n".encode())
    for name, script in ((REPL, _repl(folder, flags)), (LAKE, _lake(lean_version))):
        write_whole(_made(folder / name), script.encode())
        (folder / name).chmod(0o755)


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _repl(folder: Path, flags: Sequence[str]) -> str:
    command = [sys.executable, "-m", "node.command.cli", "repl", "--config", str(folder / SETTINGS), *flags]
    path = shlex.quote(str(_PACKAGES))
    return f"""#!/bin/sh
{_MARK}; starts `proofmesh repl`
PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}} exec {shlex.join(command)} "$@"
"""


def _lake(lean_version: str) -> str:
    return f"""#!/bin/sh
{_MARK} for Lean's `lake`: it has only the commands with which tools start a REPL
case "$1" in
    --version) echo "Lake (proofmesh's stand-in; Lean version {lean_version})" ;;
    build) ;;
    env) shift; [ $# -eq 0 ] && exec env; exec "$@" ;;
    *) echo "lake: '$1' needs Lean's own lake: proofmesh's stand-in has only env, build and --version" >&2
       exit 1 ;;
esac
"""
