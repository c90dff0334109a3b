"""A folder that tools take for the community's REPL, built by Lake, and that starts ours.

Such tools run `lake env FOLDER/.lake/build/bin/repl`, and read Lean's version from `FOLDER/lean-toolchain`. The folder
has all of these, a `lake` included, for machines that have none.
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
"""A line of every script in such a folder; others are not written over."""

_PACKAGES = Path(__file__).parents[4]
"""Where this package lies: the scripts run in other folders."""


class NotOurs(ValueError):
    """The folder has something else under one of the names; the text says what."""


def install(folder: Path, lean_version: str, settings: str, flags: Sequence[str]) -> None:
    """Write the folder, or write it anew. Raises NotOurs, OSError.

    `settings`: what its proofmesh.toml says; `flags`: more flags of `proofmesh repl`.
    """
    folder = folder.absolute()
    for name in (REPL, LAKE):
        path = folder / name
        if path.exists() and _MARK not in path.read_bytes().decode(errors="replace"):
            raise NotOurs(f"{path} is there and was not written by proofmesh; name another folder")
    write_whole(_made(folder / SETTINGS), settings.encode())
    write_whole(_made(folder / TOOLCHAIN), f"leanprover/lean4:v{lean_version}\n".encode())
    for name, script in ((REPL, _repl(folder, flags)), (LAKE, _lake(lean_version))):
        write_whole(_made(folder / name), script.encode())
        (folder / name).chmod(0o755)


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _repl(folder: Path, flags: Sequence[str]) -> str:
    command = [sys.executable, "-m", "node.mesh.cli", "repl", "--config", str(folder / SETTINGS), *flags]
    path = shlex.quote(str(_PACKAGES))
    return f"""#!/bin/sh
{_MARK}; starts `proofmesh repl`
PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}} exec {shlex.join(command)} "$@"
"""


def _lake(lean_version: str) -> str:
    return f"""#!/bin/sh
{_MARK} for Lean's `lake`: what tools ask of it to start a REPL, and no more
case "$1" in
    --version) echo "Lake (proofmesh's stand-in; Lean version {lean_version})" ;;
    build) ;;
    env) shift; [ $# -eq 0 ] && exec env; exec "$@" ;;
    *) echo "this lake is proofmesh's stand-in: it knows env, build and --version; install Lean's own for '$1'" >&2
       exit 1 ;;
esac
"""
