"""The weights of a run on its broker: files in the object store, and the state that names the versions.

Inference nodes follow the state, and fetch a version's object by its name. Two programs publish: the learner
(`node.learner.learning.publisher`), which keeps several versions and pins those of evaluations, and self-play
(`node.play.serving`), which keeps one. Both store an object before they announce the state that names it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.protocol.messages import WeightsState

if TYPE_CHECKING:
    from common.bus import Bus

KEY = "weights"
"""Key of the run's state."""

Persist = Callable[[Callable[[], Awaitable[Any]], str], Awaitable[Any]]
"""Sends until the broker accepts, and logs each failure with a complaint: `common.bus.persistently` with the caller's
reason to give up."""


class NoRoomForWeights(RuntimeError):
    """The broker's disk cannot hold the versions. The text has the numbers; the caller adds what to do."""


async def store(bus: Bus, persist: Persist, name: str, file: Path, versions: int) -> None:
    """Store a weights file as an object, in a store that has room for `versions` files of its size.

    Raises NoRoomForWeights, OSError, and what `persist` raises when it gives up.
    """
    from common.bus import NoRoom

    async def put() -> None:
        # The broker refuses an object that does not fit, so the store grows first. A broker that has started again may
        # have forgotten that it grew, so each try asks for it.
        size = file.stat().st_size
        try:
            await bus.grow_objects(versions, size)
        except NoRoom as error:
            each = f"{size / 2**20:.0f} MiB each"
            raise NoRoomForWeights(
                f"the broker has no room for {versions} versions of the weights, {each} ({error})"
            ) from error
        await bus.put_object(name, file)

    await persist(put, "weights not stored yet")


async def announce(bus: Bus, persist: Persist, state: WeightsState) -> None:
    """Let inference nodes follow this state. Its objects must be stored. Raises what `persist` raises."""
    await persist(lambda: bus.put_state(KEY, state), "weights not announced yet")


def objects_of(state: WeightsState | None) -> set[str]:
    """Names of the objects in a state."""
    return {state.object_name, *(pin.object_name for pin in state.pinned)} - {""} if state else set()
