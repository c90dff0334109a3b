"""The `leantree` backend against our own server with pocket Lean, and against servers that fail."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
import pytest
from aiohttp import web

from common.lean import Step, Theorem
from common.life.process import kill_group, spawn_child
from node.lean.adapters.leantree.backend import LeanTreeBackend
from node.lean.backend import BackendDown, BackendFull, TacticBatch
from tests.node.lean.adapters.leantree.conftest import serving
from tests.node.lean.backends import on_loopback
from tests.waiting import eventually

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")
LOOP = "repeat (have := trivial)"


@asynccontextmanager
async def backend_of(url: str, processes: int = 2, queue: int = 32) -> AsyncIterator[LeanTreeBackend]:
    backend = LeanTreeBackend(url, processes=processes, queue=queue)
    backend.start()
    try:
        yield backend
    finally:
        await backend.stop()


def kinds(result) -> list[str]:
    return [str(outcome.kind) for outcome in result.outcomes]


@pytest.mark.lean
async def test_a_server_without_a_free_process_is_busy(monkeypatch):
    monkeypatch.setattr("node.lean.adapters.leantree.backend.PROCESS_WAIT", 0.05)
    async with serving(processes=1) as (url, _), backend_of(url) as one, backend_of(url) as other:
        assert kinds(await one.attempt(TacticBatch(AND, (), ("intro h",), 10.0))) == ["goals"]
        with pytest.raises(BackendFull):
            await other.attempt(TacticBatch(AND))
        monkeypatch.setattr("node.lean.adapters.leantree.backend.IDLE_SECONDS", 0.05)
        await one.stop()
        assert (await other.attempt(TacticBatch(AND))).state


async def test_a_server_that_is_not_there_is_down_and_no_tactic_failed():
    async with backend_of("http://127.0.0.1:9") as backend:
        with pytest.raises(BackendDown, match="cannot be reached"):
            await backend.attempt(TacticBatch(AND, (), ("rfl",)))


async def start_server(port: int = 0, workers: int = 1) -> tuple[asyncio.subprocess.Process, str]:
    """`proofmesh leantree-server`, and its address."""
    argv = [sys.executable, "-m", "node.command.cli", "leantree-server", "--port", str(port), "--workers", str(workers)]
    child = await spawn_child(argv, stderr=asyncio.subprocess.PIPE)
    assert child.stderr is not None
    line = (await asyncio.wait_for(child.stderr.readline(), 120)).decode()
    assert "http://" in line, line
    return child, line.split()[2].rstrip(",")


@pytest.mark.lean
async def test_a_killed_server_is_down_until_it_is_there_again_and_a_stopped_one_answers_what_is_open():
    child, url = await start_server()
    async with backend_of(url) as backend:
        try:
            intro = Step("intro h")
            assert kinds(await backend.attempt(TacticBatch(AND, (), ("intro h",), 10.0))) == ["goals"]
            open_ = asyncio.create_task(backend.attempt(TacticBatch(AND, (intro,), (LOOP,), 60.0)))
            await eventually(lambda: backend._busy == 1)
            await kill_group(child, grace=0)
            with pytest.raises(BackendDown, match="cannot be reached"):
                await open_
            child, again = await start_server(int(url.rpartition(":")[2]))
            assert again == url
            # Nothing of the old server's numbers is used: the path is walked once more.
            result = await backend.attempt(TacticBatch(AND, (intro,), ("exact ⟨h.2, h.1⟩",), 10.0))
            assert kinds(result) == ["proved"] and backend.restarts >= 1
            workers = psutil.Process(child.pid).children(recursive=True)
            assert workers
            open_ = asyncio.create_task(backend.attempt(TacticBatch(AND, (intro,), (LOOP,), 0.5)))
            await eventually(lambda: backend._busy == 1)
            child.terminate()
            assert kinds(await open_) == ["timeout"] and await asyncio.wait_for(child.wait(), 30) == 0
            await eventually(lambda: not any(worker.is_running() for worker in workers))
        finally:
            await kill_group(child, grace=0)


# --- servers of others: what they do wrong is played by a few lines of aiohttp in front of our own ------------------


@asynccontextmanager
async def faulty(answer) -> AsyncIterator[str]:
    """A server whose every request is answered by `answer(request)`."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    async with on_loopback(app, patience=0.1) as url:
        yield url


async def test_what_is_no_leantree_server_is_named():
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<html>welcome</html>", content_type="text/html")

    async with faulty(page) as url, backend_of(url) as backend:
        with pytest.raises(BackendDown, match=r"not a LeanTree server: its answer .* begins with b'<html>"):
            await backend.attempt(TacticBatch(AND))


class Elsewhere:
    """A LeanTree server that keeps its own habits: it dies of some tactics, forgets processes, never answers."""

    def __init__(self) -> None:
        self.processes = 0
        self.tries: dict[str, int] = {}

    async def answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        body = await request.json() if request.method == "POST" else {}
        if path == "/status":
            return web.json_response({"max_processes": 1})
        if path == "/process/get":
            self.processes += 1
            return web.json_response({"process_id": self.processes})
        if path.endswith("/proof_from_sorry"):
            return web.json_response({"value": {"branch_id": 1, "goals": [{"type": "True", "hypotheses": []}]}})
        if path.endswith("/try_apply_tactic"):
            return await self.tactic(body["tactic"])
        return web.json_response({"status": "ok"})

    async def tactic(self, tactic: str) -> web.Response:
        self.tries[tactic] = self.tries.get(tactic, 0) + 1
        if tactic == "never":
            await asyncio.Event().wait()
        if tactic == "forgets" and self.tries[tactic] == 1:
            return web.json_response({"error": "Branch 1 not found for process 1"}, status=500)
        if tactic == "killed" and self.tries[tactic] == 1:
            return web.json_response({"error": "Lean REPL process ended unexpectedly (killed by SIGKILL)"}, status=500)
        if tactic == "dies":
            return web.json_response({"error": "Lean REPL process ended unexpectedly (SIGSEGV)"}, status=500)
        if tactic == "eats":
            return web.json_response({"error": "Lean REPL ran out of memory (INTERNAL PANIC)"}, status=500)
        return web.json_response({"value": []})


async def test_each_death_at_a_server_costs_its_tactic_only(monkeypatch):
    monkeypatch.setattr("node.lean.adapters.leantree.client.SLACK_SECONDS", 1.0)
    server = Elsewhere()
    tactics = ("dies", "trivial", "eats", "forgets", "killed", "never", "rfl")
    async with faulty(server.answer) as url, backend_of(url, processes=1) as backend:
        result = await backend.attempt(TacticBatch(Theorem("t", "", "True"), (), tactics, 0.1))
    assert kinds(result) == ["crashed", "proved", "memory", "proved", "proved", "timeout", "proved"]
    assert server.tries["dies"] == 2, "a death may be somebody else's kill, once"
    assert server.tries["trivial"] == 1, "what is settled is not tried again"
