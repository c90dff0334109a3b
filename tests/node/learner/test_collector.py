"""Results on their way into the records, checked by a real lean-proxy: a prover's word is no proof."""

import asyncio
import math
import sqlite3
import time
from dataclasses import astuple

import msgspec
import pytest

from common.bus import Bus, BusSettings
from common.lean import ProofTree, Theorem
from common.output.command import Exit
from common.protocol.attempts import (
    LEARNER,
    Attempt,
    AttemptResult,
    AttemptStatistics,
    KeptSearch,
    PlayParts,
    ResultPart,
    divide,
)
from common.protocol.messages import MAX_MESSAGE_BYTES, LeanVerifyReply, MalformedMessage, decode, encode
from common.protocol.subjects import todo
from common.records.database import RunDirectoryError
from common.records.lately import Fault, Lately
from common.records.rows import Arrival, Parts, Planned, Standing, TheoremRow
from common.records.searches import FailedTactic, SearchState, SearchTree, kept_rows, packed
from common.records.store import Store
from node.command.proofs import inspect
from node.learner.attempts import collector
from node.learner.attempts.collector import Collector
from node.learner.choosing.matchmaker import Matchmaker, weight
from node.learner.run import Run
from tests.forging import forging
from tests.node.learner.builders import choose, planned, result, shown
from tests.node.learner.works import (
    PROOF,
    STATES,
    STEPS,
    check_fault,
    claim,
    collecting,
    dispatch,
    dispatching,
    drained,
    judged,
    outcomes,
    send,
)
from tests.node.prover.nodes import running
from tests.waiting import eventually, until


async def test_only_what_lean_accepts_is_a_proof_and_only_a_verifier_refuses_a_statement(
    run: Run, bus: Bus, broker: BusSettings, run_name: str, lean_proxy: object
) -> None:
    """A refused theorem is never attempted again, so a forged report would take it out of the run for good. A node with
    the mesh's password accepts all that is asked, long before Lean has looked at it."""
    accepted = LeanVerifyReply(accepted=True, axioms=("propext",), lean_version="4.35.0", rechecked=True)
    *attempts, slandered = await dispatch(run, 7)
    bad = msgspec.structs.replace(planned(9).attempt, theorem=Theorem("t", "", "True ∧ nonsense"), theorem_id="u")
    await run.store.call(Store.dispatch, [Planned(9, bad)], 0.0)
    dishonest = (
        claim(attempts[1], ProofTree("sorry")),
        claim(attempts[2], ProofTree("exact ⟨h.2, h.1⟩", state=STATES[1])),
        claim(attempts[3], ProofTree("trivial"), theorem_id="u"),
        claim(attempts[4], ProofTree("intro h", state=STATES[0])),
    )
    async with forging(broker, run_name, (accepted, {})) as forged, collecting(run) as works:
        await send(bus, claim(attempts[0]), *dishonest, result(attempts[5], "failed"))
        await send(bus, *(result(each, "bad-statement") for each in (slandered, bad)))
        await until(lambda: drained(bus), what="the end of the results")
        assert forged.is_set() and (works.verified, works.rejected) == (1, 4)
    found = outcomes(run)
    assert [found[attempt.attempt_id][0] for attempt in attempts] == ["proved", *["rejected"] * 4, "failed"]
    assert all(found[attempt.attempt_id][1] for attempt in attempts[1:5])
    refusal = "a prover reported that Lean refuses the statement, and a verifier does not"
    assert found[slandered.attempt_id] == ("error", refusal)
    assert found[bad.attempt_id][0] == "bad-statement" and "nonsense" in found[bad.attempt_id][1]
    kept = [each.transition for each in await run.store.call(Store.examples)]
    assert kept == STEPS and len(run.replay) == 2
    assert run.matchmaker.standing("t").proved and run.matchmaker.standing("t").failures == 5
    assert (await run.store.call(Store.audit)).sound


async def test_a_search_is_kept_if_its_attempt_asked(run: Run, bus: Bus, capsys: pytest.CaptureFixture[str]) -> None:
    asking = msgspec.structs.replace(planned(9).attempt, keep_search=True)
    await run.store.call(Store.dispatch, [Planned(9, asking)], 0.0)
    (other,) = await dispatch(run, 1)
    root = SearchState(0, "⊢ p ∧ q", 0, 1, -2.0, 1, None, failed=(FailedTactic("rfl", "error", "no rfl"),))
    search = KeptSearch(packed([SearchTree("theorem t : p ∧ q", 1, 1, 1, (root,))]), 2.0)
    found = [msgspec.structs.replace(result(each, "failed"), search=search) for each in (asking, other)]
    await judged(run, bus, *found)
    folder = run.directory.path
    assert [(each.attempt_id, each.interest) for each in kept_rows(folder, 9)] == [(asking.attempt_id, 0.5)]
    for more, said in (([], "p ∧ q"), (["0"], "no rfl"), (["--json"], '"trees"')):
        assert inspect.main([str(folder), "--search", asking.attempt_id, *more]) == Exit.DONE
        assert said in capsys.readouterr().out
    assert inspect.main([str(folder), "--searches", "5"]) == Exit.DONE
    assert asking.theorem_id in capsys.readouterr().out


