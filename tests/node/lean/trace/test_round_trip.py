"""Traces can be replayed: traced proofs of the bank's train set replay step by step to "proved".

The proofs are written into .lean files as they are, traced, and every step is played through the lean-proxy's own code:
the same state as recorded, the same branches, the same number of remaining steps, and nothing left at the end.
"""

import asyncio
import random
from pathlib import Path

import pytest

from common.lean import Theorem
from data.generators.lean_check import load_truth
from node.bank.bank import BankTransition, load_statements
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.records import TracedTheorem
from node.lean.trace.tracing import Tracer
from tests.node.lean.backends import worker
from tests.node.lean.replaying import replay

pytestmark = pytest.mark.lean

CHUNK = 100
"""Theorems in one file: enough to hide Lean's start."""


def proofs() -> list[tuple[Theorem, str]]:
    """Every proof of the train set: of the statement, or of its negation."""
    theorems, truth = [each.theorem for each in load_statements("train")], load_truth()
    return [(truth[each.name].goal(each), truth[each.name].script) for each in theorems]


def transitions(traced: TracedTheorem) -> list[BankTransition]:
    [block] = traced.blocks
    return [BankTransition(traced.name, 1, "", step.state, step.tactic, step.remaining_steps) for step in block.steps]


async def replayed(theorems: list[tuple[Theorem, list[BankTransition]]]) -> list[str]:
    """The problems of all these proofs."""
    async with worker(queue=100_000) as pool:
        requests = Requests(pool, OutcomeCache(10_000), longest=30)
        problems = await asyncio.gather(*(replay(requests, theorem, rows) for theorem, rows in theorems))
    return [problem for problem in problems if problem]


async def round_trip(part: list[tuple[Theorem, str]], folder: Path) -> list[str]:
    """The problems of these proofs when traced in one file."""
    text = "\n\n".join(f"{theorem.signature} := by\n{proof}" for theorem, proof in part)
    traced = (await Tracer(LeanToolchain.pocket(), folder).trace(text, "bank.lean")).theorems
    if [each.name for each in traced] != [theorem.name for theorem, _ in part]:
        return [f"{len(traced)} theorems are traced, beginning with {traced[:1]}; the file has {len(part)}"]
    failed = [f"{each.name}: {each.error}" for each in traced if each.error]
    good = [(theorem, each) for (theorem, _), each in zip(part, traced, strict=True) if not each.error]
    whole = [f"{each.name} is not split: {each.blocks[0].unsplit}" for _, each in good if not each.blocks[0].split]
    return failed + whole + await replayed([(theorem, transitions(each)) for theorem, each in good])


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("number", [2, pytest.param(6000, marks=pytest.mark.slow)])
async def test_traced_proofs_of_the_bank_replay_to_proved(tmp_path, number):
    chosen = random.Random(5).sample(proofs(), number)
    for first in range(0, number, CHUNK):
        assert await round_trip(chosen[first : first + CHUNK], tmp_path) == []


async def test_traced_examples_of_every_construct_replay_to_proved(theorems):
    chosen = []
    for name, traced in theorems.items():
        # Those in the namespace need its variables; the others stand for themselves.
        if name and "." not in name and not traced.error:
            header, _, conclusion = traced.statement.removeprefix(f"theorem {name}").partition(") : ")
            binders = f"{header.strip()})" if conclusion else ""
            chosen.append((Theorem(name, binders, conclusion or header.lstrip(" :")), transitions(traced)))
    assert len(chosen) == 16 and await replayed(chosen) == []
