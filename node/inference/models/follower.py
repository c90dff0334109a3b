"""Follows the language model that a run announces: tells a serving node which model to serve."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from common.bus import BusError
from common.life.waiting import unless_stopped
from common.protocol.messages import ModelState
from node.llm.address import BadModel, HubAddress, ModelAddress, ServerAddress
from node.llm.models import parse_served

if TYPE_CHECKING:
    from types import TracebackType

    from common.life.node import NodeContext

KEY = "model"
"""Key of the announcement in the run's state."""

STATE_RETRY = 0.5
"""Seconds between attempts to read the run's buckets, while the broker is still creating them."""


class ModelFollower:
    """Watches the run's announcements of models.

    async with ModelFollower(own, folder, context) as follower:
        address, until = follower.turn()    # serve this until the event is set, then call `turn` again
    """

    def __init__(self, own: ModelAddress, folder: str, context: NodeContext) -> None:
        """`own`: the model, and its servers, to serve until the run announces one; `folder`: announced model folders
        must be below it."""
        self._own, self._folder = own, Path(folder)
        self._context = context
        self._current = own
        self._heard = asyncio.Event()
        self._changed = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ModelFollower:
        """Begin to follow. Returns when the run's current announcement, if any, has been read."""
        context = self._context
        self._watch = context.spawn(self._follow(), "model")
        await unless_stopped(self._heard.wait(), context.stopping)
        context.spawn(self._until_stopped(), "model until the end")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def turn(self) -> tuple[ModelAddress, asyncio.Event]:
        """The model to serve now, and an event that is set when another model is announced or the node stops."""
        self._changed = asyncio.Event()
        if self._context.stopping.is_set():
            self._changed.set()
        return self._current, self._changed

    async def _follow(self) -> None:
        """Watch the key, once the broker has the run's buckets."""
        while True:
            try:
                watch = await self._context.bus.watch_state(KEY, ModelState, self._announced)
            except BusError as error:
                self._context.log.info("waiting for the run's state", key=KEY, reason=str(error))
                await asyncio.sleep(STATE_RETRY)
            else:
                break
        try:
            await asyncio.Event().wait()
        finally:
            await watch.unsubscribe()

    async def _until_stopped(self) -> None:
        await self._context.stopping.wait()
        self._changed.set()

    def _announced(self, state: ModelState | None) -> None:
        """Handle an announcement. None (no announcement) is ignored."""
        if state is not None:
            try:
                address = announced(self._own, self._folder, state)
            except BadModel as error:
                self._context.health("announced model", str(error))
                self._context.log.error("announced model not served", version=state.version, reason=str(error))
            else:
                self._context.health("announced model", None)
                if address != self._current:
                    self._current = address
                    self._changed.set()
        self._heard.set()


def announced(own: ModelAddress, folder: Path, state: ModelState) -> ModelAddress:
    """The address of an announced model, for a node that was started with the model `own`. Raises BadModel if this node
    may not serve it."""
    address = parse_served(state.model)
    if isinstance(own, ServerAddress) and isinstance(address, ServerAddress):
        return replace(own, model=address.model)
    if isinstance(own, HubAddress) and isinstance(address, HubAddress):
        for name in filter(None, (address.model, address.adapter)):
            if name not in (own.model, own.adapter) and not _is_below(Path(name), folder):
                raise BadModel(
                    f"version {state.version}, `{state.model}`, is not below {folder}: set [inference] follow"
                )
        return replace(address, template=own.template)
    raise BadModel(f"version {state.version}, `{state.model}`, is of another kind than this node's `{own.identity}`")


def _is_below(path: Path, folder: Path) -> bool:
    return path.expanduser().resolve().is_relative_to(folder.expanduser().resolve())
