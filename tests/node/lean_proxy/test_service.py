"""The lean-proxy as a process of its own, over a real broker; and its sections of a configuration file."""

import asyncio

import aiohttp
import psutil
import pytest

from common.bus import RemoteFailure, Signer, Unanswered
from common.config import ConfigError, dump, load, load_lean
from common.lean import OutcomeKind, ProofTree, Step, Theorem
from common.protocol import subjects
from common.protocol.messages import Heartbeat, LeanRunReply, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest
from common.settings import LeanSettings
from node.lean.text.script import proof_script
from node.lean_proxy.settings import LeanProxySettings
from tests.conftest import lean_proxy_process
from tests.waiting import eventually, until

AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


async def run(bus, theorem, path, tactics, timeout=5.0):
    request = LeanRunRequest(theorem=theorem, path=tuple(path), tactics=tuple(tactics), timeout=timeout)
    return await bus.request_patiently(subjects.LEAN_RUN, request, LeanRunReply, timeout=60, deadline=60)


async def verify(bus, theorem, script, patience=60):
    request = LeanVerifyRequest(theorem=theorem, script=script)
    return await bus.request_patiently(subjects.LEAN_VERIFY, request, LeanVerifyReply, timeout=60, deadline=patience)


async def test_a_proof_found_step_by_step_is_accepted(bus, lean_proxy):
    opened = await run(bus, AND, (), ())
    assert opened.state == "p q : Prop\n⊢ p ∧ q → q ∧ p" and opened.outcomes == ()

    (intro,) = (await run(bus, AND, (), ["intro h"])).outcomes
    first = Step("intro h", 0, intro.layout)
    (split,) = (await run(bus, AND, [first], ["constructor"])).outcomes
    assert split.layout == ((0,), (1,))
    closed = []
    for number, tactic in enumerate(["exact h.2", "exact h.1"]):
        path = [first, Step("constructor", number, split.layout)]
        reply = await run(bus, AND, path, [tactic])
        assert reply.state == split.branches[number].state
        assert reply.outcomes[0].kind is OutcomeKind.PROVED
        closed.append(ProofTree(tactic))

    proof = ProofTree("intro h", intro.layout, (ProofTree("constructor", split.layout, tuple(closed)),))
    verdict = await verify(bus, AND, proof_script(proof))
    assert verdict.accepted and verdict.reason == "" and verdict.axioms == () and verdict.lean_version == "4.35.0"


async def test_it_names_itself_for_theorems_whose_states_its_lean_has_kept(bus, lean_proxy, warm_lean, monkeypatch):
    monkeypatch.setattr(warm_lean.lean.requests.backend, "slow_seconds", 0.0)
    mine, path = Theorem("t", "(r s : Prop)", "r ∧ s → s ∧ r"), [Step("intro h")]  # known from no other test
    assert not (await run(bus, mine, path, ["skip"])).holder
    reply = await run(bus, mine, path, ["constructor"])
    assert reply.holder == lean_proxy.id, "since the last request it knows that the theorem is slow"
    request = LeanRunRequest(theorem=mine, path=tuple(path), tactics=("exact ⟨h.2, h.1⟩",), timeout=5.0)
    held = await bus.request(subjects.lean_run_at(reply.holder), request, LeanRunReply, timeout=60)
    assert held.outcomes[0].kind is OutcomeKind.PROVED and held.holder == lean_proxy.id


async def test_a_bad_statement_is_a_failure_with_leans_own_message(bus, lean_proxy):
    bad = Theorem("t", "(p : Prop)", "p ∧ q")
    for ask in (run(bus, bad, (), ["simp"]), verify(bus, bad, "simp")):
        with pytest.raises(RemoteFailure, match="Unknown identifier `q`") as failure:
            await ask
        assert failure.value.kind == "bad-statement"


async def busy(pid: int, seconds: float) -> None:
    """Wait until one of the Lean processes of a proxy has used so much more CPU time."""

    def used() -> dict[int, float]:
        return {child.pid: sum(child.cpu_times()[:2]) for child in psutil.Process(pid).children(recursive=True)}

    before = used()
    await eventually(lambda: any(cpu >= before.get(child, 0) + seconds for child, cpu in used().items()), what="work")


@pytest.mark.slow
async def test_a_lean_proxy_without_a_key_verifies_nothing(bus, broker, run_name):
    async with lean_proxy_process(bus, broker, run_name, "--key", ""):
        (node,) = await bus.nodes()
        assert "verifications" not in node.capacity and node.facts.verifier == ""
        with pytest.raises(Unanswered, match="lists no verifier"):
            await verify(bus, AND, "rfl", patience=1)


async def test_a_verifier_that_nobody_counts_says_so_and_how_to_mend_it(bus, warm_lean, mesh_run, tmp_path):
    await bus.list_verifiers([Signer.of_file(tmp_path / "another.pem").public])
    with warm_lean.served(mesh_run):

        async def unhealthy() -> bool:
            return [node.state for node in await bus.nodes()] == ["unhealthy"]

        await until(unhealthy, what="a node that says that something is wrong")
        (node,) = await bus.nodes()
        own = node.facts.verifier
        health = f"{node.metrics_url.removesuffix('/metrics')}/healthz"
        async with aiohttp.ClientSession() as http, http.get(health) as page:
            assert f"add '{own}' to [bus] verifiers of the run's other machines" in await page.text()


