"""The server's answers have LeanTree's shapes; what is bad is answered, and nothing is held for ever."""

import asyncio

import aiohttp
import pytest

from tests.node.lean.adapters.leantree.conftest import serving
from tests.waiting import eventually, until

pytestmark = pytest.mark.lean

AND = "theorem t (p q : Prop) : p ∧ q → q ∧ p := by sorry"


async def test_a_proof_from_a_sorry_to_the_end(wire):
    process = await wire.process()
    answer = await wire.ok(f"/process/{process}/proof_from_sorry", {"theorem_with_sorry": AND})
    value = answer["value"]
    assert set(answer) == {"value"} and {"proof_state_id", "goals"} <= set(value)
    prop = [{"type": "Prop", "user_name": "p"}, {"type": "Prop", "user_name": "q"}]
    assert value["goals"] == [{"type": "p ∧ q → q ∧ p", "hypotheses": prop}]

    (branch,) = (await wire.tactic(process, value["proof_state_id"], "intro h"))["value"]
    assert branch["goals"][0]["hypotheses"][2] == {"type": "p ∧ q", "user_name": "h"}
    left, right = (await wire.tactic(process, branch["proof_state_id"], "constructor"))["value"]
    assert [side["goals"][0]["type"] for side in (left, right)] == ["q", "p"]
    assert len({value["proof_state_id"], branch["proof_state_id"], left["proof_state_id"]}) == 3

    # The older generation shows a state without goals where nothing is left, the newer shows none.
    (done,) = (await wire.tactic(process, left["proof_state_id"], "exact h.2"))["value"]
    assert done["goals"] == []
    newer = f"/process/{process}/branch/{right['branch_id']}/try_apply_tactic"
    assert await wire.ok(newer, {"tactic": "exact h.1", "timeout": 10_000}) == {"value": []}
    assert (await wire.tactic(process, done["proof_state_id"], "rfl"))["error"] == "no goals"
    assert await wire.ok(f"/process/{process}/return") == {"status": "ok"}
    assert (await wire.ok(f"/process/{process}/return"))["already_returned"] is True


async def test_each_kind_of_failure_is_an_error_with_its_kind(wire):
    process = await wire.process()
    state, _ = await wire.theorem(process, AND)
    for tactic, kind, says in (
        ("exact nonsense", "error", "nonsense"),
        ("simp (", "error", "closed"),
        *((banned, "refused", "") for banned in ("apply?", "exact?", "rw?", "sorry", "admit", "native_decide")),
    ):
        answer = await wire.tactic(process, state, tactic)
        assert set(answer) == {"error", "kind"} and answer["kind"] == kind and says in answer["error"], answer
    answer = await wire.tactic(process, state, "repeat (have := trivial)", timeout=300)
    assert answer["kind"] == "timeout" and answer["error"]
    assert "value" in await wire.tactic(process, state, "intro h"), "the process is good for more"


async def test_commands_stand_before_what_follows_in_their_process_only(wire):
    process = await wire.process()
    command = f"/process/{process}/command"
    assert await wire.ok(command, {"command": "def two : Nat := 2"}) == {"env": 1}
    answer = await wire.ok(command, {"command": "open Nat\n#check two"})
    (message,) = answer["messages"]
    assert answer["env"] == 2 and message["severity"] == "info" and "two : Nat" in message["data"]
    assert message["pos"] == {"line": 2, "column": 0} and "endPos" in message
    state, _ = await wire.theorem(process, "theorem t : succ 1 = two := by sorry")
    assert (await wire.tactic(process, state, "rfl"))["value"][0]["goals"] == []

    status, answer = await wire.post(command, {"command": "def three : Nat := nonsense"})
    assert status == 400 and "nonsense" in answer["error"] and answer["kind"] == "error"
    assert (await wire.ok(command, {"command": "#check two"}))["env"] == 3, "a refused command leaves nothing behind"

    await wire.ok(f"/process/{process}/return")
    other = await wire.process()
    status, answer = await wire.post(f"/process/{other}/command", {"command": "#check two"})
    assert status == 400 and "two" in answer["error"]


async def test_sources_are_valid_when_nothing_is_wrong_and_nothing_is_left_open(wire):
    process = await wire.process("open Nat")
    for source, valid in (
        ("theorem t : succ 0 = 1 := by rfl", True),
        ("import Pocket.Logic\ntheorem t : Nat.succ 0 = 1 := by rfl", True),
        ("theorem t : succ 0 = 2 := by rfl", False),
        ("theorem t : succ 0 = 2 := by sorry", False),
        ("theorem t : succ 0 =", False),
    ):
        assert await wire.ok(f"/process/{process}/is_valid_source", {"source": source}) == {"is_valid": valid}, source


