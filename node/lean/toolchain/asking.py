"""Runs the user's lake, elan or lean and returns their output."""

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
"""Variables that `lake env` sets. If proofmesh was started in `lake env`, they would select that project's toolchain.
Lake itself unsets the same ones."""

CREDENTIALS = "PROOFMESH_NATS_"
"""Prefix of the variables with the broker's user and password: other programs could read and print them."""


def without_toolchain(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables of another toolchain and without credentials."""
    return {
        name: value
        for name, value in environ.items()
        if name not in TOOLCHAIN_VARIABLES and not name.startswith(CREDENTIALS)
    }


def ask(command: Sequence[str], environ: Mapping[str, str], folder: Path | None = None) -> tuple[int, str, str]:
    """Exit code, output and errors of a program. Raises LeanProblem if it does not start or exceeds ASK_SECONDS."""
    try:
        completed = subprocess.run(
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
        raise LeanProblem(
            f"`{' '.join(command)}`{where} did not finish in {ASK_SECONDS:g} s; run it by hand to see why"
        ) from None
    except OSError as error:
        raise LeanProblem(f"cannot run {command[0]}: {error.strerror}; check PATH and [lean] toolchain") from error
    return completed.returncode, completed.stdout, completed.stderr
