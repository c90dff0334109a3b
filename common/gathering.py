"""Lets proofs that are found one after another go on together: a lean-proxy verifies these in one batch."""

from __future__ import annotations

import asyncio

from common.waiting import wait_first


class Gathering:
    """The first who waits opens a window; when it closes, all who have come go on."""

    def __init__(self, seconds: float, stopping: asyncio.Event) -> None:
        """`seconds`: length of a window; 0: nobody waits. While `stopping` is set, nobody waits."""
        self._seconds = seconds
        self._stopping = stopping
        self._window: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait until the window closes that is open now, or that this opens."""
        if self._seconds <= 0 or self._stopping.is_set():
            return
        if self._window is not None:
            await wait_first(self._window, self._stopping)
            return
        window = self._window = asyncio.Event()
        try:
            await wait_first(window, self._stopping, timeout=self._seconds)
        finally:
            window.set()
            if self._window is window:
                self._window = None

    def close(self) -> None:
        """Close the window that is open, if one is: nobody else can come."""
        if self._window is not None:
            self._window.set()
            self._window = None
