"""A search over a REPL: prover, broker, lean-proxy, a REPL process, Lean; all as configured by [lean]."""

import asyncio
import shlex
import sys

import pytest

from common.lean import Theorem
from common.protocol import subjects
from common.protocol.attempts import Attempt, Purpose
from common.protocol.messages import LeanVerifyReply, LeanVerifyRequest
from node.prover.prover import Prover
from node.prover.settings import ProverSettings
from tests.conftest import lean_proxy_process
from tests.results import results

THEOREM = Theorem("t", "(α : Type) (P Q : α → Prop)", "(∃ x, P x ∧ Q x) → (∃ x, P x) ∧ (∃ x, Q x)")


@pytest.mark.slow
async def test_a_search_over_our_own_repl_finds_a_proof_that_is_accepted(bus, broker):
    command = f"{shlex.quote(sys.executable)} -m node.command.cli repl"
    prover = Prover(bus, ProverSettings(policy="fixed", searches=1, poll_seconds=0.05), "prover-1")
    stopping = asyncio.Event()
    async with lean_proxy_process(bus, broker, bus.run, "--lean.backend", "repl", "--lean.repl-command", command):
        attempt = Attempt(
            attempt_id="a", theorem_id="t", theorem=THEOREM, purpose=Purpose.TRAIN, simulations=64, seed=1
        )
        await bus.publish_durable(subjects.todo("train"), attempt, message_id="a")
        work = asyncio.create_task(prover.run(stopping))
        (result,) = await results(bus, 1, timeout=120)
        assert result.outcome == "proved", result.message
        asked = LeanVerifyRequest(theorem=THEOREM, script=result.script)
        verdict = await bus.request_patiently(subjects.LEAN_VERIFY, asked, LeanVerifyReply, timeout=60, deadline=120)
        assert verdict.accepted, verdict.reason
        stopping.set()
        await asyncio.wait_for(work, 30)