async def test_parts_of_an_attempt_add_up_to_the_time_until_its_record(run: Run, bus: Bus, lean_proxy: object) -> None:
    began = time.time()
    attempt = msgspec.structs.replace(planned(1).attempt, traced=True)
    before = shown("learner_attempt_seconds_count", purpose="train")
    await run.store.call(Store.dispatch, [Planned(1, attempt)], began)
    await bus.publish_durable(todo(attempt.purpose, LEARNER), attempt, message_id="1")
    (lease,) = await bus.lease("todo-train", Attempt, limit=1, wait=5.0)
    parts = PlayParts(asked=lease.stored, search=0.001, lean_run=0.002, idle=60.0)
    await lease.ack()
    came = claim(attempt)
    await judged(run, bus, msgspec.structs.replace(came, statistics=AttemptStatistics(parts=parts)))
    database = sqlite3.connect(run.directory.database)
    ((_, *stored, idle),) = database.execute("SELECT * FROM timelines")
    ((took,),) = database.execute("SELECT recorded - created FROM attempts JOIN results USING (attempt_id)")
    found, lately = Parts(*stored), await run.store.call(Store.lately)
    assert idle == lately.idle == 60.0 and lately.parts == found and Lately.of_values(lately.values()) is not None
    assert sum(stored) == pytest.approx(took, rel=0.05)
    assert found.verify_run > 0 and found.bus > 0 and (found.search, found.lean_run) == (0.001, 0.002)
    assert shown("learner_attempt_seconds_count", purpose="train") == before + 1
    spans = {span.name: span.seconds for span in run.ctx.spans.take(99)}
    assert spans["attempt"] == pytest.approx(took) and spans["dispatch"] == pytest.approx(found.dispatch)
    assert shown("learner_attempt_part_seconds_bucket", part="lean_run", le="0.01") >= 1
    await check_fault(run, bus, Fault.STARVED)


def test_clocks_of_two_machines_are_compared_by_way_of_the_broker() -> None:
    """The learner is 100 s ahead of the broker; the attempt was created at 1000 and recorded at 1012 by its clock."""
    play = PlayParts(asked=901.0, search=1.0, policy_wait=0.5, policy_run=1.5, bus=0.25)
    spent = {"verify_wait": 1.5, "bus": 0.25, "store": 0.25}
    arrival = Arrival(stored=907.0, received=1010.0, ahead=100.0, spent=spent)
    parts = arrival.parts(1000.0, play)
    assert parts == Parts(1.0, 2.75, 1.0, 0.5, 1.5, 0, 0, 1.5, 0, 0.5, 3.0, 0.25)
    assert sum(astuple(parts)) == 12.0
    assert arrival.parts(1002.0, play).dispatch == 0


async def test_parts_duplicates_strangers_and_poison(run: Run, bus: Bus, lean_proxy: object) -> None:
    whole, failed, poisoned = await dispatch(run, 3)
    parts = divide(claim(whole, message="x" * 2_000), 2_420)
    assert len(parts) == 2
    late = claim(failed, prover_id="late")
    stranger = result(planned(99).attempt)
    poison = result(poisoned, "poisoned")
    await judged(run, bus, parts[1], result(failed, "failed"))
    assert set(outcomes(run)) == {failed.attempt_id}
    await judged(run, bus, parts[0], late, stranger, poison, parts[1])
    found = {attempt_id: outcome for attempt_id, (outcome, _) in outcomes(run).items()}
    assert found == {whole.attempt_id: "proved", failed.attempt_id: "failed", poisoned.attempt_id: "poisoned"}
    assert [each.transition for each in await run.store.call(Store.examples)] == STEPS


async def test_a_cancelled_collector_hands_back_what_it_was_judging(run: Run, bus: Bus, lean_proxy: object) -> None:
    run.settings.verify_gather = 1000.0
    attempts = await dispatch(run, 4)
    works = Collector(run)
    task = asyncio.create_task(works.work())
    await send(bus, *map(claim, attempts[:3]))
    await eventually(lambda: run.judging["train"] == 3, what="three proofs that wait")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.judging["train"] == 0 and not run.ctx.stopping.is_set() and run.ctx.crash is None
    assert outcomes(run) == {}
    async with collecting(run) as works:
        await eventually(lambda: run.judging["train"] == 3, what="three proofs, delivered again")
        await send(bus, result(attempts[3], "failed"))  # other searches begin meanwhile
        await eventually(lambda: len(outcomes(run)) == 1)
        works._training.close()
        await until(lambda: drained(bus), what="the end of the results")
    assert works.verified == 3 and run.judging["train"] == 0


