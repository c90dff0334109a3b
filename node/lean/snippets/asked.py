"""Snippets as messages: the client of the lean-proxies that check them, and the conversions to and from messages."""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets

import msgspec

from common.bus import Bus, BusError
from common.protocol import subjects
from common.protocol.messages import LeanCheckGone, LeanCheckReply, LeanCheckRequest, MessageError
from node.lean.snippets.snippet import Diagnostics, NoAnswer, QueueFull, Snippet, SnippetResult, Verdict

GRACE_SECONDS = 60.0
"""Seconds in addition to the limits of a snippet and of its verdict, for loading a header."""

RETRY_SECONDS = 1.0
"""Seconds before a retry, in the response to a client while the queue is full."""


class AskedSnippets:
    """Sends each snippet to one of a mesh's lean-proxies. Call `stop` at the end."""

    def __init__(
        self, bus: Bus, *, at_once: int, queue: float = math.inf, verify_seconds: float, patience: float
    ) -> None:
        """`at_once`: most snippets at lean-proxies at the same time. `queue`: most snippets that wait here. `patience`:
        most seconds for a snippet, its check included, while all lean-proxies are busy or none is connected."""
        self._bus = bus
        self._gate = asyncio.Semaphore(at_once)
        self._queue = queue
        self._verify_seconds = verify_seconds
        self._patience = patience
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
        """The result of a snippet. If this is cancelled, its lean-proxy gets LeanCheckGone. Raises NoAnswer."""
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
        request = request_of(snippet)
        # A lean-proxy queues one snippet behind each running one, so a snippet may have to wait for another one.
        timeout = 2 * (snippet.seconds + self._verify_seconds) + GRACE_SECONDS
        try:
            reply = await self._bus.ask(
                subjects.LEAN_CHECK, request, LeanCheckReply, timeout=timeout, patience=self._patience
            )
        except (BusError, MessageError) as error:
            raise NoAnswer(f"no lean-proxy has checked it: {error}") from error
        except asyncio.CancelledError:
            with contextlib.suppress(BusError):
                await self._bus.publish(subjects.LEAN_CHECK_GONE, LeanCheckGone(check_id=request.check_id))
            raise
        return result_of(reply)


def request_of(snippet: Snippet) -> LeanCheckRequest:
    """The request to check a snippet."""
    return LeanCheckRequest(
        check_id=secrets.token_hex(8),
        code=snippet.code,
        seconds=snippet.seconds,
        infotree=snippet.infotree,
        fresh=snippet.fresh,
        against=snippet.against,
        allow_own_syntax=snippet.allow_own_syntax,
    )


def snippet_of(request: LeanCheckRequest) -> Snippet:
    """The snippet of a request."""
    return Snippet(
        request.code,
        request.seconds,
        request.infotree,
        request.fresh,
        request.against,
        request.allow_own_syntax,
    )


def reply_of(result: SnippetResult) -> LeanCheckReply:
    """The reply with a result."""
    return LeanCheckReply(
        seconds=result.seconds,
        accepted=result.verdict.accepted,
        axioms=result.verdict.axioms,
        reason=result.verdict.reason,
        depends=result.verdict.depends,
        runs_code=result.verdict.runs_code,
        error=result.error,
        response=b"" if result.response is None else msgspec.json.encode(result.response),
        worker=result.diagnostics.repl_uuid,
        cpu_max=result.diagnostics.cpu_max,
        memory_max=result.diagnostics.memory_max,
    )


def result_of(reply: LeanCheckReply) -> SnippetResult:
    """The result of a reply."""
    return SnippetResult(
        reply.seconds,
        Verdict(reply.accepted, reply.axioms, reply.reason, reply.depends, reply.runs_code),
        reply.error,
        msgspec.json.decode(reply.response) if reply.response else None,
        Diagnostics(reply.worker, reply.cpu_max, reply.memory_max),
    )
