"""What is bad is answered, each in its own words, and the rest goes on."""

import asyncio

import aiohttp
import pytest

from node.lean.snippets.checker import MOST_CHARACTERS, MOST_SORRIES
from tests.node.serve.conftest import ACCEPTED, FOR_EVER, GOOD, SECONDS, Wire, serving
from tests.waiting import eventually

pytestmark = pytest.mark.lean

BOMB = "theorem t : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"


async def test_each_bad_snippet_fails_alone(wire):
    """One that is stopped: test_kimina_client.py."""
    bad = {
        "-" * (MOST_CHARACTERS + 1): f"characters, more than {MOST_CHARACTERS}: split it",
        "#check sorry\n" * (MOST_SORRIES + 1): f"more than {MOST_SORRIES} `sorry`s: split it",
    }
    proved = asyncio.create_task(wire.check(*[GOOD] * 2))
    for result, says in zip(await wire.check(*bad), bad.values(), strict=True):
        assert says in result["error"] and "response" not in result
        assert result["verdict"]["accepted"] is False and says in result["verdict"]["reason"]
    for result in await proved:
        assert "error" not in result and result["verdict"] == ACCEPTED


async def test_a_snippet_that_eats_memory_is_ended_and_its_neighbours_are_not():
    async with serving(memory_mb=200) as wire:
        results = await wire.check(GOOD, BOMB, GOOD)
    says = "Lean REPL process exceeded its memory limit of 200 MB"
    assert [result.get("error", "") for result in results] == ["", says, ""]
    assert [result["verdict"]["accepted"] for result in results] == [True, False, True]


BODIES = [
    (b'{"snippets": [{"id": "a", "code": "\xff"}]}', 400, "not UTF-8"),
    (b'{"snippets": [{"id": "a", "code": "\\ud800"}]}', 422, "not JSON"),
    (b"", 422, "not JSON"),
    (b'{"snippets": [', 422, "not JSON"),
    (b'{"x": ' + b"[" * 100_000, 422, "not JSON"),
    (b"null", 422, "Expected `object`, got `null`"),
    ({"snippets": []}, 422, "must be non empty"),
    ({"snippets": [{"id": "a", "code": ""}] * 2}, 422, "must have unique ids"),
    ({"snippets": [{"id": "a"}]}, 422, "missing required field `code`"),
    ({"snippets": [{"id": 1, "code": ""}]}, 422, "Expected `str`, got `int`"),
    ({"snippets": [{"id": "a", "code": ""}], "timeout": "soon"}, 422, "$.timeout"),
    ({"snippets": [{"id": "a", "code": ""}], "timeout": -1}, 422, "$.timeout"),
    ({"snippets": [{"id": "a", "code": ""}], "infotree": "some"}, 422, "$.infotree"),
    ({}, 422, "missing required field `snippets`"),
    (b'{"snippets": "' + b"a" * 2**20 + b'"}', 413, "longer than 1048576 bytes"),
]


async def test_a_body_that_is_none_is_refused_with_what_is_wrong():
    async with serving(workers=1, max_body_mb=1) as wire:
        for body, status, says in BODIES:
            answered, answer = await wire.post("/api/check", body)
            assert answered == status and says in str(answer["detail"]), (body, answer)


async def test_the_older_address_takes_what_the_original_takes(wire):
    codes = [{"custom_id": 7, "code": GOOD}, {"custom_id": 7, "proof": GOOD, "code": "not this"}]
    status, answer = await wire.post("/one_pass_verify_batch", {"codes": codes, "timeout": SECONDS})
    assert status == 200 and [result["custom_id"] for result in answer["results"]] == ["7", "7"]
    assert all(result["verdict"]["accepted"] and result["response"]["time"] > 0 for result in answer["results"])
    assert await wire.post("/verify", {"codes": []}) == (200, {"results": []})
    status, answer = await wire.post("/verify", {"codes": [{"custom_id": "a"}]})
    assert status == 422 and "neither `proof` nor `code`" in str(answer)


async def test_every_address_asks_for_the_key():
    async with serving(workers=1, api_key="the key") as wire:
        for headers, says in (({}, "Missing"), ({"Authorization": "Bearer a key"}, "Invalid")):
            for path in ("/", "/health", "/metrics", "/nowhere"):
                assert await wire.get(path, headers=headers) == (401, {"detail": f"{says} API key"})
            assert (await wire.post("/api/check", b"", headers=headers))[0] == 401
        right = {"Authorization": "Bearer the key"}
        assert await wire.get("/", headers=right) == (200, {"status": "ok"})
        assert await wire.get("/nowhere", headers=right) == (404, {"detail": "Not Found"})
        assert await wire.get("/verify", headers=right) == (405, {"detail": "Method Not Allowed"})


async def test_when_too_many_wait_others_are_told_to_come_again_and_a_client_that_leaves_frees_its_workers():
    async with serving(workers=1, queue=2, client_share=1.0) as wire:
        before = await cancelled(wire)
        async with aiohttp.ClientSession() as leaving:
            body = {"snippets": [{"id": str(number), "code": FOR_EVER} for number in range(2)], "timeout": 600}
            asked = asyncio.create_task(leaving.post(wire.url + "/api/check", json=body))
            await eventually(lambda: wire.checker.workers[0].lean.cpu_seconds() > 0.2)
            many = asyncio.create_task(wire.check(GOOD, GOOD))
            await eventually(lambda: wire.checker.waiting == 3)
            one = {"snippets": [{"id": "a", "code": GOOD}]}
            async with wire.http.post(wire.url + "/api/check", json=one) as response:
                assert response.status == 429 and int(response.headers["Retry-After"]) >= 1
            asked.cancel()
        assert [result["verdict"]["accepted"] for result in await many] == [True] * 2
        assert not wire.checker.waiting
        assert await cancelled(wire) == before + 1


async def cancelled(wire: Wire) -> float:
    """Requests whose client left, in all of this process."""
    name = "proofmesh_serve_cancelled_total "
    lines = (await wire.text("/metrics")).split("\n")
    return next(float(line.removeprefix(name)) for line in lines if line.startswith(name))
