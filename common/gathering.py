"""Collects proofs that are found shortly after each other, so that a lean-proxy verifies them in one batch."""

from __future__ import annotations

import asyncio

from common.life.waiting import wait_first


class Gathering:
    """The first caller of `wait` opens a time window. When the window closes, all waiting callers go on together."""

    def __init__(self, seconds: float, stopping: asyncio.Event) -> None:
        """`seconds`: length of a window; 0: `wait` returns at once, as it does while `stopping` is set."""
        self._seconds = seconds
        self._stopping = stopping
        self._window: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait until the open window closes. Opens one if there is none."""
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
        """Close the open window, if there is one: no further caller will come."""
        if self._window is not None:
            self._window.set()
            self._window = None
