"""The service over lean-proxies: the same answers, and a client that leaves frees workers there."""

import asyncio
import contextlib

import aiohttp
import psutil
import pytest

from common.bus import Bus
from node.lean.snippets.asked import AskedSnippets
from node.serve.service import ServeSettings, make_application
from tests.node.serve.conftest import ACCEPTED, AXIOM, FOR_EVER, GOOD, Wire, opened
from tests.node.serve.kimina import client
from tests.waiting import eventually

pytestmark = [pytest.mark.broker, pytest.mark.lean]

WORKERS = 2
"""Of the lean-proxy that the suite starts."""


@pytest.fixture
async def wire(broker, run_name, lean_proxy):
    bus = await Bus.connect(broker, run=run_name, name="serve", wait=10)
    checker = AskedSnippets(bus, at_once=8, queue=100, verify_seconds=60, patience=600)
    application = make_application(ServeSettings(), checker).application()
    async with opened(application, ServeSettings()) as url, aiohttp.ClientSession() as http:
        yield Wire(http, url, checker)


async def test_answers_are_those_of_workers_of_its_own(wire):
    codes = (GOOD, "theorem t : 1 = 2 := rfl", AXIOM, "theorem t : 1 = 2 := by sorry", GOOD + "\n-- long" * 100_000)
    good, wrong, axiom, sorry, large = await wire.check(*codes, debug=True)
    assert good["verdict"] == ACCEPTED and good["diagnostics"]["repl_uuid"]
    assert [result["verdict"]["accepted"] for result in (wrong, axiom, sorry)] == [False] * 3
    assert axiom["verdict"]["axioms"] == ["magic"] and axiom["response"]["messages"][0]["severity"] == "error"
    assert sorry["response"]["sorries"][0]["goal"] == "⊢ 1 = 2"
    assert "no lean-proxy has checked it" in large["error"], "no message holds it"
    (stopped,) = await wire.check(FOR_EVER, timeout=1)
    assert stopped["error"] == "Lean REPL command timed out in 1.0 seconds"
    await asyncio.to_thread(client().KiminaClient(wire.url).test)


async def test_a_client_that_leaves_frees_the_workers_of_the_lean_proxies(wire):
    def used() -> dict[int, float]:
        """CPU seconds of the processes that this one has started, Lean's among them."""
        found = {}
        for each in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                found[each.pid] = each.cpu_times().user
        return found

    before = used()

    def busy() -> int:
        """Processes that have worked since then for longer than any good snippet takes."""
        return sum(seconds - before.get(pid, 0) > 0.3 for pid, seconds in used().items())

    async with aiohttp.ClientSession() as leaving:
        body = {"snippets": [{"id": str(number), "code": FOR_EVER} for number in range(4)], "timeout": 600}
        asked = asyncio.create_task(leaving.post(wire.url + "/api/check", json=body))
        await eventually(lambda: busy() == WORKERS)
        asked.cancel()
    await eventually(lambda: busy() == 0)
    (result,) = await wire.check(GOOD)
    assert result["verdict"]["accepted"]
