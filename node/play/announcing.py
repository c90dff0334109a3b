"""Loads new weights of a language model into its servers, and announces them to inference nodes that follow the run.

A model in a folder, or an adapter on servers, has a different name for each version. So a node with an older version
does not answer requests for a new one, and a restarted server does not know it. Whole weights on servers keep their
name. So all servers get new weights before any request needs them, and a restarted server must get them again: `serve`
does this on each call.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from common.bus import BusError, persistently
from common.protocol.messages import ModelFacts, ModelState, facts_of
from node.inference.models.follower import KEY
from node.llm import updating
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress
from node.llm.models import served_name
from node.play.publishing import ServingError

if TYPE_CHECKING:
    from common.bus import Bus

LOOK_EVERY = 0.2
"""Seconds between checks of the registry."""

PATIENCE = 1200.0
"""Seconds for inference nodes to start and to announce the new model, not counting time without a broker."""

STEP_SECONDS = 1200.0
"""Timeout of one step on one server: reloading the weights of a large model from a shared disk takes minutes."""

log = structlog.get_logger("models")


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
    log.info("model announced", version=version, model=name)
    return name


async def loaded(address: ModelAddress, checkpoint: HubAddress, label: str) -> ModelAddress:
    """The address of a checkpoint after it is loaded: into all servers of `address`, if it has servers. `label`: names
    this version there. Raises ServingError."""
    if not isinstance(address, ServerAddress):
        return checkpoint
    servers = updating.Servers(address, STEP_SECONDS, lambda text: log.info("servers", note=text))
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
