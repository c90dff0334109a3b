"""A small mesh for one command: a broker and some nodes as child processes, and the model that they serve."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from common.lean_settings import LeanSettings
from node.model.checkpoint_folders import newest_whole, none_whole

if TYPE_CHECKING:
    from common.bus import Bus
    from node.mesh.mesh import Mesh

START_SECONDS = 30.0
"""Patience with a private mesh's broker: it is there in half a second, or will not come."""

PRIVATE_RUN = "prove"

DEMO_RUN = Path("runs/demo")
"""Where a model is looked for when none is named."""


class MeshProblem(RuntimeError):
    """The mesh answered, but not with what was asked for; the text says what to do."""


@asynccontextmanager
async def private_mesh(
    checkpoint: str, lean: LeanSettings, *, fixed: bool, note: Callable[[str], None]
) -> AsyncIterator[tuple[Bus, Mesh]]:
    """Broker, lean-proxy and prover, and inference when there is a model; gone at the end of the block."""
    import tomli_w

    from broker import streams
    from common.bus import Bus
    from node.mesh.mesh import Mesh

    with tempfile.TemporaryDirectory(prefix="proofmesh-prove-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"] = folder  # for the nodes: so nothing of theirs stays behind
        weights = None if fixed else model_for(checkpoint, Path(folder), note)
        file = Path(folder) / "mesh.toml"
        file.write_text(tomli_w.dumps(configuration(Path(folder), weights, lean)), encoding="utf-8")
        note(f"starting a private mesh with {weights.name if weights else 'a fixed list of tactics'}")
        async with Mesh.from_file(file) as mesh:
            bus = await Bus.connect(mesh.bus, run=mesh.run, name="prove", wait=START_SECONDS)
            try:
                await streams.ensure(bus)
                yield bus, mesh
            finally:
                await bus.close()


def configuration(folder: Path, weights: Path | None, lean: LeanSettings) -> dict[str, dict[str, object]]:
    """The private mesh's file. Nothing is restarted: a node that dies ends the command with its last words.

    At the end all nodes are killed at once: nobody else uses them, and what they keep is below `folder`.
    """
    policy = "inference" if weights else "fixed"
    return {
        "run": {"name": PRIVATE_RUN, "dir": str(folder)},
        "up": {"learner": 0, "ui": 0, "inference": int(weights is not None), "restarts": 0, "grace": 0.0},
        "lean": dataclasses.asdict(lean),  # paths in it are from the folder that the nodes run in, too
        "broker": {"port": 0, "store": str(folder / "broker")},
        "prover": {"policy": policy, "searches": 1, "poll_seconds": 0.1, "drain_seconds": 0.0},
        **({"inference": {"weights": str(weights)}} if weights else {}),
    }


def model_for(checkpoint: str, folder: Path, note: Callable[[str], None]) -> Path | None:
    """A weights file that inference can serve: the one named, made from the checkpoint named, or the demo's newest.

    Raises MeshProblem when what was named cannot be read.
    """
    named = Path(checkpoint) if checkpoint else newest_checkpoint(note)
    if named is None:
        return None
    if named.is_file() and (named.parent / "state.json").exists():
        named = named.parent  # a file of a checkpoint stands for all of it: it holds no tokenizer
    if named.is_file():
        return named
    if not named.is_dir():
        raise MeshProblem(f"there is no weights file or checkpoint folder {named}")
    from node.model import checkpoint as checkpoints
    from node.model import weights

    try:
        loaded = checkpoints.load(named, optimizer=False)
    except (checkpoints.CheckpointError, OSError) as error:
        raise MeshProblem(f"cannot use the checkpoint {named}: {error}") from error
    target = folder / f"{named.name}.safetensors"
    weights.write(target, loaded.model, loaded.tokenizer)
    return target


def newest_checkpoint(note: Callable[[str], None]) -> Path | None:
    """The newest whole checkpoint of the demo's run; None if there is none at all. Damaged ones that are newer are
    passed over with a warning.

    Raises MeshProblem when there are checkpoints and none is whole.
    """
    root = DEMO_RUN / "checkpoints"
    newest, problems = newest_whole(root)
    if problems and newest is None:
        raise MeshProblem(f"{none_whole(root, problems)}; or name one with --checkpoint, or use --fixed")
    for problem in problems.values():
        note(f"warning: damaged checkpoint, {newest} is used in its place: {problem}")
    return newest