async def test_without_a_lean_proxy_a_proof_waits(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "HAND_BACK_DELAY", 0.1)
    run.settings.verify_timeout = run.settings.verify_patience = 0.2
    (attempt,) = await dispatch(run, 1)
    async with collecting(run):
        await send(bus, claim(attempt))
        await eventually(lambda: "verification" in run.ctx.healthz()["problems"])
    assert outcomes(run) == {} and not await drained(bus)
    assert (await run.store.call(Store.open_attempt, attempt.attempt_id)) == attempt


async def test_a_result_that_is_never_recorded_is_poisoned(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "HAND_BACK_DELAY", 0.01)
    run.settings.verify_timeout = run.settings.verify_patience = 0.05
    run.settings.max_deliveries = 3
    (attempt,) = await dispatch(run, 1)
    await judged(run, bus, claim(attempt))
    outcome, message = outcomes(run)[attempt.attempt_id]
    assert outcome == "poisoned" and "delivered 4 times" in message


async def test_a_full_disk_stops_the_node_for_a_while(run: Run, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "HAND_BACK_DELAY", 0.05)
    (attempt,) = await dispatch(run, 1)

    async def have_room(more: int) -> None:
        (pages,) = await run.store.call(lambda store: store._db.execute("PRAGMA page_count").fetchone())
        await run.store.call(lambda store: store._db.execute(f"PRAGMA max_page_count = {pages + more}").fetchone())

    await have_room(0)
    async with collecting(run):
        await send(bus, msgspec.structs.replace(result(attempt, "failed"), message="x" * 100_000))
        await eventually(lambda: run.ctx.crash is not None)
    assert isinstance(run.ctx.crash, RunDirectoryError) and "free some space" in str(run.ctx.crash)
    assert outcomes(run) == {} and (await run.store.call(Store.audit)).outstanding == 1
    await have_room(1_000_000)
    async with collecting(run):
        await until(lambda: drained(bus))
    assert set(outcomes(run)) == {attempt.attempt_id}


def nested(depth: int, proof: ProofTree) -> ProofTree:
    for _ in range(depth):
        proof = ProofTree("skip", ((0,),), (proof,))
    return proof


async def test_results_that_no_prover_of_ours_sends_are_recorded_with_the_reason(run: Run, bus: Bus) -> None:
    trees = {
        "does not fit": ProofTree("constructor", ((0,), (1,)), (ProofTree("rfl"),)),
        "two branches with several goals": ProofTree("x", ((0, 1), (2, 3)), (ProofTree("a"), ProofTree("b"))),
        "no proof tree": None,
        "": ProofTree("exact trivial -- " + "x" * MAX_MESSAGE_BYTES, state="⊢ True"),  # fits no request
    }
    said = ("undecided", "error", "poisoned", "rejected")
    *attempts, parted, strange = await dispatch(run, len(trees) + len(said) + 2)
    claims = [claim(attempt, tree) for attempt, tree in zip(attempts, trees.values(), strict=False)]
    claims += [result(attempt, outcome) for attempt, outcome in zip(attempts[len(trees) :], said, strict=True)]
    first, second = divide(claim(parted, message="x" * 2_000), 2_420)
    assert isinstance(second, ResultPart)
    deep_failure = msgspec.structs.replace(result(strange, "failed"), proof=nested(450, ProofTree("rfl")))
    async with collecting(run):
        for each in claims:
            await send(bus, *divide(each))
        await send(bus, first, msgspec.structs.replace(second, payload=b"not what was meant"), deep_failure)
        await until(lambda: drained(bus), what="the end of the results")
    assert run.ctx.crash is None
    found = [outcomes(run)[attempt.attempt_id] for attempt in (*attempts, parted, strange)]
    assert all(words in message for (_, message), words in zip(found, trees, strict=False))
    rejected = ["rejected"] * len(trees)
    # `rejected` is not a prover's word, and parts that make no result are an error of the attempt.
    assert [each for each, _ in found] == [*rejected, "undecided", "error", "poisoned", "error", "error", "failed"]


async def test_a_failed_search_waits_behind_no_proof(run: Run, bus: Bus) -> None:
    """No lean-proxy is there, so that the proofs wait for their verdict to the end."""
    run.settings.results = 1
    *proved, failed = await dispatch(run, 3)
    async with collecting(run):
        await send(bus, *map(claim, proved), result(failed, "failed"))
        await eventually(lambda: failed.attempt_id in outcomes(run), what="the failed search in the records")
        assert run.judging.total() == 2
        run.ctx.stopping.set()
        for task in [each for each in asyncio.all_tasks() if each.get_name() == "result"]:
            task.cancel()


