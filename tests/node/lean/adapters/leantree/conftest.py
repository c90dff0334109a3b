"""A LeanTree server of ours with pocket Lean, in this process, and a client that speaks the bare protocol."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from node.lean.adapters.leantree.server import LeanTreeServer
from node.lean.adapters.leantree.service import LeanTreeServerSettings, make_server
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.background import Background
from tests.node.lean.backends import on_loopback

SETTINGS = LeanTreeServerSettings(lean=LeanProcessSettings(workers=1))


class Wire:
    """Sends JSON as LeanTree's own client does, and keeps nothing."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self.http = http
        self.url = url

    async def get(self, path: str) -> tuple[int, Any]:
        async with self.http.get(self.url + path) as response:
            return response.status, await response.json()

    async def post(self, path: str, body: Any = None, *, raw: bytes | None = None) -> tuple[int, Any]:
        data = {"data": raw, "headers": {"Content-Type": "application/json"}} if raw is not None else {"json": body}
        async with self.http.post(self.url + path, **data) as response:
            return response.status, await response.json()

    async def ok(self, path: str, body: Any = None) -> Any:
        status, answer = await self.post(path, body)
        assert status == 200, answer
        return answer

    async def process(self, header: str = "") -> int:
        number = (await self.ok("/process/get", {"blocking": True, "timeout": 30}))["process_id"]
        assert isinstance(number, int)
        if header:
            await self.ok(f"/process/{number}/command", {"command": header})
        return number

    async def theorem(self, process: int, text: str) -> tuple[int, list[dict[str, Any]]]:
        value = (await self.ok(f"/process/{process}/proof_from_sorry", {"theorem_with_sorry": text}))["value"]
        return value["proof_state_id"], value["goals"]

    async def tactic(self, process: int, state: int, tactic: str, timeout: int = 10_000) -> Any:
        path = f"/process/{process}/proof/{state}/try_apply_tactic"
        return await self.ok(path, {"tactic": tactic, "timeout": timeout})


@asynccontextmanager
async def serving(patience: float = 1.0, **changes: Any) -> AsyncIterator[tuple[str, LeanTreeServer]]:
    """A server on a free loopback port; gives its address."""
    server, _ = make_server(replace(SETTINGS, **changes), LeanToolchain.pocket(), patience=patience)
    async with on_loopback(server.application(), patience=5) as url:
        yield url, server


@pytest.fixture(scope="session")
def shared_server(background: Background) -> Iterator[tuple[str, LeanTreeServer]]:
    """A server with one warm worker and two processes, for the whole session."""
    with background.opened(serving(processes=2)) as served:
        yield served


@pytest.fixture
async def wire(shared_server: tuple[str, LeanTreeServer]) -> AsyncIterator[Wire]:
    """A client of the shared server, whose processes are given back at the end."""
    url, server = shared_server
    async with aiohttp.ClientSession() as http:
        yield Wire(http, url)
    for session in server.sessions.all():
        server.sessions.close(session.number)
