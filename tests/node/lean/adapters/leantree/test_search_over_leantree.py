"""A search over a LeanTree server: prover, broker, lean-proxy, HTTP, server, Lean; and the server dies on the way."""

from __future__ import annotations

import asyncio

import pytest

from common.bus import Bus, BusSettings, BusyError
from common.lean import OutcomeKind, Theorem
from common.life.process import kill_group
from common.protocol import subjects
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import LeanRunReply, LeanRunRequest, LeanVerifyReply, LeanVerifyRequest
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from tests.conftest import lean_proxy_process
from tests.node.lean.adapters.leantree.servers import start_server
from tests.results import results
from tests.waiting import eventually

THEOREM = Theorem("t", "(α : Type) (P Q : α → Prop)", "(∃ x, P x ∧ Q x) → (∃ x, P x) ∧ (∃ x, Q x)")
EASY = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
async def test_search_over_a_server_proves_also_when_that_is_killed_on_the_way(
    bus: Bus, broker: BusSettings, killed: bool
) -> None:
    theorem = THEOREM if killed else EASY  # a long search to die in the middle of
    server, url = await start_server()
    settings = ProverSettings(policy="fixed", searches=1, poll_seconds=0.05)
    told: dict[str, float] = {}
    prover = Prover(bus, settings, "prover-1", lambda **values: told.update(values))
    stopping = asyncio.Event()
    try:
        async with lean_proxy_process(bus, broker, bus.run, "--lean.backend", "leantree", "--lean.leantree-url", url):
            attempt = Attempt(
                attempt_id="a", theorem_id="t", theorem=theorem, purpose=Purpose.TRAIN, simulations=64, seed=1
            )
            await bus.publish_durable(subjects.todo("train"), attempt, message_id="a")
            work = asyncio.create_task(prover.run(stopping))
            if killed:
                await eventually(lambda: prover.counts["simulations"] >= 2, timeout=90)
                await kill_group(server, grace=0)
                await nobody_answers(bus)
                server, again = await start_server(int(url.rpartition(":")[2]))
                assert again == url
            (result,) = await results(bus, 1, timeout=120)
            assert result.outcome == "proved", result.message
            asked = LeanVerifyRequest(theorem=theorem, script=result.script)
            verdict = await bus.request_patiently(
                subjects.LEAN_VERIFY, asked, LeanVerifyReply, timeout=60, deadline=120
            )
            assert verdict.accepted, verdict.reason
            stopping.set()
            await asyncio.wait_for(work, 30)
            assert told["outcome_proved"] >= 1 and told["outcome_goals"] >= 1
            assert killed or told["outcome_lost"] == 0
    finally:
        stopping.set()
        await kill_group(server, grace=0)


async def nobody_answers(bus: Bus) -> None:
    """The lean-proxy says `busy` with the server's address, and judges no tactic."""
    asked = LeanRunRequest(theorem=Theorem("t", "", "True"), tactics=("trivial", "skip"))
    try:
        reply = await bus.request(subjects.LEAN_RUN, asked, LeanRunReply, timeout=60)
    except BusyError as busy:
        assert "cannot be reached" in str(busy)
    else:
        assert [outcome.kind for outcome in reply.outcomes] == [OutcomeKind.LOST] * 2
