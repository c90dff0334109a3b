"""A recipe: a TOML file that chains stages by checkpoint.

    [recipe]   name, directory, stages
    [all]      settings that every stage has
    [pretrain], [midtrain], [sft]   one stage's own; each starts from the one before
    [rl]       reinforcement learning from the last checkpoint: minutes, a mesh file, [rl.learner] over its [learner]

Finished stages are skipped, so the same command continues where it stopped. `proofmesh train STAGE` runs one stage.
"""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from common import config
from common.config import ConfigError
from common.files import recipe
from common.life.process import kept
from common.output.visible import say
from node.data.errors import InputError, TrainingError
from node.training.launch import monitor
from node.training.settings import STAGES, StageSettings

RL = "rl"
ORDER = (*STAGES, RL)
TABLES = ("recipe", "all", *ORDER)


@dataclass
class RecipeSettings:
    """The recipe as a whole."""

    name: str = "recipe"
    """Begins the names of its runs: NAME-pretrain, ..."""
    directory: str = "runs"
    """Folder of the run directories."""
    stages: tuple[str, ...] = tuple(STAGES)
    """Which stages, in this order."""


@dataclass
class RecipeOptions:
    """All stages of a recipe, by checkpoint."""

    file: Path
    """The recipe, a TOML file such as scripts/recipes/scratch.toml."""
    dry_run: bool = False
    """Print what each stage would cost, and end."""
    monitor: bool = False
    """Serve a page with the curves while the stages train. The mesh of [rl] has its own, which shows them, too."""


@dataclass(frozen=True)
class Recipe:
    """A recipe that was read."""

    settings: RecipeSettings
    stages: dict[str, StageSettings]
    """In order; each starts from the run of the one before."""
    rl: dict[str, Any] | None
    """Settings of the learner, if it is to run."""


def read(file: Path) -> Recipe:
    """Raises ConfigError."""
    content = config.read_toml(file)
    for name in content:
        if name not in TABLES:
            raise ConfigError(f"{file}: [{name}]: unknown section; there are {', '.join(TABLES)}")
    settings = config.convert(RecipeSettings, content.get("recipe", {}), f"{file}: [recipe]")
    for stage in settings.stages:
        if stage not in ORDER:
            raise ConfigError(f"{file}: [recipe] stages: no stage `{stage}`; there are {', '.join(ORDER)}")
    if RL in settings.stages and (settings.stages[-1] != RL or len(settings.stages) == 1):
        raise ConfigError(f"{file}: [recipe] stages: `{RL}` comes last, after a stage")
    stages: dict[str, StageSettings] = {}
    previous = ""
    for stage in settings.stages:
        if stage == RL:
            continue
        table: dict[str, Any] = config.merged(
            config.merged(config.table_of(STAGES[stage]), content.get("all", {})), content.get(stage, {})
        )
        found = config.convert(StageSettings, table, f"{file}: [{stage}]")
        run = found.run or f"{settings.name}-{stage}"
        start = found.start or previous
        stages[stage] = dataclasses.replace(found, run=run, start=start, directory=settings.directory)
        previous = str(Path(settings.directory) / run)
    check(content.get(RL, {}), f"{file}: [{RL}]")
    return Recipe(settings, stages, content.get(RL, {}) if RL in settings.stages else None)


def main(argv: Sequence[str]) -> int:
    """`proofmesh train recipe FILE [--dry-run] [--monitor]`. Raises ConfigError, TrainingError."""
    import tyro

    positional = (tyro.conf.PositionalRequiredArgs,)
    options = tyro.cli(RecipeOptions, args=list(argv), prog="proofmesh train recipe", config=positional)
    recipe = read(options.file)
    return _dry(recipe) if options.dry_run else run(recipe, watched=options.monitor)


def _dry(recipe: Recipe) -> int:
    from node.training.stage import dry_run

    for stage, settings in recipe.stages.items():
        there = not settings.start or Path(settings.start).exists()
        say(
            *dry_run(stage, settings if there else dataclasses.replace(settings, start="")),
            sep="\n",
            indent="",
            end="\n\n",
        )
    if recipe.rl is not None:
        say(f"rl from {recipe.stages[list(recipe.stages)[-1]].run}: {recipe.rl}")
    return 0


def run(recipe: Recipe, *, watched: bool = False) -> int:
    """Run every stage in a separate process, so that each starts with clean memory."""
    begun = time.monotonic()
    with monitor(recipe.settings.directory, wanted=watched):
        for stage, settings in recipe.stages.items():
            _run(stage, settings)
    last = list(recipe.stages.values())[-1]
    result = Path(last.directory) / last.run
    say(f"all stages: {time.monotonic() - begun:.0f} s; the result is in {result}")
    if recipe.rl is not None:
        return reinforce(recipe.settings.name, result, recipe.settings.directory, recipe.rl)
    return 0


def _run(stage: str, settings: StageSettings) -> None:
    command = [sys.executable, "-m", "node.training", stage, *flags(stage, settings)]
    # The stage ends with this process, however that ends: one that stayed would hold the run directory.
    if code := subprocess.run([*kept(), *command], check=False).returncode:
        raise (InputError if code == 2 else TrainingError)(
            f"{stage} ended with exit code {code}; the stages before it are done; the same command goes on there"
        )


def flags(stage: str, settings: StageSettings) -> list[str]:
    """Flags that give these settings: what differs from the stage's defaults."""
    return list(_flags(config.table_of(STAGES[stage]), config.table_of(settings), ""))


def _flags(before: Mapping[str, Any], now: Mapping[str, Any], outer: str) -> list[str]:
    found: list[str] = []
    for key, value in now.items():
        name = f"{outer}{key.replace('_', '-')}"
        if isinstance(value, Mapping):
            found += _flags(before.get(key) or {}, value, f"{name}.")
        elif before.get(key) != value:
            if isinstance(value, bool):
                found.append(f"--{name}" if value else f"--{outer}no-{key.replace('_', '-')}")
            elif isinstance(value, (list, tuple)):
                found += [f"--{name}", *map(str, value)]
            else:
                found += [f"--{name}", str(value)]
    return found


# ----------------------------------------------------------------------------------------------------------------------
# The last stage of a recipe: reinforcement learning goes on from a checkpoint, with a mesh on this machine.

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
        content = config.read_toml(file)
    except ConfigError as error:
        raise ConfigError(f"[rl] mesh = {error}") from error
    own, learner = settings.get("learner", {}), dict(content.get("learner", {}))
    # Its banks, whichever key they are under, are for the demo's warm start, which this network did not have.
    if file == DEMO or "bank" in own or "banks" in own:
        learner = {key: value for key, value in learner.items() if key not in ("bank", "banks", "budget_factors")}
    learner |= own
    learner["warm_start"] = {**learner.get("warm_start", {}), "checkpoint": str(checkpoint)}
    return {**content, "learner": learner}


def reinforce(name: str, result: Path, directory: str, settings: Mapping[str, Any]) -> int:
    """`proofmesh demo` from the newest checkpoint of `result`; its exit code. Raises ConfigError, InputError."""
    from node.training.stage import resolve

    file = result / "rl.toml"
    file.write_text(tomli_w.dumps(mesh(settings, resolve(str(result)).resolve())), encoding="utf-8")
    command = [sys.executable, "-m", "node.command.cli", "demo", "--run", f"{name}-rl", "--directory", directory]
    command += ["--recipe", str(file)]
    if "minutes" in settings:
        command += ["--minutes", str(settings["minutes"])]
    return subprocess.run(command, check=False).returncode
