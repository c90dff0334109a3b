"""The event loop of rewards. It runs in a separate thread, which starts with the first reward of a process.

So a reward can be called from scripts, from several threads, and from notebooks, which have a running loop already. A
forked or spawned process starts a new loop. All rewards of a process that use the same place share a desk.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from node.rewards.asking import Desk, Where, open_desk

T = TypeVar("T")

STOP_SECONDS = 5.0
"""Most seconds for Lean processes and connections to end at the exit of this process."""


class Home:
    """A running event loop with its desks."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._desks: dict[str, Desk] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        threading.Thread(target=self.loop.run_forever, name="lean-rewards", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Schedules work in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    async def desk(self, where: Where) -> Desk:
        """The desk of a place; call it in the loop. Raises Unavailable; the next call tries again."""
        key = f"{where!r} {where.api_key}"
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._desks:
                self._desks[key] = await open_desk(where)
        return self._desks[key]

    async def close(self) -> None:
        """Ends all processes and connections; call it in the loop."""
        desks, self._desks = list(self._desks.values()), {}
        await asyncio.gather(*(desk.stop() for desk in desks), return_exceptions=True)


_lock = threading.Lock()
_home: Home | None = None


def home() -> Home:
    """The loop of this process."""
    global _home
    with _lock:
        if _home is None:
            _home = Home()
        return _home


def close() -> None:
    """Ends the Lean processes and connections of this process's rewards. A later reward call starts new ones."""
    if _home is not None:
        with contextlib.suppress(Exception):
            _home.submit(_home.close()).result(STOP_SECONDS)


def _forget() -> None:
    """Drops the loop in a forked process: the thread does not exist there, and its resources belong to the parent."""
    global _home, _lock
    _home, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
atexit.register(close)