async def test_no_web_page_runs_lean():
    async with serving(hosts=("lean.example",)) as (url, server), aiohttp.ClientSession() as http:
        for headers, status in (
            ({"Host": "evil.example:8000"}, 403),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Content-Type": "text/plain"}, 415),
            ({"Host": "lean.example"}, 200),
            ({"Host": "localhost:8000"}, 200),
        ):
            headers = {"Content-Type": "application/json"} | headers
            async with http.post(f"{url}/process/get", data=b'{"blocking": false}', headers=headers) as response:
                assert response.status == status, headers
                assert ("error" in await response.json()) == (status != 200)
            assert bool(server.sessions.all()) == (status == 200), "a refused request gets no process"
            for session in server.sessions.all():
                server.sessions.close(session.number)


async def test_bad_requests_are_answered_and_change_nothing(wire):
    process = await wire.process()
    state, _ = await wire.theorem(process, AND)
    tactic = f"/process/{process}/proof/{state}/try_apply_tactic"
    for path, body in (
        (tactic, b""),
        (tactic, b"{"),
        (tactic, b'{"tactic": 5}'),
        (tactic, b'{"tactic": "rfl", "timeout": -1}'),
        (tactic, b'{"tactic": "rfl", "timeout": "soon"}'),
        (tactic, b"\xff\xfe garbage \x00"),
        (tactic, b"[" * 100_000),
        (f"/process/{process}/proof_from_sorry", b'{"theorem": "t"}'),
        (f"/process/{process}/command", b'["#check Nat"]'),
        ("/process/get", b'{"timeout": 1e300}'),
    ):
        status, answer = await wire.post(path, raw=body)
        assert status == 400 and "not a message of this protocol" in answer["error"], (path, body[:40], answer)
    for path, status in (
        ("/process/999/command", 404),
        (f"/process/{'9' * 400}/command", 404),
        (f"/process/{process}/proof/999/try_apply_tactic", 404),
        (f"/process/{process}/proof/{state}/no_such_thing", 404),
        ("/no/such/address", 404),
        ("/status", 405),
    ):
        found, answer = await wire.post(path, {"command": "#check Nat", "tactic": "rfl"})
        assert found == status and answer["error"], (path, answer)
    status, answer = await wire.post(tactic, {"tactic": "x" * (2**20 + 1)})
    assert status == 413 and answer["error"]
    assert (await wire.tactic(process, state, "a\x00b"))["kind"] == "refused"
    assert "value" in await wire.tactic(process, state, "intro h")


async def test_processes_are_counted_bounded_and_handed_on(wire):
    status, answer = await wire.get("/status")
    assert status == 200 and answer["status"] == "ready"
    counts = ("available_processes", "used_processes", "starting_processes", "max_processes")
    assert [answer[name] for name in counts] == [2, 0, 0, 2] and answer["active_requests"] == []
    assert answer["ram"]["total_bytes"] > answer["ram"]["available_bytes"] > 0
    assert all(0 <= percent <= 100 for percent in answer["cpu_percent_per_core"])
    first, second = await wire.process(), await wire.process()
    assert first != second
    assert await wire.ok("/process/get", {"blocking": False}) == {"process_id": None}
    assert await wire.ok("/process/get", {"blocking": True, "timeout": 0.05}) == {"process_id": None}
    waiting = asyncio.create_task(wire.process())

    async def waits() -> bool:
        answer = (await wire.get("/status"))[1]
        return [answer[name] for name in counts] == [0, 2, 0, 2] and len(answer["active_requests"]) == 1

    await until(waits)
    await wire.ok(f"/process/{first}/return")
    assert await waiting != first
    status, _ = await wire.post(f"/process/{first}/command", {"command": "open Nat"})
    assert status == 404


async def test_a_killed_worker_costs_its_clients_nothing(wire, shared_server):
    process = await wire.process("open Nat")
    state, _ = await wire.theorem(process, AND)
    (branch,) = (await wire.tactic(process, state, "intro h"))["value"]
    workers = shared_server[1].pool.processes()
    for worker in workers:
        worker.child.kill_now()
    await eventually(lambda: not any(worker.alive for worker in workers))
    assert len((await wire.tactic(process, branch["proof_state_id"], "constructor"))["value"]) == 2
