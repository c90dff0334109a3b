"""Trains the network of conjecturer and prover in a child process: our own with `proofmesh train sft`, a published
language model with `proofmesh train hf-sft`.

A training has a folder of its own for its data, NAME-data/, and its result, NAME/, beside its output, NAME.log. All its
paths are relative, so that a run's folder can be moved. A stopped training of a name is resumed; the result of a
finished one is returned at once.
"""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from common import config
from common.files import write_whole
from common.life.process import kill_group, spawn_child
from node.data.grammar import PAIRS
from node.data.reading import write_pairs
from node.data.rows import Pair
from node.llm.address import HubAddress
from node.model.checkpoint_folders import newest_whole
from node.stp.records import ConjecturerExample, ProverExample, StpError
from node.stp.settings import DEFAULTS, HF_SFT, SFT
from node.training.recipe import flags
from node.training.settings import StageSettings
from node.tuning.settings import SftSettings

PROOFS, CONJECTURES = "proofs.jsonl", "conjectures.jsonl"
"""Files of the data of `sft`."""

ROWS = "pairs.jsonl"
"""File of the data of `hf-sft`."""

MODEL = "model"
"""Folder of a model that `hf-sft` has trained, in the folder of the training."""

LAST_LINES = 5
"""Last lines of a failed training's output that its error shows."""


async def trained(name: str, folder: Path, arguments: Sequence[str], result: Callable[[], Path]) -> Path:
    """Run a training's process in the folder of the trainings, and return its `result`. If the caller is cancelled, the
    process is terminated. Raises StpError."""
    log = folder / f"{name}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            process = await spawn_child(
                [sys.executable, "-m", *arguments], cwd=folder, stdout=output, stderr=asyncio.subprocess.STDOUT
            )
            try:
                code = await process.wait()
            except asyncio.CancelledError:
                await kill_group(process, grace=20.0)  # time to write a checkpoint
                raise
    except OSError as error:
        raise StpError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    if code:
        words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
        raise StpError(f"training {name} ended with exit code {code}; {log} ends with: " + " | ".join(words))
    return result()


# --- our own network --------------------------------------------------------------------------------------------------


async def train(
    name: str, folder: Path, settings: StageSettings, *, start: Path | None, sources: Sequence[str], seed: int
) -> Path:
    """Train our own network; returns the resulting checkpoint. `start`: the checkpoint to start from. Raises
    StpError."""
    # The order of rows depends on the source's name and must not depend on the location of the run's folder.
    relative = tuple(f"{kind}:{path.relative_to(folder)}*{rows}" for kind, path, rows in map(_parts, sources))
    stage = replace(
        settings,
        run=name,
        directory=".",
        start=str(start) if start else "",
        seed=seed,
        data=replace(settings.data, sources=relative),
    )

    def result() -> Path:
        checkpoint, problems = newest_whole(folder / name / "checkpoints")
        if checkpoint is None:
            raise StpError(
                f"training {name} left no undamaged checkpoint in {folder / name}: {problems}; see {folder / name}.log"
            )
        return checkpoint

    return await trained(name, folder, ["node.training", SFT, *flags(SFT, stage)], result)


def write_data(
    folder: Path, proofs: Iterable[ProverExample], conjectures: Iterable[ConjecturerExample]
) -> tuple[str, ...]:
    """Write the data of `sft`; returns its sources without empty ones. Raises StpError."""
    rows = {PROOFS: [prover_row(each) for each in proofs], CONJECTURES: [conjecturer_row(each) for each in conjectures]}
    sources = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, examples in rows.items():
            write_whole(folder / name, b"".join(msgspec.json.encode(row) + b"\n" for row in examples))
            if examples:
                sources.append(f"{name.removesuffix('.jsonl')}:{folder / name}*{len(examples)}")
    except OSError as error:
        raise StpError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    return tuple(sources)


def prover_row(example: ProverExample) -> dict[str, Any]:
    """A row of the source `proofs:` for `proofmesh train`."""
    theorem = example.theorem
    return {
        "name": theorem.name,
        "statement": theorem.signature,
        "proof": example.proof,
        "weight": example.weight,
        "conjectured": example.conjectured,
    }


def conjecturer_row(example: ConjecturerExample) -> dict[str, Any]:
    """A row of the source `conjectures:` for `proofmesh train`."""
    seed = example.seed
    return {
        "name": example.name or f"{seed.theorem.name}:{seed.lemma.name}",
        "lemma": seed.lemma.statement,
        "statement": seed.theorem.signature,
        "proof": seed.proof,
        "conjecture": example.conjecture,
        "weight": example.weight,
    }


def steps_for(sources: Sequence[str], settings: StageSettings, epochs: float, tokens_of: Callable[[str], int]) -> int:
    """Number of steps for this many epochs over all rows. `tokens_of` counts the tokens of a text."""
    tokens = 0
    for _, path, _ in map(_parts, sources):
        for line in path.read_bytes().splitlines():
            row = msgspec.json.decode(line)
            parts = (row.get(key, "") for key in ("lemma", "statement", "proof", "conjecture"))
            tokens += min(settings.length, tokens_of(" ".join(parts)))
    return max(1, math.ceil(epochs * tokens / settings.batch_tokens))


def _parts(source: str) -> tuple[str, Path, str]:
    """Kind, path and number of rows of a source."""
    kind, _, rest = source.partition(":")
    path, _, rows = rest.rpartition("*")
    return kind, Path(path), rows


# --- a published language model ---------------------------------------------------------------------------------------


async def tune(
    name: str, folder: Path, settings: SftSettings, *, model: HubAddress, rows: Sequence[Pair], seed: int
) -> Path:
    """Train a language model; returns the folder of the resulting model or adapter. `model`: the model to start from,
    with its template. Raises StpError."""
    data = folder / f"{name}-data" / ROWS
    try:
        data.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(write_pairs, data, rows)
    except OSError as error:
        raise StpError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error

    def result() -> Path:
        trained_model = folder / name / MODEL
        if not trained_model.is_dir():
            raise StpError(f"training {name} left no model in {trained_model}; see {folder / name}.log")
        return trained_model

    return await trained(name, folder, tuning_arguments(name, settings, model, seed), result)


def tuning_arguments(name: str, settings: SftSettings, model: HubAddress, seed: int) -> list[str]:
    """Module and arguments of a language model's training."""
    # --keep-out is empty, because the run's data does not contain its test statements.
    own = [str(model), "--data", f"{PAIRS}:{name}-data/{ROWS}", "--out", name, "--seed", str(seed), "--held-out", "0"]
    changed = _flags(config.table_of(DEFAULTS[HF_SFT]), config.table_of(settings), "")
    return ["node.command.cli", "train", HF_SFT, *own, "--keep-out", *changed]


def _flags(before: Mapping[str, Any], now: Mapping[str, Any], outer: str) -> Iterator[str]:
    """Command-line flags of `hf-sft` for the settings that differ from the defaults."""
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
