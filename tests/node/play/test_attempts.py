"""What everybody may expect of `Attempts`, of those in this process and of those on a mesh, and that both say the same.
Lean is real, and on the mesh so are the broker, a lean-proxy and a prover."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.bus import Bus
from common.lean import BadStatement, OutcomeKind, ProofTree, Theorem
from common.limits import MOST_CANDIDATES
from common.protocol import subjects
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Method, Purpose, unplayed
from common.records.searches import unpacked
from node.play import mesh
from node.play.attempts import Attempts
from node.play.here import LocalAttempts
from node.play.mesh import MeshAttempts
from node.prover.environment import LeanEnvironment
from node.prover.policies.names import INFERENCE, BadPolicy
from node.prover.settings import ProverSettings
from tests.background import SharedLean
from tests.node.stp.mesh import FALSE, SWAP, TWO, prover, samples, written

Place = Callable[..., AbstractAsyncContextManager[Attempts]]
"""Opens attempts with a policy and settings of the prover."""

SAMPLED = {theorem.name: samples(theorem.name, 24, 3) for theorem in (SWAP, TWO, FALSE)}


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """Lists that both places read: of tactics, and of whole proofs."""
    tactics = tmp_path / "tactics.txt"
    tactics.write_text("intro h\nexact ⟨h.2, h.1⟩\nassumption\n", encoding="utf-8")
    return f"tactics:{tactics}+proofs:{written(tmp_path, SAMPLED)}"


@asynccontextmanager
async def here(lean: SharedLean, policy: str, **settings: Any) -> AsyncIterator[Attempts]:
    provers = ProverSettings(policy=policy, searches=2, **settings)
    async with LocalAttempts(lean.opened(), provers, network=INFERENCE) as attempts:
        yield attempts


@asynccontextmanager
async def on_a_mesh(bus: Bus, policy: str, **settings: Any) -> AsyncIterator[Attempts]:
    async with (
        prover(bus, policy=policy, **settings),
        MeshAttempts(bus, bus.new_client("eval"), verify_patience=5.0) as attempts,
    ):
        yield attempts


@pytest.fixture
def on_mesh(bus: Bus, lean_proxy: object) -> Place:
    return partial(on_a_mesh, bus)


@pytest.fixture(params=["here", "mesh"])
def place(request: pytest.FixtureRequest, warm_lean: SharedLean) -> Place:
    return partial(here, warm_lean) if request.param == "here" else request.getfixturevalue("on_mesh")


@pytest.fixture
async def attempts(place: Place, policy: str) -> AsyncIterator[Attempts]:
    async with place(policy) as opened:
        yield opened


def attempt(theorem: Theorem, **changes: Any) -> Attempt:
    fields = {"attempt_id": theorem.name, "purpose": Purpose.EVAL, "simulations": 16, "seed": 1, "policy": "tactics"}
    return Attempt(theorem_id=theorem.name, theorem=theorem, **{**fields, **changes})


def told(result: AttemptResult) -> tuple[object, ...]:
    """What a result says that depends on neither time nor place."""
    spent = result.statistics
    return result.outcome, result.proof, result.proofs, spent.simulations, spent.lean_attempts, spent.nodes


async def test_a_theorem_is_proved_by_each_method_and_lean_accepts_the_proofs(attempts: Attempts) -> None:
    proofs = set()
    for method in (Method.MCTS, Method.BEST_FIRST, Method.RANDOM):
        result = await attempts.play(attempt(SWAP, attempt_id=method, method=method))
        assert result.outcome is AttemptOutcome.PROVED and result.proof is not None, result.message
        spent = result.statistics
        assert 0 < spent.solved_at_simulations <= spent.simulations
        assert 0 < spent.solved_at_lean_attempts <= spent.tactics_tried <= spent.lean_attempts
        proofs.add(result.proof)
    for proof in proofs:
        verdict = await attempts.verify(SWAP, proof)
        assert verdict.accepted and verdict.lean_version.startswith("4.")


async def test_an_attempt_that_asks_for_it_gets_its_search_with_leans_words(attempts: Attempts) -> None:
    assert (await attempts.play(attempt(SWAP, attempt_id="other"))).search is None
    result = await attempts.play(attempt(SWAP, keep_search=True))
    assert result.search is not None and result.search.left == 0.0
    (tree,) = unpacked("swap", result.search.trees)
    root = tree.states[0]
    assert root.steps is not None and root.best is not None and root.at is not None and root.lean_seconds > 0
    assert sum(state.expansions for state in tree.states) == result.statistics.simulations
    assert any(each.kind == "error" and each.message for state in tree.states for each in state.failed)
    lost = await attempts.play(attempt(FALSE, attempt_id="lost", simulations=2, keep_search=True))
    assert lost.search is not None and lost.search.left >= 1.0


async def test_statements_that_lean_refuses_are_told_in_its_words(attempts: Attempts) -> None:
    missing = Theorem("missing", "", "Missing.thing")
    result = await attempts.play(attempt(missing))
    assert result.outcome is AttemptOutcome.BAD_STATEMENT and "Missing.thing" in result.message
    with pytest.raises(BadStatement, match=r"Missing\.thing"):
        await LeanEnvironment(attempts.asking, missing, tactic_timeout=5.0, patience=30.0).open()


async def test_more_tactics_than_a_request_holds_are_all_run(attempts: Attempts) -> None:
    lean = LeanEnvironment(attempts.asking, TWO, tactic_timeout=5.0, patience=30.0)
    tactics = [f"exact missing_{number}" for number in range(MOST_CANDIDATES + 1)]
    outcomes = await lean.run((), tactics)
    assert [*outcomes] == tactics and {each.kind for each in outcomes.values()} == {OutcomeKind.ERROR}


async def test_verdicts_do_not_depend_on_the_search(attempts: Attempts) -> None:
    assert (await attempts.verify(SWAP, "  intro h\n  exact ⟨h.2, h.1⟩")).accepted
    wrong = await attempts.verify(SWAP, ProofTree("exact id"))
    assert not wrong.accepted and wrong.reason
    unwritable = ProofTree("constructor", layout=((0,), (1,)), children=(ProofTree("rfl"),))
    assert "cannot be written down" in (await attempts.verify(SWAP, unwritable)).reason
    sorry = await attempts.verify(SWAP, "  sorry")
    assert not sorry.accepted
    assert not (await attempts.verify(Theorem("missing", "", "Missing.thing"), "  rfl")).accepted


async def test_every_proof_is_counted(place: Place, policy: str) -> None:
    names = {"method": Method.WHOLE_PROOF, "every_proof": True, "simulations": 24, "samples": 7, "policy": ""}
    async with place(policy.partition("+")[2]) as attempts:
        async with asyncio.timeout(120):
            found = [each async for each in attempts.results([attempt(each, **names) for each in (SWAP, TWO, FALSE)])]
    proofs = {each.theorem_id: each.proofs for each in found}
    assert len(found) == len(proofs) == 3 and proofs["swap"] and not proofs["false"]


WHOLE = {"method": Method.WHOLE_PROOF, "simulations": 4, "policy": ""}


async def test_whole_proofs_are_tried_in_their_order_and_what_has_no_use_for_them_is_an_error(
    place: Place, tmp_path: Path
) -> None:
    proofs = ["intro h\nexact h", "sorry", "intro h\nconstructor\n· exact h.2\n· exact h.1"]
    async with place(f"proofs:{written(tmp_path, {SWAP.name: proofs})}") as attempts:
        whole = await attempts.play(attempt(SWAP, **WHOLE))
        later = await attempts.play(attempt(SWAP, attempt_id="later", first=2, **WHOLE))
        for changes, reason in (
            ({"method": Method.MCTS}, "they go with --method whole-proof"),
            ({"then": Method.BEST_FIRST}, "proposes no tactics"),
            ({"policy": "tactics"}, "proposes tactics only"),
        ):
            failed = await attempts.play(attempt(SWAP, attempt_id=reason, **{**WHOLE, **changes}))
            assert failed.outcome is AttemptOutcome.ERROR and reason in failed.message
    assert whole.outcome is AttemptOutcome.PROVED, whole.message
    assert whole.proof is not None and whole.proof.tactic == proofs[2]
    spent = whole.statistics
    assert (spent.solved_at_simulations, spent.lean_attempts, spent.without_proof) == (3, 2, 1)
    assert later.statistics.solved_at_simulations == 1


async def test_results_are_given_once_each_and_ids_are_unique(attempts: Attempts) -> None:
    many = [attempt(msgspec.structs.replace(SWAP, name=f"swap{number}")) for number in range(9)]
    async with asyncio.timeout(120):
        found = [each.attempt_id async for each in attempts.results(many)]
    assert sorted(found) == sorted(each.attempt_id for each in many)
    with pytest.raises(ValueError, match="two attempts have the same id"):
        async for _ in attempts.results([many[0], many[0]]):
            pass
    assert [each async for each in attempts.results([])] == []


async def test_who_stops_waiting_disturbs_nobody(attempts: Attempts) -> None:
    long = asyncio.create_task(attempts.play(attempt(FALSE, attempt_id="long", simulations=10_000)))
    await asyncio.sleep(0)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    async with asyncio.timeout(60):
        assert (await attempts.play(attempt(SWAP))).outcome is AttemptOutcome.PROVED


async def test_the_same_attempts_come_out_the_same_here_and_on_a_mesh(
    warm_lean: SharedLean, on_mesh: Place, policy: str
) -> None:
    searches = [
        attempt(theorem, attempt_id=f"{theorem.name}-{method}-{explore}", method=method, explore=explore)
        for theorem in (SWAP, TWO, FALSE)
        for method, explore in ((Method.MCTS, 0), (Method.MCTS, 2), (Method.BEST_FIRST, 0), (Method.RANDOM, 0))
    ]
    whole = {"method": Method.WHOLE_PROOF, "simulations": 24, "samples": 7, "policy": ""}
    proofs = [
        attempt(each, every_proof=every, attempt_id=f"{each.name}-{every}", **whole)
        for each in (SWAP, TWO, FALSE)
        for every in (False, True)
    ]
    found: list[dict[str, object]] = []
    for playing in (partial(here, warm_lean), on_mesh):
        async with playing(policy) as attempts, asyncio.timeout(120):
            results = [each async for each in attempts.results(searches)]
        async with playing(policy.partition("+")[2]) as attempts, asyncio.timeout(120):
            results += [each async for each in attempts.results(proofs)]
        found.append({each.attempt_id: told(each) for each in results})
    assert found[0] == found[1] and len(found[0]) == len(searches) + len(proofs)


async def test_a_policy_that_could_not_be_opened_is_opened_when_somebody_asks_again(
    warm_lean: SharedLean, tmp_path: Path
) -> None:
    async with here(warm_lean, "tactics") as attempts:
        with pytest.raises(BadPolicy):
            await attempts.open(policy := f"tactics:{tmp_path / 'later.txt'}")
        (tmp_path / "later.txt").write_text("exact fun h => ⟨h.2, h.1⟩\n", encoding="utf-8")
        await attempts.open(policy)
        assert (await attempts.play(attempt(SWAP, policy=policy))).outcome is AttemptOutcome.PROVED


async def test_an_attempt_that_a_prover_holds_for_ever_is_given_to_another(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, seconds in (("LOST_AFTER", 0.2), ("LOOK_EVERY", 0.1), ("HELD_SECONDS", 0.0)):
        monkeypatch.setattr(mesh, name, seconds)
    async with MeshAttempts(bus, bus.new_client("eval"), searches=1) as attempts:
        playing = asyncio.create_task(attempts.play(attempt(SWAP)))
        (held,) = await bus.lease("todo-asked", Attempt, limit=1, wait=30)
        async with held.kept():
            (other,) = await bus.lease("todo-asked", Attempt, limit=1, wait=30)
            assert other.message == held.message
            result = unplayed(other.message, "another", AttemptOutcome.BAD_STATEMENT, "as Lean says")
            forged = msgspec.structs.replace(result, theorem_id="of another theorem", purpose=Purpose.TRAIN)
            to = subjects.to_client(other.message.client, result.attempt_id, 0)
            await bus.publish_durable(to, forged, message_id="a result")
            assert await playing == result
        await held.ack()
        await other.ack()
