"""Questions to programs of the user's: lake, elan, lean."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from node.lean.toolchain.problems import LeanProblem

ASK_SECONDS = 120.0
"""`lake env` takes seconds where it has to read a large workspace for the first time."""

TOOLCHAIN_VARIABLES = frozenset(
    {"ELAN_TOOLCHAIN", "LAKE", "LAKE_HOME", "LAKE_OVERRIDE_LEAN", "LEAN", "LEAN_AR", "LEAN_CC"}
    | {"LEAN_GITHASH", "LEAN_PATH", "LEAN_SRC_PATH", "LEAN_SYSROOT"}
)
"""What a shell inside `lake env` has set: it would answer for another project's toolchain (Lake unsets the same)."""

CREDENTIALS = "PROOFMESH_NATS_"
"""How the variables begin that hold the broker's user and password: other programs could read and print them."""


def without_toolchain(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment without another toolchain's traces, and without credentials."""
    return {
        name: value
        for name, value in environ.items()
        if name not in TOOLCHAIN_VARIABLES and not name.startswith(CREDENTIALS)
    }


def ask(command: Sequence[str], environ: Mapping[str, str], folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code, output and errors of a program. Raises LeanProblem when it cannot be run, or does not answer."""
    try:
        done = subprocess.run(
            command,
            env=dict(environ),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ASK_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        where = f" in {folder}" if folder else ""
        raise LeanProblem(f"`{' '.join(command)}`{where} gave no answer in {ASK_SECONDS:g} s: run it by hand") from None
    except OSError as error:
        raise LeanProblem(f"{command[0]} cannot be run: {error.strerror}") from error
    return done.returncode, done.stdout, done.stderr
