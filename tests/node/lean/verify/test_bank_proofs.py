"""The bank's own steps through the lean-proxy: a search sees the same states as the bank's generator."""

import asyncio
import random
from collections import defaultdict

import pytest

from common.lean import OutcomeKind, Theorem
from common.protocol.messages import LeanRunRequest
from node.bank.bank import BankTransition, load_statements, load_transitions
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions

pytestmark = pytest.mark.lean


def sample(number: int) -> list[tuple[Theorem, list[BankTransition]]]:
    """Theorems of the train set with all their transitions."""
    theorems = {bank.theorem.name: bank.theorem for bank in load_statements("train")}
    steps = defaultdict(list)
    for transition in load_transitions():
        if transition.theorem in theorems:
            steps[transition.theorem].append(transition)
    names = random.Random(1).sample(sorted(steps), number)
    return [(theorems[name], steps[name]) for name in names]


async def check_first_steps(requests: Requests, theorem: Theorem, steps: list[BankTransition]) -> None:
    """The state that Lean shows is the bank's; its tactic leaves goals or none, as the bank says."""
    opened = await requests.run(LeanRunRequest(theorem=theorem))
    first = [step for step in steps if step.state == opened.state]
    assert first, f"{theorem.signature}\n{opened.state}"
    tactics = tuple(step.tactic for step in first)
    reply = await requests.run(LeanRunRequest(theorem=theorem, tactics=tactics))
    for step, outcome in zip(first, reply.outcomes, strict=True):
        expected = OutcomeKind.PROVED if step.remaining_steps == 1 else OutcomeKind.GOALS
        assert outcome.kind is expected, f"{theorem.signature}\n{step.tactic}\n{outcome}"


async def check_theorems(theorems: list[tuple[Theorem, list[BankTransition]]]) -> None:
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(), workers=2, queue=10_000)
    pool.start()
    requests = Requests(pool, OutcomeCache(1000), longest=30)
    await asyncio.gather(*(check_first_steps(requests, theorem, steps) for theorem, steps in theorems))
    await pool.stop()


async def test_the_banks_first_steps_do_what_the_bank_says():
    await check_theorems(sample(10))
