"""The verification service with pocket Lean, in this process, and a client that speaks the bare protocol."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from common.life.serving import scheme, served
from common.settings import WebSettings
from node.lean.snippets.checker import SnippetChecker
from node.lean.snippets.snippet import QueueFull, Snippet, SnippetResult, Verdict
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.serve.service import ServeSettings, make_application, make_checker
from tests.background import Background

SECONDS = 60
"""Limit of a snippet that is expected to end: far more than it takes on a busy machine."""

GOOD = "theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by exact ⟨h.2, h.1⟩"
AXIOM = "axiom magic : 1 = 2\ntheorem t : 1 = 2 := magic"
FOR_EVER = "set_option maxHeartbeats 0\ntheorem t : 1 = 2 := by repeat (have := trivial)"

ACCEPTED = {"accepted": True, "axioms": [], "reason": "", "depends": [], "runs_code": []}
"""The verdict on a snippet that is proved without axioms and depends on nothing of its own."""


class Wire:
    """Sends JSON as clients do, and keeps nothing."""

    def __init__(self, http: aiohttp.ClientSession, url: str, checker: SnippetChecker) -> None:
        self.http = http
        self.url = url
        self.checker = checker

    async def get(self, path: str, **options: Any) -> tuple[int, Any]:
        async with self.http.get(self.url + path, **options) as response:
            return response.status, await response.json()

    async def text(self, path: str) -> str:
        async with self.http.get(self.url + path) as response:
            return await response.text()

    async def post(self, path: str, body: Any, **options: Any) -> tuple[int, Any]:
        data = {"data": body} if isinstance(body, bytes) else {"json": body}
        if isinstance(body, bytes):
            options = {**options, "headers": {"Content-Type": "application/json", **options.get("headers", {})}}
        async with self.http.post(self.url + path, **data, **options) as response:
            return response.status, await response.json()

    async def check(self, *codes: str, timeout: float = SECONDS, **fields: Any) -> list[dict[str, Any]]:
        """The results of `/api/check`, numbered from 0."""
        snippets = [{"id": str(number), "code": code} for number, code in enumerate(codes)]
        status, answer = await self.post("/api/check", {"snippets": snippets, "timeout": timeout, **fields})
        assert status == 200, answer
        assert [result["id"] for result in answer["results"]] == [snippet["id"] for snippet in snippets]
        results: list[dict[str, Any]] = answer["results"]
        return results


@asynccontextmanager
async def service(workers: int = 2, **changes: Any) -> AsyncIterator[tuple[str, SnippetChecker]]:
    """A service on a free loopback port: its address, and what checks its snippets."""
    settings = ServeSettings(workers=workers, **changes)
    checker = make_checker(settings, LeanToolchain.pocket())
    async with opened(make_application(settings, checker).application(), settings) as url:
        yield url, checker


@asynccontextmanager
async def serving(workers: int = 2, **changes: Any) -> AsyncIterator[Wire]:
    """A service of the test's own, and a client."""
    async with service(workers, **changes) as (url, checker), aiohttp.ClientSession() as http:
        yield Wire(http, url, checker)


class Waiting:
    """Takes every snippet for proved, once `open` is set. No Lean is started."""

    def __init__(self, queue: int) -> None:
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = 0
        self.seen: list[Snippet] = []
        self._queue = queue

    def admit(self) -> None:
        if self.waiting > self._queue:
            raise QueueFull(1.0)

    async def check(self, snippet: Snippet) -> SnippetResult:
        self.seen.append(snippet)
        self.waiting += 1
        try:
            await self.open.wait()
        finally:
            self.waiting -= 1
        return SnippetResult(0.0, Verdict(True), response={"env": 0})

    async def stop(self) -> None:
        self.open.set()


@asynccontextmanager
async def opened(application: web.Application, settings: WebSettings) -> AsyncIterator[str]:
    async with served(application, settings, 0, drain_seconds=1, handler_cancellation=True) as runner:
        yield f"{scheme(settings)}://localhost:{runner.addresses[0][1]}"


@asynccontextmanager
async def service_without_lean(**changes: Any) -> AsyncIterator[tuple[Waiting, str]]:
    settings = ServeSettings(**changes)
    waiting = Waiting(settings.queue)
    async with opened(make_application(settings, waiting).application(), settings) as url:
        yield waiting, url


@pytest.fixture(scope="package")
def shared_service(background: Background) -> Iterator[tuple[str, SnippetChecker]]:
    """A service with two workers for all tests of this folder, in the thread of shared nodes. What a test measures of
    it (`/metrics`) may hold what others have asked."""
    with background.opened(service()) as served:
        yield served


@pytest.fixture
async def wire(shared_service: tuple[str, SnippetChecker]) -> AsyncIterator[Wire]:
    """A client of the shared service."""
    async with aiohttp.ClientSession() as http:
        yield Wire(http, *shared_service)
