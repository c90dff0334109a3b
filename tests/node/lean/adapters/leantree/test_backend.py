"""The `leantree` backend against our own server with pocket Lean and against servers that fail; what servers answer, as
outcomes."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import psutil
import pytest
from aiohttp import web

from common.lean import OutcomeKind, Step, Theorem
from common.life.process import kill_group, spawn_child
from node.lean.adapters.leantree import sessions as module
from node.lean.adapters.leantree.backend import LeanTreeBackend, outcome
from node.lean.adapters.leantree.protocol import TacticAnswer, decode
from node.lean.adapters.leantree.sessions import Sessions, State, UnknownProcess, UnknownState
from node.lean.backend import BackendDown, BackendFull, TacticBatch
from tests.node.lean.adapters.leantree.conftest import serving
from tests.node.lean.backends import on_loopback, started
from tests.waiting import eventually

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")
LOOP = "repeat (have := trivial)"


def backend_of(url: str, processes: int = 2) -> AbstractAsyncContextManager[LeanTreeBackend]:
    return started(LeanTreeBackend(url, processes=processes, queue=32))


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


ENDED = "Lean REPL process ended unexpectedly"
ERRORS = {
    "forgets": (2, "Branch 1 not found for process 1"),
    "killed": (1, f"{ENDED} (killed by SIGKILL)"),
    "dies": (9, f"{ENDED} (SIGSEGV)"),
    "eats": (9, "Lean REPL ran out of memory (INTERNAL PANIC)"),
}
"""What a server says of these tactics, and how often, before it proves them."""


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
        times, error = ERRORS.get(tactic, (0, ""))
        if self.tries[tactic] <= times:
            return web.json_response({"error": error}, status=500)
        return web.json_response({"value": []})


async def test_each_death_at_a_server_costs_its_tactic_only(monkeypatch):
    monkeypatch.setattr("node.lean.adapters.leantree.client.SLACK_SECONDS", 1.0)
    server = Elsewhere()
    tactics = ("dies", "trivial", "eats", "forgets", "killed", "never", "rfl")
    async with faulty(server.answer) as url, backend_of(url, processes=1) as backend:
        result = await backend.attempt(TacticBatch(Theorem("t", "", "True"), (), tactics, 0.1))
    assert kinds(result) == ["crashed", "proved", "memory", "proved", "proved", "timeout", "proved"]
    assert server.tries["dies"] == 2, "a death may be somebody else's kill, once"
    assert server.tries["forgets"] == 3, "what a server forgets is not the tactic's fault, however often"
    assert server.tries["trivial"] == 1, "what is settled is not tried again"


def answered(text: str):
    return outcome(decode(text.encode(), TacticAnswer))


def goal(type_: str) -> str:
    return f'{{"type": "{type_}", "hypotheses": []}}'


def test_places_that_are_named_count():
    found = answered(
        f'{{"value": [{{"branch_id": 1, "goals": [{goal("A")}], "positions": [1]}}, '
        f'{{"branch_id": 2, "goals": [{goal("P ?w")}, {goal("Nat")}], "positions": [0, 2]}}]}}'
    )
    assert found.layout == ((1,), (0, 2))


def test_what_cannot_be_put_together_again_is_an_error():
    pair = f"[{goal('P ?w')}, {goal('Nat')}]"
    found = answered(f'{{"value": [{{"branch_id": 1, "goals": {pair}}}, {{"branch_id": 2, "goals": {pair}}}]}}')
    assert found.kind is OutcomeKind.ERROR and "several groups" in found.message
    huge = "x" * 40_000
    assert answered(f'{{"value": [{{"branch_id": 1, "goals": [{goal(huge)}]}}]}}').kind is OutcomeKind.ERROR


WORDS = [
    ("Tactic application timed out.", OutcomeKind.TIMEOUT),
    ("REPL returned error: Lean error:\\n(deterministic) timeout at `whnf`", OutcomeKind.TIMEOUT),
    ("Search tactics (apply?, rw?, exact?, grind?) are not allowed.", OutcomeKind.REFUSED),
    ("`sorry` not allowed in `simpa`", OutcomeKind.REFUSED),
    ("REPL returned error: Lean error:\\nunknown identifier", OutcomeKind.ERROR),
    ("the theorem about timeouts does not hold", OutcomeKind.ERROR),
]


@pytest.mark.parametrize(("words", "kind"), WORDS)
def test_errors_of_other_servers_are_sorted_by_their_words(words, kind):
    assert answered(f'{{"error": "{words}"}}').kind is kind


STATE = State(Theorem("t", "", "True"), (), "⊢ True")


def test_idle_ones_are_taken_back_and_busy_ones_kept():
    sessions = Sessions(3, idle_seconds=10)
    idle, used, busy = (sessions.open(0.0) for _ in range(3))
    busy.open_requests = 1
    sessions.get(used.number, 8.0)
    assert sessions.expire(10.0) == [] and sessions.expire(10.5) == [idle.number]
    with pytest.raises(UnknownProcess, match="idle for too long"):
        sessions.get(idle.number, 11.0)
    assert sessions.expire(18.5) == [used.number] and len(sessions) == 1


def test_states_belong_to_their_session_and_the_oldest_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_STATES", 3)
    sessions = Sessions(2, idle_seconds=10)
    one, other = sessions.open(0.0), sessions.open(0.0)
    numbers = [one.add(STATE) for _ in range(4)]
    assert one.states == 3 and one.state(numbers[-1]) is STATE
    with pytest.raises(UnknownState, match="the last 3 are kept"):
        one.state(numbers[0])
    with pytest.raises(UnknownState, match="not found"):
        other.state(numbers[-1])
