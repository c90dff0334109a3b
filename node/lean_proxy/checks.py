"""Handles `lean.check`: snippets of the verification service, on separate workers that start with the first snippet."""

from __future__ import annotations

import asyncio

from common.protocol.messages import Busy, Failure, LeanCheckGone, LeanCheckRequest, Message
from node.lean.snippets.asked import reply_of, snippet_of
from node.lean.snippets.checker import SnippetChecker
from node.lean.snippets.snippet import SnippetResult

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
        task = asyncio.create_task(self._checker.check(snippet_of(request)), name="snippet")
        self._open[request.check_id] = task
        try:
            return reply_of(await task)
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
