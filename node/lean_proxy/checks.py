"""Handles `lean.check`: snippets of the verification service, on separate workers that start with the first snippet."""

from __future__ import annotations

import asyncio

import msgspec

from common.protocol.messages import Busy, Failure, LeanCheckGone, LeanCheckReply, LeanCheckRequest, Message
from node.lean.snippets.checker import SnippetChecker
from node.lean.snippets.snippet import Snippet, SnippetResult

RETRY_SECONDS = 0.2
"""Seconds before a retry, at this or another lean-proxy, in the Busy reply while all workers have snippets."""


class Checks:
    """Handlers of `lean.check` and of `lean.check.gone`."""

    def __init__(self, checker: SnippetChecker) -> None:
        self._checker = checker
        self._open: dict[str, asyncio.Task[SnippetResult]] = {}

    async def check(self, request: LeanCheckRequest) -> Message:
        """Returns LeanCheckReply, Busy if one snippet waits for each worker, or Failure after LeanCheckGone."""
        if self._checker.waiting >= len(self._checker.workers):
            return Busy(retry_after=RETRY_SECONDS, reason="all workers have snippets")
        snippet = Snippet(
            request.code,
            request.seconds,
            request.infotree,
            request.fresh,
            request.against,
            request.allow_own_syntax,
        )
        task = asyncio.create_task(self._checker.check(snippet), name="snippet")
        self._open[request.check_id] = task
        try:
            return reply(await task)
        except asyncio.CancelledError:
            if not task.cancelled() or self._leaving():
                raise
            return Failure(reason="the client has left")
        finally:
            task.cancel()  # matters only if this handler was cancelled
            del self._open[request.check_id]

    def gone(self, _: str, message: LeanCheckGone) -> None:
        """Cancel a check whose client has left, which frees its worker at once."""
        if (task := self._open.get(message.check_id)) is not None:
            task.cancel()

    async def drained(self) -> None:
        """Wait until no snippet is open."""
        await asyncio.gather(*self._open.values(), return_exceptions=True)

    @staticmethod
    def _leaving() -> bool:
        current = asyncio.current_task()
        return current is not None and current.cancelling() > 0


def reply(result: SnippetResult) -> LeanCheckReply:
    """Convert a result to a reply for the bus."""
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
