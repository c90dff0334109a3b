"""Trains the language model of conjecturer and prover with `proofmesh train hf-sft` in a child process."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from common import config
from node.data.grammar import PAIRS
from node.data.reading import write_pairs
from node.data.rows import Pair
from node.llm.address import HubAddress
from node.stp.records import StpError
from node.stp.training import LAST_LINES, run_child
from node.tuning.sft_settings import SftSettings

FILE = "pairs.jsonl"
"""File of a training's data, in NAME-data/."""

MODEL = "model"
"""Folder of the trained model, in the folder of a training."""

TUNING_OWN = ("model", "data", "out", "seed", "kind", "other_template", "keep_out", "held_out", "dry_run", "fresh")
"""Settings of a training that the run chooses."""


DEFAULTS = SftSettings(model="base")
"""Default settings of a training; the run chooses the model."""


def tuning_of(table: Mapping[str, Any], where: str) -> SftSettings:
    """Read a training's section of a recipe. Raises ConfigError."""
    return config.convert(SftSettings, config.merged(config.table_of(DEFAULTS), table), where)


async def tune(
    name: str, folder: Path, settings: SftSettings, *, model: HubAddress, rows: Sequence[Pair], seed: int
) -> Path:
    """Train, and return the folder of the resulting model or adapter. A stopped training of this name is resumed; the
    result of a finished one is returned at once.

    `model`: the model to start from, with its template. `folder`: gets NAME-data/, NAME/ and NAME.log. Raises StpError.
    """
    data, log = folder / f"{name}-data" / FILE, folder / f"{name}.log"
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_pairs, data, rows)
        with log.open("ab") as output:
            code = await run_child(command(name, settings, model, seed), folder, output)
    except OSError as error:
        raise StpError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    if code:
        words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
        raise StpError(f"training {name} ended with exit code {code}; {log} ends with: " + " | ".join(words))
    result = folder / name / MODEL
    if not result.is_dir():
        raise StpError(f"training {name} left no model in {result}; see {log}")
    return result


def command(name: str, settings: SftSettings, model: HubAddress, seed: int) -> list[str]:
    """The command line of a training, to be run in the folder of the trainings. Its paths are relative, so that a run's
    folder can be moved."""
    # --keep-out is empty, because the run's data does not contain its test statements.
    own = [str(model), "--data", f"{PAIRS}:{name}-data/{FILE}", "--out", name, "--seed", str(seed), "--held-out", "0"]
    return [sys.executable, "-m", "node.command.cli", "train", "hf-sft", *own, "--keep-out", *flags(settings)]


def flags(settings: SftSettings) -> list[str]:
    """Command-line flags for the settings that differ from the defaults."""
    return list(_flags(config.table_of(DEFAULTS), config.table_of(settings), ""))


def _flags(before: Mapping[str, Any], now: Mapping[str, Any], outer: str) -> Iterator[str]:
    for key, value in now.items():
        if isinstance(value, Mapping):
            # Only the adapter's flags have a prefix.
            yield from _flags(before.get(key) or {}, value, "lora" if key == "lora" else "")
        elif before.get(key) != value:
            name = (outer if key == "on" else f"{outer}.{key}" if outer else key).replace("_", "-")
            if isinstance(value, bool):
                yield f"--{name}" if value else f"--no-{name}"
            elif isinstance(value, list | tuple):
                yield from (f"--{name}", *map(str, value))
            else:
                yield from (f"--{name}", str(value))
