"""Compares an evaluation that is killed several times with an undisturbed one.

    python -m scripts.studies.kills [--kills 5] [--policy tactics] [--limit 160] [--lean-attempts 128]

Each kill is a SIGKILL to the whole process group, when another share of the attempts has ended. Exit code 0: every
attempt came to the same, with the same proof.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

from common.limits import Natural, Positive
from node.eval.folder import ATTEMPTS, read

LOOK_EVERY = 0.1
"""Seconds between looks at how many attempts have ended."""


@dataclass
class KillSettings:
    """An evaluation with and without kills."""

    kills: Positive = 5
    policy: str = "tactics"
    bench: str = "pocket:test"
    limit: Natural = 160
    """Statements; 0: all."""
    lean_attempts: Positive = 128
    seed: Natural = 0
    out: Path = Path("evals/kills")
    """Folder of both evaluations; those of an earlier call are deleted."""


def command(settings: KillSettings, folder: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "node.command.cli", "eval", "--bench", settings.bench, "--policy", settings.policy),
        *("--simulations", "0", "--lean-attempts", str(settings.lean_attempts), "--limit", str(settings.limit)),
        *("--seed", str(settings.seed), "--out", str(folder)),
    ]


def kill_at(settings: KillSettings, folder: Path, attempts: int) -> int:
    """Start the evaluation and kill it after a number of attempts; returns how many had ended."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command(settings, folder), start_new_session=True, **quiet)  # type: ignore[call-overload]
    while process.poll() is None and ended(folder) < attempts:
        time.sleep(LOOK_EVERY)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return ended(folder)


def ended(folder: Path) -> int:
    file = folder / ATTEMPTS
    return file.read_bytes().count(b"\n") if file.exists() else 0


def outcomes(folder: Path) -> dict[tuple[str, int], tuple[object, ...]]:
    """The outcome of every attempt, without its times."""
    return {
        (each.name, each.number): (
            each.standing,
            each.ended,
            each.script,
            each.statistics.simulations,
            each.statistics.solved_at_lean_attempts,
        )
        for each in read(folder).attempts
    }


def main() -> int:
    settings = tyro.cli(KillSettings, description=__doc__)
    whole, killed = settings.out / "whole", settings.out / "killed"
    shutil.rmtree(settings.out, ignore_errors=True)
    subprocess.run(command(settings, whole), stdout=subprocess.DEVNULL, check=True)
    expected = outcomes(whole)
    for number in range(1, settings.kills + 1):
        print(
            f"killed at {kill_at(settings, killed, len(expected) * number // (settings.kills + 1))} attempts",
            flush=True,
        )
    subprocess.run(command(settings, killed), stdout=subprocess.DEVNULL, check=True)
    found = outcomes(killed)
    different = sorted(key for key in expected.keys() | found.keys() if expected.get(key) != found.get(key))
    print(f"{len(expected)} attempts without a kill, {len(found)} with {settings.kills}; {len(different)} differ")
    for key in different:
        print(f"  {key}: {expected.get(key)} and {found.get(key)}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
