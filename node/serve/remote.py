"""Checks snippets with the lean-proxies of a mesh."""

from __future__ import annotations

import asyncio
import contextlib
import secrets

import msgspec

from common.bus import Bus, BusError
from common.protocol import subjects
from common.protocol.messages import LeanCheckGone, LeanCheckReply, LeanCheckRequest, MessageError
from node.lean.snippets.snippet import Diagnostics, QueueFull, Snippet, SnippetResult, Verdict, failed

GRACE_SECONDS = 60.0
"""Seconds in addition to the limits of a snippet and of its verdict, for loading a header."""

PATIENCE_SECONDS = 600.0
"""Seconds for which a snippet's request is repeated while all lean-proxies are busy, or none is connected."""

RETRY_SECONDS = 1.0
"""Seconds before a retry, in the response to a client while the queue is full."""


class BusChecker:
    """Sends each snippet to one of the lean-proxies. Call `stop` at the end."""

    def __init__(self, bus: Bus, *, at_once: int, queue: int, verify_seconds: float) -> None:
        """`at_once`: most snippets at lean-proxies at the same time. `queue`: most snippets that wait here."""
        self._bus = bus
        self._gate = asyncio.Semaphore(at_once)
        self._queue = queue
        self._verify_seconds = verify_seconds
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Snippets that wait to be sent."""
        return self._waiting

    def admit(self) -> None:
        """Raises QueueFull while more than `queue` snippets wait."""
        if self._waiting > self._queue:
            raise QueueFull(RETRY_SECONDS)

    async def check(self, snippet: Snippet) -> SnippetResult:
        """The result of a snippet. If this is cancelled, its lean-proxy gets LeanCheckGone."""
        self._waiting += 1
        try:
            await self._gate.acquire()
        finally:
            self._waiting -= 1
        try:
            return await self._ask(snippet)
        finally:
            self._gate.release()

    async def stop(self) -> None:
        """Leave the bus."""
        await self._bus.close()

    async def _ask(self, snippet: Snippet) -> SnippetResult:
        request = LeanCheckRequest(
            check_id=secrets.token_hex(8),
            code=snippet.code,
            seconds=snippet.seconds,
            infotree=snippet.infotree,
            fresh=snippet.fresh,
            against=snippet.against,
            allow_own_syntax=snippet.allow_own_syntax,
        )
        # A lean-proxy queues one snippet behind each running one, so a snippet may have to wait for another one.
        timeout = 2 * (snippet.seconds + self._verify_seconds) + GRACE_SECONDS
        deadline = timeout + PATIENCE_SECONDS
        try:
            reply = await self._bus.request_patiently(
                subjects.LEAN_CHECK, request, LeanCheckReply, timeout=timeout, deadline=deadline
            )
        except (BusError, MessageError) as error:
            return failed(0.0, f"no lean-proxy has checked it: {error}")
        except asyncio.CancelledError:
            with contextlib.suppress(BusError):
                await self._bus.publish(subjects.LEAN_CHECK_GONE, LeanCheckGone(check_id=request.check_id))
            raise
        return result(reply)


def result(reply: LeanCheckReply) -> SnippetResult:
    """Convert a reply of the bus to a result."""
    return SnippetResult(
        reply.seconds,
        Verdict(reply.accepted, reply.axioms, reply.reason, reply.depends, reply.runs_code),
        reply.error,
        msgspec.json.decode(reply.response) if reply.response else None,
        Diagnostics(reply.worker, reply.cpu_max, reply.memory_max),
    )
