"""`proofmesh train STAGE`: one stage of training; `proofmesh train recipe FILE`: all of a recipe, by checkpoint.

    proofmesh train pretrain --run first --steps 300
    proofmesh train sft --start runs/first --data.sources transitions:traces.jsonl transitions:bank*0.5
    proofmesh train sft --ranks 2 --dry-run
    torchrun --nproc-per-node 8 -m node.training pretrain --preset small --data.streaming \\
        --data.sources text:hub:nvidia/Nemotron-CC-Math-v1/4plus
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common import config
from common.output.visible import say
from node.data.errors import InputError, NotFinite, TrainingError
from node.training.launch import launch, monitor
from node.training.settings import STAGES, StageSettings

USAGE = f"""proofmesh train STAGE [OPTIONS]      STAGE: {", ".join(STAGES)} (each has --help)
proofmesh train recipe FILE [OPTIONS]     all stages of a recipe, by checkpoint

The same command goes on where it was when it was stopped. --dry-run says what it would cost, --monitor serves a page
with the curves while it trains; `proofmesh ui --no-mesh` shows those of all runs."""


@dataclass
class Invocation:
    """A parsed command line."""

    stage: str
    settings: StageSettings
    dry_run: bool = False
    monitor: bool = False


def main(argv: Sequence[str]) -> int:
    """Run the command; returns its exit code: 1 if training cannot continue, 2 for bad input or settings."""
    arguments = list(argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if arguments else 2
    try:
        if arguments[0] == "recipe":
            from node.training.recipe import main as recipe

            return recipe(arguments[1:])
        if arguments[0] not in STAGES:
            raise InputError(f"no stage `{arguments[0]}`; there are {', '.join(STAGES)}, and recipe")
        return run(parsed(arguments[0], arguments[1:]), arguments)
    except config.ConfigError as error:
        return refuse(str(error), 2)
    except TrainingError as error:
        quiet = isinstance(error, NotFinite) and os.environ.get("RANK", "0") != "0"  # every rank knows, one says it
        return error.exit_code if quiet else refuse(str(error), error.exit_code)


def refuse(message: str, code: int) -> int:
    rank = os.environ.get("RANK")
    where = f" (rank {rank})" if rank not in (None, "0") else ""
    say(f"proofmesh train{where}: {message}", file=sys.stderr)
    return code


def parsed(stage: str, arguments: Sequence[str], default: StageSettings | None = None) -> Invocation:
    """Flags over defaults. Raises ConfigError; wrong flags and --help end the process."""
    import dataclasses
    import typing

    import tyro

    arg = tyro.conf.arg
    options = dataclasses.make_dataclass(
        "Options",
        [
            ("settings", typing.Annotated[StageSettings, arg(name="")]),
            ("dry_run", typing.Annotated[bool, arg(help="Print parameters, operations, memory and time, and end.")]),
            ("monitor", typing.Annotated[bool, arg(help="Serve a page with the curves while it trains.")]),
        ],
    )
    default = default or STAGES[stage]
    flags: typing.Any = tyro.cli(
        options,
        args=list(arguments),
        default=options(default, False, False),
        prog=f"proofmesh train {stage}",
        description=__doc__,
    )
    config.check_flags(flags.settings)
    return Invocation(stage, flags.settings, flags.dry_run, flags.monitor)


def explanation(error: str) -> str | None:
    """An explanation of torch's most common errors, with advice; None for others, whose traceback says more."""
    first = error.strip().partition("\n")[0]
    if re.search(r"out of memory", error, re.IGNORECASE):
        return f"{first}. Use smaller --micro-tokens, or --checkpoint-activations"
    if re.search(r"gloo|NCCL|closed by peer|Timed out waiting|process group", error):
        return f"another rank is gone, or did not answer in time ({first})"
    return None


def run(invocation: Invocation, arguments: Sequence[str]) -> int:
    """Run the stage in this process or as several ranks. Raises TrainingError."""
    stage, settings = invocation.stage, invocation.settings
    try:
        settings.rows(int(os.environ.get("WORLD_SIZE", settings.ranks)))
        settings.check()
    except ValueError as error:
        raise InputError(str(error)) from error
    if invocation.dry_run:
        from node.training.stage import dry_run

        say(*dry_run(stage, settings), sep="\n", indent="")
        return 0
    with monitor(settings.directory, wanted=invocation.monitor):
        return _train(stage, settings, arguments)


def _train(stage: str, settings: StageSettings, arguments: Sequence[str]) -> int:
    if settings.ranks > 1 and "RANK" not in os.environ:
        where = Path(settings.directory) / (settings.run or stage)
        return launch(["-m", "node.training", *arguments], settings.ranks, settings.threads, where)
    from node.training.stage import run_stage, summary

    begun = time.monotonic()
    try:
        metrics = run_stage(stage, settings)
    except RuntimeError as error:
        explained = None if isinstance(error, TrainingError) else explanation(str(error))
        if explained is None:
            raise
        raise TrainingError(explained) from error
    if os.environ.get("RANK", "0") == "0":
        say(summary(stage, metrics, time.monotonic() - begun))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
