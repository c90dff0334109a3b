"""The runs of studies of reinforcement learning: each is one `proofmesh demo` with a recipe of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

CONTROL_RATE = 0.1
"""The control's factor of the learning rates: at the rate of reinforcement learning more steps on known proofs do harm
(docs/results.md)."""

Changes = Mapping[str, Mapping[str, Any]]
"""Table of a configuration ("learner.matchmaker") to the keys that differ."""

CONTROL: Changes = {"learner.trainer": {"rl_factor": CONTROL_RATE}}


def changed(content: dict[str, Any], changes: Changes) -> dict[str, Any]:
    """A configuration with some of its keys replaced; the given one stays as it is."""
    result: dict[str, Any] = json.loads(json.dumps(content))
    for path, keys in changes.items():
        section = result
        for name in path.split("."):
            section = section.setdefault(name, {})
        section.update(keys)
    return result


def learn(run: Path, seed: int, content: dict[str, Any], file: Path, *, minutes: float, control_of: Path | None) -> int:
    """Do a run, or continue it; returns its exit code. A finished run is skipped.

    `content` is its recipe, which is written to `file`. `control_of`: the finished run that takes as many steps; None:
    reinforcement learning for `minutes`.
    """
    if (run / "summary.json").exists():
        return 0
    if control_of is None:
        length = ["--minutes", str(minutes)]
    else:
        steps = json.loads((control_of / "summary.json").read_text())["train_steps"]
        length = ["--control", "--steps", str(steps)]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(tomli_w.dumps(content), encoding="utf-8")
    command = [
        *(sys.executable, "-m", "node.command.cli", "demo", "--recipe", str(file)),
        *("--run", run.name, "--directory", str(run.parent), "--seed", str(seed), "--port", "0", *length),
    ]
    return subprocess.run(command, check=False).returncode
