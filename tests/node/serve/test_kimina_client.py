"""Kimina's client from the registry works against the service as it is, and against one over lean-proxies: the same
answers, and a client that leaves frees workers there."""

import asyncio
import contextlib

import aiohttp
import psutil
import pytest

from common.bus import Bus
from node.lean.snippets.asked import AskedSnippets
from node.serve.service import ServeSettings, make_application
from tests.node.serve.conftest import ACCEPTED, AXIOM, FOR_EVER, GOOD, Wire, opened, service_without_lean
from tests.node.serve.kimina import client
from tests.waiting import eventually

pytestmark = pytest.mark.lean

WRONG = "theorem t : 1 = 2 := rfl"
SORRY = "theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := by sorry"


async def test_its_own_test_passes(wire):
    """The client that is not asynchronous runs its own over a mesh, below."""
    await client().AsyncKiminaClient(wire.url).test()


async def test_every_kind_of_result_has_the_status_that_it_should(wire):
    module = client()
    kimina = module.KiminaClient(wire.url, n_retries=1)
    texts = [GOOD, WRONG, SORRY, FOR_EVER, AXIOM]
    snippets = [module.Snippet(id=str(number), code=code) for number, code in enumerate(texts)]
    answer = await asyncio.to_thread(kimina.check, snippets, timeout=1, debug=True, show_progress=False)
    by_id = {result.id: result for result in answer.results}
    statuses = [by_id[snippet.id].analyze().status.value for snippet in snippets]
    assert statuses == ["valid", "lean_error", "sorry", "timeout_error", "lean_error"]
    assert by_id["3"].error == "Lean REPL command timed out in 1.0 seconds"
    assert by_id["2"].response["sorries"][0]["goal"] == "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
    assert by_id["0"].time > 0 and by_id["0"].diagnostics["memory_max"] > 2**20
    answer.analyze(1.0)  # its table takes every result


async def test_the_key_is_the_one_that_the_client_sends(monkeypatch):
    async with service_without_lean(api_key="right") as (_, url):
        module = client()
        wrong = module.KiminaClient(url, api_key="wrong", n_retries=1)
        with pytest.raises(RuntimeError):
            await asyncio.to_thread(wrong.health)
        (refused,) = (await asyncio.to_thread(wrong.check, GOOD, show_progress=False)).results
        assert refused.analyze().status.value == "server_error"

        monkeypatch.setenv("LEAN_SERVER_API_KEY", "right")
        right = module.KiminaClient(url)
        assert await asyncio.to_thread(right.health) == {"status": "ok"}
        (result,) = (await asyncio.to_thread(right.check, GOOD, show_progress=False)).results
        assert result.analyze().status.value == "valid"


async def test_readers_of_the_older_answers_see_what_is_proved(wire):
    module = client()
    from kimina_client.proof_utils import analyze_sample

    texts = [GOOD, WRONG, SORRY, AXIOM, "set_option warn.sorry false\n" + SORRY]
    body = module.VerifyRequestBody(codes=[{"custom_id": number, "proof": text} for number, text in enumerate(texts)])
    status, answer = await wire.post("/verify", body.model_dump())
    assert status == 200
    results = module.VerifyResponse.model_validate(answer).results
    samples = [analyze_sample(result) for result in results]
    assert [sample.is_valid_no_sorry for sample in samples] == [True, False, False, False, False]
    assert [sample.is_valid_with_sorry for sample in samples] == [True, False, True, False, True]
    assert [result["verdict"]["accepted"] for result in answer["results"]] == [True] + [False] * 4
    assert all(sample.time > 0 for sample in samples)


# --- over lean-proxies ------------------------------------------------------------------------------------------------
WORKERS = 2
"""Of the lean-proxy that the suite starts."""


@pytest.fixture
async def over_a_mesh(broker, run_name, lean_proxy):
    bus = await Bus.connect(broker, run=run_name, name="serve", wait=10)
    checker = AskedSnippets(bus, at_once=8, queue=100, verify_seconds=60, patience=600)
    application = make_application(ServeSettings(), checker).application()
    async with opened(application, ServeSettings()) as url, aiohttp.ClientSession() as http:
        yield Wire(http, url, checker)


async def test_answers_are_those_of_workers_of_its_own(over_a_mesh):
    wire = over_a_mesh
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


async def test_a_client_that_leaves_frees_the_workers_of_the_lean_proxies(over_a_mesh):
    wire = over_a_mesh

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