async def test_all_that_is_done_is_counted_in_heartbeats_and_metrics_and_a_drain_answers_what_is_open(
    bus, own_lean_proxy
):
    beats: list[Heartbeat] = []
    heartbeats = "telemetry.lean-proxy.*.heartbeat"
    subscription = await bus.subscribe(heartbeats, Heartbeat, lambda subject, beat: beats.append(beat))
    # 1. Each kind of outcome, and what the cache knows.
    tactics = ["intro h", "exact fun h => ⟨h.2, h.1⟩", "rfl", "rfl", "sorry", "exact?", "admit"]
    await run(bus, AND, (), tactics, timeout=5)
    await run(bus, AND, (), tactics[:1])
    await run(bus, AND, (), ["repeat (have := trivial)"], timeout=0.1)
    await run(bus, AND, [Step("intro nothing nowhere no", 0)], ["simp"])
    kinds = {"goals": 2, "proved": 1, "error": 2, "refused": 3, "timeout": 1, "lost": 1, "memory": 0, "crashed": 0}
    # 2. Proofs that wait are verified together.
    replies = await asyncio.gather(*(verify(bus, AND, "exact fun h => ⟨h.2, h.1⟩") for _ in range(5)))
    assert all(reply.accepted for reply in replies)
    wrong, right = await asyncio.gather(verify(bus, AND, "exact id"), verify(bus, AND, "exact And.symm"))
    assert right.accepted and "Lean rejects the proof at line 1" in wrong.reason
    # 3. The monitor is told.
    wanted = {f"outcome_{kind}": number for kind, number in kinds.items()}
    wanted |= {"candidates": 10, "cache_hits": 1, "proofs_accepted": 6, "proofs_rejected": 1, "failures": 0}

    def told() -> dict[str, float]:
        return {name: beats[-1].values.get(name, -1) for name in wanted} if beats else {}

    await eventually(lambda: told() == wanted, timeout=30)
    assert set(kinds) == set(OutcomeKind)
    assert beats[-1].values["workers"] >= 1 and beats[-1].values["rss_mb"] > 50
    await subscription.unsubscribe()
    # 4. So are metrics.
    (node,) = await bus.nodes()
    async with aiohttp.ClientSession() as http, http.get(node.metrics_url) as page:
        lines = [line.rsplit(" ", 1) for line in (await page.text()).splitlines() if not line.startswith("#")]
    metrics = {name.removeprefix("proofmesh_lean_"): float(value) for name, value in lines}
    assert all(metrics[f'outcomes_total{{kind="{kind}"}}'] == number for kind, number in kinds.items())
    assert metrics['verified_total{verdict="accepted"}'] == 6 and metrics['verified_total{verdict="rejected"}'] == 1
    assert metrics["verify_batch_proofs_count"] < 7, "some were checked together"
    assert metrics["verify_proof_seconds_count"] >= 2 and metrics["verify_queue"] == 0
    assert metrics["workers_resident_memory_bytes"] > 50 * 2**20
    # 5. A drain answers what is open.
    draining = asyncio.create_task(run(bus, AND, (), ["constructor", "repeat (have h2 := trivial)"], timeout=0.3))
    await busy(own_lean_proxy.pid, 0.1)
    own_lean_proxy.terminate()
    assert [outcome.kind for outcome in (await draining).outcomes] == [OutcomeKind.ERROR, OutcomeKind.TIMEOUT]
    assert await own_lean_proxy.wait() == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('imports = ["import A"]', "is not a module name"),
        ('opens = ["open Nat"]', "name a namespace"),
        ('options = ["maxRecDepth"]', "write NAME=VALUE"),
        ('projct = "x"', "did you mean `project`?"),
        ("header_seconds = -1", "must be more than 0"),
    ],
)
def test_what_is_wrong_in_the_section_is_told_by_its_name(tmp_path, line, says):
    file = tmp_path / "mesh.toml"
    file.write_text(f"[lean]\n{line}\n")
    with pytest.raises(ConfigError, match=r"mesh\.toml: \[lean\]") as caught:
        load(LeanProxySettings, file, "lean_proxy")
    assert says in str(caught.value)


def test_one_section_serves_all_that_run_lean(tmp_path):
    file = tmp_path / "mesh.toml"
    file.write_text('[lean]\nproject = "p"\nimports = ["A"]\n[lean_proxy]\nworkers = 3\n')
    settings = load(LeanProxySettings, file, "lean_proxy")
    assert settings.lean == load_lean(file) == LeanSettings(project="p", imports=["A"]) and settings.workers == 3
    again = tmp_path / "again.toml"
    again.write_text(dump({"lean_proxy": settings}))
    assert "[lean]" in again.read_text() and load(LeanProxySettings, again, "lean_proxy") == settings
