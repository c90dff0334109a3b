"""The last stage of a recipe: reinforcement learning goes on from a checkpoint, with a mesh on this machine."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w

from common.config import ConfigError
from common.recipes import recipe

DEMO = recipe("demo")
"""The mesh that goes on, unless the recipe names another file."""

KEYS = ("minutes", "mesh", "learner")


def check(settings: Mapping[str, Any], where: str) -> None:
    """Raises ConfigError for keys that [rl] does not have."""
    for key in settings:
        if key not in KEYS:
            raise ConfigError(f"{where} {key}: unknown key; there are {', '.join(KEYS)}")


def mesh(settings: Mapping[str, Any], checkpoint: Path) -> dict[str, Any]:
    """The mesh's configuration: that of its file, the recipe's [rl.learner] over it, and the checkpoint to go on from.

    Raises ConfigError.
    """
    file = Path(settings.get("mesh", DEMO))
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"[rl] mesh = {file}: {error}") from error
    learner = {**content.get("learner", {}), **settings.get("learner", {})}
    learner["warm_start"] = {**learner.get("warm_start", {}), "checkpoint": str(checkpoint)}
    return {**content, "learner": learner}


def reinforce(name: str, result: Path, directory: str, settings: Mapping[str, Any]) -> int:
    """`proofmesh demo` from the newest checkpoint of `result`; its exit code. Raises ConfigError, InputError."""
    from node.training.beginning import resolve

    file = result / "rl.toml"
    file.write_text(tomli_w.dumps(mesh(settings, resolve(str(result)).resolve())), encoding="utf-8")
    command = [sys.executable, "-m", "node.command.cli", "demo", "--run", f"{name}-rl", "--directory", directory]
    command += ["--recipe", str(file)]
    if "minutes" in settings:
        command += ["--minutes", str(settings["minutes"])]
    return subprocess.run(command, check=False).returncode
