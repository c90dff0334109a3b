"""Publishes a checkpoint's weights as the version that all inference nodes of a run serve: writes a weights file, puts
it into the object store, and announces it in the run's state.

    python -m node.play.publishing CHECKPOINT FILE VERSION

writes the file in a child process, so that the caller needs no torch and its event loop is not blocked.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from common import weights
from common.bus import file_digest, persistently
from common.life.process import kill_group, spawn_child
from common.output.visible import say
from common.protocol.messages import WeightsState
from node.model.checkpoint_folders import short_digest
from node.model.weights_path import weights_at

if TYPE_CHECKING:
    from common.bus import Bus

STORED = 2
"""Versions that the object store must have room for: the new one is stored before the old one is deleted."""

log = structlog.get_logger("weights")


class ServingError(RuntimeError):
    """A checkpoint cannot be served; the text says why, and what to do."""


async def publish(bus: Bus, checkpoint: Path, version: int) -> None:
    """Announce a checkpoint or weights file as this version, which becomes the run's latest.

    The earlier version is deleted from the object store; nodes serve it from memory until they have the new one.
    Repeating the call for the same version, as after a crash of the run, changes nothing.

    Raises ServingError, CheckpointError (no checkpoint, or a damaged one), BusError, OSError.
    """
    if any(node.role == "learner" for node in await bus.nodes()):
        raise ServingError(
            f"run {bus.run!r} has a learner, and its inference nodes serve the learner's network; start self-play with "
            "another run name, or with a language model ([stp] model)"
        )
    path = await asyncio.to_thread(weights_at, checkpoint, log.warning)
    # The written file's own digest differs each time, so the object is named by the checkpoint's digest.
    name = f"weights-{version:06d}-{await asyncio.to_thread(short_digest, path)}"
    before = await bus.get_state(weights.KEY, WeightsState)
    if before is not None and (before.version, before.object_name) == (version, name):
        return
    if before is not None and before.version > version:
        raise ServingError(
            f"run {bus.run!r} already serves version {before.version} of the weights, so {checkpoint} cannot be "
            f"version {version}; if this is another run's state, begin a run of another name"
        )
    persist = partial(persistently, until=bus.given_up.is_set)
    with tempfile.TemporaryDirectory(prefix="proofmesh-weights-") as folder:
        file = Path(folder) / "weights.safetensors"
        await _write(path, file, version)
        digest = await asyncio.to_thread(file_digest, file)
        try:
            await weights.store(bus, persist, name, file, STORED)
        except weights.NoRoomForWeights as error:
            raise ServingError(f"{error}; raise [broker] max_store_mb, if its disk has room") from error
    # Old objects are deleted before the new one is announced. After a crash between the two, the next call still finds
    # the old state and its objects, so that none are left behind.
    for old in weights.objects_of(before) - {name}:
        await bus.delete_object(old)
    state = WeightsState(version=version, digest=digest, object_name=name)
    await weights.announce(bus, persist, state)
    log.info("weights announced", version=version, checkpoint=str(path))


async def _write(path: Path, file: Path, version: int) -> None:
    """Write the weights file in a child process. Raises ServingError."""
    command: list[str | Path] = [sys.executable, "-m", "node.play.publishing", path, file, str(version)]
    child = await spawn_child(command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    try:
        _, errors = await child.communicate()
    finally:
        await kill_group(child, grace=0)
    if child.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise ServingError(f"the weights of {path} cannot be written: {lines[-1] if lines else child.returncode}")


def main(argv: Sequence[str]) -> int:
    """Write a checkpoint's weights and version as one file; an error is one line on standard error."""
    import torch

    from node.model import weights as files
    from node.model.checkpoint_folders import CheckpointError
    from node.model.loading import read_weights

    path, file, version = argv
    torch.set_num_threads(1)
    try:
        loaded = read_weights(Path(path))
        files.write(Path(file), loaded.model, loaded.tokenizer, loaded.information | {"version": version})
    except (files.WeightsError, CheckpointError, OSError) as error:
        say(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
