"""The cells of studies: each cell is one `proofmesh eval` in its own folder, so a study can be killed and resumed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from common.limits import Natural, Positive


@dataclass
class CellSettings:
    """Settings of all cells of a study."""

    out: Path
    """Folder of the evaluations."""
    bench: str = "pocket:test"
    limit: Natural = 160
    """Statements; 0: all."""
    lean_attempts: Positive = 128
    """Budget of each attempt: tactics, or whole proofs, that Lean tries."""


def play(settings: CellSettings, name: str, policy: str, method: str, *more: str) -> int:
    """Evaluate a cell, or continue its evaluation; returns the exit code, and reports it if it is not 0.
    `more`: further arguments of `proofmesh eval`."""
    command = [
        *(sys.executable, "-m", "node.command.cli", "eval", "--bench", settings.bench, "--policy", policy),
        *("--method", method, "--simulations", "0", "--lean-attempts", str(settings.lean_attempts)),
        *("--limit", str(settings.limit), "--out", str(settings.out / name), *more),
    ]
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code:
        print(f"{name}: exit code {code}; run the same command again to go on", file=sys.stderr)
    return code