async def test_a_deep_proof_is_verified_and_recorded(run: Run, bus: Bus, lean_proxy: object) -> None:
    run.settings.results = 1
    (attempt,) = await dispatch(run, 1)
    await judged(run, bus, claim(attempt, nested(450, PROOF)))
    outcome, message = outcomes(run)[attempt.attempt_id]
    assert outcome == "proved", message


@pytest.mark.parametrize(
    "changes",
    [
        {"statistics": AttemptStatistics(seconds=math.nan)},
        {"statistics": AttemptStatistics(simulations=2**63)},
        {"statistics": AttemptStatistics(nodes=-1)},
        {"statistics": AttemptStatistics(expansions_lost=-1)},
        {"outcome": "won"},
        {"purpose": "no such"},
    ],
)
def test_numbers_that_no_record_could_hold_make_a_message_malformed(changes: dict[str, object]) -> None:
    whole = result(planned(1).attempt)
    assert decode(encode(whole), AttemptResult) == whole
    with pytest.raises(MalformedMessage, match=r"AttemptResult: (Expected|Invalid)"):
        decode(encode(msgspec.structs.replace(whole, **changes)), AttemptResult)


async def test_a_proof_of_an_evaluation_leaves_no_trace_in_learning(run: Run, bus: Bus, lean_proxy: object) -> None:
    evaluation = await run.store.call(Store.begin_evaluation, "step-3", 1, 16, 0.0, True)
    # Even one on a train statement, as after a change of the banks.
    evals = [planned(number, name, "eval", evaluation) for number, name in enumerate(("v", "t", "w"), start=1)]
    train = [planned(4, "u")]
    await run.store.call(Store.dispatch, evals, 0.0)
    scored = [*(claim(each.attempt) for each in evals[:2]), result(evals[2].attempt, "failed")]
    works = await judged(run, bus, *scored)
    assert works.verified == 2
    counts = await run.store.call(Store.counts)
    assert counts["eval:proved"] == 2 and counts["proofs"] == 2 and counts["transitions"] == 0
    assert await run.store.call(Store.examples) == [] and len(run.replay) == 0
    assert run.matchmaker.standing("t") == Standing() and run.journal.solve_rate() == 0.0
    assert await run.store.call(Store.standings) == {}  # what the matchmaker of the next process is told
    # The same proof of an attempt to train does all of this.
    await run.store.call(Store.dispatch, train, 0.0)
    await judged(run, bus, claim(train[0].attempt))
    assert len(run.replay) == 2 and run.matchmaker.standing("u").proved and run.journal.solve_rate() == 1.0
    again = Matchmaker(["t", "u"], run.settings.matchmaker, seed=1)
    again.restore(await run.store.call(Store.standings))
    assert again.standing("t") == Standing() and again.standing("u").proved
    costs = await run.store.call(Store.costs)
    assert costs["eval-beside"]["attempts"] == 3 and costs["train"]["attempts"] == 1 and "eval" not in costs


async def test_a_disproof_is_recorded_learned_from_and_ends_the_theorem(run: Run, bus: Bus, lean_proxy: object) -> None:
    run.settings.matchmaker.disprove_chance = 1.0
    run.data.train[:] = [TheoremRow(Theorem("f", "(n : Nat)", "n = n + 1"), "train", "nat", 1)]
    run.matchmaker.__init__(["f"], run.settings.matchmaker, 1)  # type: ignore[misc]
    await run.store.call(Store.add_theorems, run.data.train)
    async with collecting(run) as collects, dispatching(run) as dispatches:
        dispatches.learning = True
        async with running(bus):
            await eventually(lambda: run.matchmaker.standing("f").disproved)
            dispatches.learning = False
            await until(lambda: drained(bus), what="the end of the results")
        assert collects.verified >= 1 and collects.rejected == 0
    standing = run.matchmaker.standing("f")
    assert not standing.proved and weight(standing, run.settings.matchmaker) == 0.0
    assert choose(run.matchmaker, 1) is None, "nothing is left to be tried"
    found = sqlite3.connect(run.directory.database).execute("SELECT theorem_id, disproof, script != '' FROM proofs")
    assert set(found) == {("f", 1, 1)}
    learned = [each.transition for each in await run.store.call(Store.examples)]
    assert learned and learned[0].state == "⊢ ¬∀ (n : Nat), n = n + 1" and len(run.replay) == len(learned)
    assert (await run.store.call(Store.audit)).sound
