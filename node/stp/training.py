"""Trains the single network of conjecturer and prover with `proofmesh train` in a child process."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from common.files import write_whole
from common.life.process import kill_group, spawn_child
from node.model.checkpoint_folders import newest_whole
from node.stp.records import ConjecturerExample, ProverExample, StpError
from node.training.recipe import flags
from node.training.settings import StageSettings

PROOFS, CONJECTURES = "proofs.jsonl", "conjectures.jsonl"
"""Files of a training's data."""

LAST_LINES = 5
"""Last lines of a failed training's output that its error shows."""


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


def write_data(
    folder: Path, proofs: Iterable[ProverExample], conjectures: Iterable[ConjecturerExample]
) -> tuple[str, ...]:
    """Write a training's data; returns its sources without empty ones. Raises StpError."""
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


def steps_for(sources: Sequence[str], settings: StageSettings, epochs: float, tokens_of: Any) -> int:
    """Number of steps for this many epochs over all rows. `tokens_of` counts the tokens of a text."""
    tokens = 0
    for source in sources:
        path = Path(source.partition(":")[2].rpartition("*")[0])
        for line in path.read_bytes().splitlines():
            row = msgspec.json.decode(line)
            parts = (row.get(key, "") for key in ("lemma", "statement", "proof", "conjecture"))
            tokens += min(settings.length, tokens_of(" ".join(parts)))
    return max(1, math.ceil(epochs * tokens / settings.batch_tokens))


async def train(
    name: str, folder: Path, settings: StageSettings, *, start: Path | None, sources: Sequence[str], seed: int
) -> Path:
    """Train, and return the resulting checkpoint. A stopped training of this name is resumed; the result of a finished
    one is returned at once.

    `folder`: gets NAME/ (a run directory of `proofmesh train`) and NAME.log. Raises StpError.
    """
    result = folder / name
    stage = replace(
        settings,
        run=name,
        directory=".",
        start=str(start) if start else "",
        seed=seed,
        data=replace(settings.data, sources=tuple(_seen_from(folder, source) for source in sources)),
    )
    log = folder / f"{name}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            code = await run_child([sys.executable, "-m", "node.training", "sft", *flags("sft", stage)], folder, output)
    except OSError as error:
        raise StpError(f"{error.filename or folder}: cannot be written ({error.strerror})") from error
    if code:
        words = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LAST_LINES:]
        raise StpError(f"training {name} ended with exit code {code}; {log} ends with: " + " | ".join(words))
    checkpoint, problems = newest_whole(result / "checkpoints")
    if checkpoint is None:
        raise StpError(f"training {name} left no undamaged checkpoint in {result}: {problems}; see {log}")
    return checkpoint


def _seen_from(folder: Path, source: str) -> str:
    """A source with its path relative to the folder. The order of rows depends on the source's name and must not depend
    on the location of the run's folder."""
    kind, _, rest = source.partition(":")
    path, _, weight = rest.rpartition("*")
    return f"{kind}:{Path(path).relative_to(folder)}*{weight}"


async def run_child(command: Sequence[str], folder: Path, output: Any) -> int:
    """Run a training's process; returns its exit code. If the caller is cancelled, the process is terminated."""
    process = await spawn_child(command, cwd=folder, stdout=output, stderr=asyncio.subprocess.STDOUT)
    try:
        return await process.wait()
    except asyncio.CancelledError:
        await kill_group(process, grace=20.0)  # time to write a checkpoint
        raise
