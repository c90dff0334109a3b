"""Has a trained network or language model served: by all inference nodes of a run, or by the servers of a model.

A network's weights are written into a file, put into the object store, and announced in the run's state.

    python -m node.play.serving CHECKPOINT FILE VERSION

writes the file in a child process, so that the caller needs no torch and its event loop is not blocked.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from common import weights
from common.bus import BusError, persistently
from common.files import file_digest
from common.life.process import kill_group, spawn_child
from common.output.visible import say
from common.protocol.messages import ModelFacts, ModelState, WeightsState, facts_of
from node.inference.models import KEY
from node.llm import updating
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress
from node.llm.models import served_name
from node.model.checkpoint_folders import CheckpointError, short_digest, weights_at

if TYPE_CHECKING:
    from common.bus import Bus

STORED = 2
"""Versions that the object store must have room for: the new one is stored before the old one is deleted."""

weights_log = structlog.get_logger("weights")
models_log = structlog.get_logger("models")


class ServingError(RuntimeError):
    """A checkpoint cannot be served; the text says why, and what to do."""


async def publish(bus: Bus, checkpoint: Path, version: int) -> None:
    """Announce a checkpoint or weights file as this version, which becomes the run's latest.

    The earlier version is deleted from the object store; nodes serve it from memory until they have the new one.
    Repeating the call for the same version, as after a crash of the run, changes nothing.

    Raises ServingError, CheckpointError (no checkpoint, or a damaged one), BusError, OSError.
    """
    # 1. Is it this run's next version?
    if any(node.role == "learner" for node in await bus.nodes()):
        raise ServingError(
            f"run {bus.run!r} has a learner, and its inference nodes serve the learner's network; start self-play with "
            "another run name, or with a language model ([stp] model)"
        )
    path = await asyncio.to_thread(weights_at, checkpoint, weights_log.warning)
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
    # 2. Store it.
    persist = partial(persistently, until=bus.given_up.is_set)
    with tempfile.TemporaryDirectory(prefix="proofmesh-weights-") as folder:
        file = Path(folder) / "weights.safetensors"
        await _write(path, file, version)
        digest = await asyncio.to_thread(file_digest, file)
        try:
            await weights.store(bus, persist, name, file, STORED)
        except weights.NoRoomForWeights as error:
            raise ServingError(f"{error}; raise [broker] max_store_mb, if its disk has room") from error
    # 3. Announce it. Old objects are deleted before that: after a crash between the two, the next call still finds the
    #    old state and its objects, so that none are left behind.
    for old in weights.objects_of(before) - {name}:
        await bus.delete_object(old)
    state = WeightsState(version=version, digest=digest, object_name=name)
    await weights.announce(bus, persist, state)
    weights_log.info("weights announced", version=version, checkpoint=str(path))


async def _write(path: Path, file: Path, version: int) -> None:
    """Write the weights file in a child process. Raises ServingError."""
    command: list[str | Path] = [sys.executable, "-m", "node.play.serving", path, file, str(version)]
    child = await spawn_child(command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    try:
        _, errors = await child.communicate()
    finally:
        await kill_group(child, grace=0)
    if child.returncode:
        lines = errors.decode(errors="replace").strip().splitlines()
        raise ServingError(f"the weights of {path} cannot be written: {lines[-1] if lines else child.returncode}")


# ----------------------------------------------------------------------------------------------------------------------
# Loads new weights of a language model into its servers, and announces them to inference nodes that follow the run.
#
# A model in a folder, or an adapter on servers, has a different name for each version. So a node with an older version
# does not answer requests for a new one, and a restarted server does not know it. Whole weights on servers keep their
# name. So all servers get new weights before any request needs them, and a restarted server must get them again:
# `serve` does this on each call.


LOOK_EVERY = 0.2
"""Seconds between checks of the registry."""

PATIENCE = 1200.0
"""Seconds for inference nodes to start and to announce the new model, not counting time without a broker."""

STEP_SECONDS = 1200.0
"""Timeout of one step on one server: reloading the weights of a large model from a shared disk takes minutes."""


async def announce(bus: Bus, address: ModelAddress, checkpoint: HubAddress, version: int) -> str:
    """Make the whole mesh serve a checkpoint; returns the model name for requests.

    `address`: the model that the mesh's nodes serve at first, with its servers; `checkpoint`: folders that the nodes or
    servers see under the same path. Raises ServingError, BusError.
    """
    before = await bus.get_state(KEY, ModelState)
    if before is not None and before.version > version:
        raise ServingError(
            f"run {bus.run!r} already serves version {before.version} of its model, so {checkpoint} cannot be version "
            f"{version}; if this is another run's state, begin a run of another name"
        )
    name = served_name(await loaded(address, checkpoint, f"{bus.run}-{version}"))
    state = ModelState(version=version, model=name)
    await persistently(lambda: bus.put_state(KEY, state), "model not announced yet", until=bus.given_up.is_set)
    await _followed(bus, name)
    if isinstance(address, ServerAddress) and before is not None and before.model not in (name, served_name(address)):
        old = before.model.removeprefix("openai:")
        with suppress(updating.UpdateFailed):  # a restarted server does not have it
            await updating.remove_adapter(updating.Servers(address, STEP_SECONDS), old)
    models_log.info("model announced", version=version, model=name)
    return name


async def loaded(address: ModelAddress, checkpoint: HubAddress, label: str) -> ModelAddress:
    """The address of a checkpoint after it is loaded: into all servers of `address`, if it has servers. `label`: names
    this version there. Raises ServingError."""
    if not isinstance(address, ServerAddress):
        return checkpoint
    servers = updating.Servers(address, STEP_SECONDS, lambda text: models_log.info("servers", note=text))
    try:
        if not checkpoint.adapter:
            await updating.update_weights(servers, Path(checkpoint.model), label)
            return address
        updating.is_adapter(Path(checkpoint.adapter))
        name = updating.adapter_name(address.model, label)
        with suppress(updating.UpdateFailed):  # after a crash of the run, the adapter may be loaded already
            await updating.remove_adapter(servers, name)
        await updating.add_adapter(servers, Path(checkpoint.adapter), name)
    except (updating.UpdateFailed, BadModel) as error:
        raise ServingError(f"the weights {label} could not be loaded into the servers: {error}") from error
    return replace(address, model=name)


async def _followed(bus: Bus, name: str) -> None:
    """Wait until every inference node that serves a language model serves this one. Raises ServingError."""
    end = bus.connected_seconds() + PATIENCE
    while True:
        with suppress(BusError):
            served = facts_of(await bus.nodes(), ModelFacts)
            if served and all(facts.model == name for facts in served.values()):
                return
            if bus.connected_seconds() > end:
                raise ServingError(_behind(served, name))
        if bus.given_up.is_set():
            raise BusError("the connection to the broker was given up")
        await asyncio.sleep(LOOK_EVERY)


def _behind(served: dict[str, ModelFacts], name: str) -> str:
    behind = [f"{node_id} ({facts.model})" for node_id, facts in served.items() if facts.model != name]
    if not behind:
        return f"no inference node serves a language model after {PATIENCE:g} s; start one"
    return (
        f"some inference nodes do not serve {name} after {PATIENCE:g} s: {', '.join(behind)}; start them with "
        "[inference] follow, with access to the run's folder"
    )


# ----------------------------------------------------------------------------------------------------------------------
# The child process that writes a weights file.


def main(argv: Sequence[str]) -> int:
    """Write a checkpoint's weights and version as one file; an error is one line on standard error."""
    import torch

    from node.model import weights as files
    from node.model.checkpoint import read_weights

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
