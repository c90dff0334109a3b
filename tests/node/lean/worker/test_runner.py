"""Headers of a worker: changed without a new process where nothing else is imported."""

import resource
from random import Random

import pytest

from common.lean import OutcomeKind, Theorem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.process import CPU_SECONDS_BEYOND, LeanProcess, WorkerOptions
from node.lean.worker.runner import Runner

pytestmark = pytest.mark.lean


@pytest.fixture
async def runner():
    runner = Runner(LeanToolchain.pocket(), WorkerOptions())
    yield runner
    await runner.stop()


async def kind(runner: Runner, header: str, tactic: str, conclusion: str = "Nat.succ 0 = 1") -> OutcomeKind:
    plan = BatchPlan(Theorem("t", "", conclusion, header), (), {0: tactic})
    await runner.run(plan, timeout=20)
    return plan.bad_statement or plan.outcomes[0].kind


async def test_lean_is_not_asked_twice_unless_it_has_not_spoken_of_the_document(runner):
    plans = [
        # Batches whose states differ in one letter: what Lean's server wrongly keeps would be told of the next.
        BatchPlan(Theorem("t", "", f"{number} = {number}"), (), {0: tactic, 1: "rfl"}, state=f"⊢ {number} = {number}")
        for number, tactic in enumerate(["skip", "exact )", "skip", "assumption", "skip"])
    ]
    for number, plan in enumerate(plans):
        await runner.run(plan, timeout=20)
        assert plan.outcomes[1].kind is OutcomeKind.PROVED
        if plan.candidates[0] == "skip":
            assert plan.outcomes[0].branches[0].state == f"⊢ {number} = {number}"
    assert runner.process.edits <= 2 * len(plans) + 3


HEADER_LINES = ("open Nat", "-- a note", "set_option maxRecDepth 600", "/- another -/", "section")


@pytest.mark.parametrize("imported", ["", "import Pocket.Logic"])
async def test_headers_that_change_with_every_other_request_are_read_as_they_are(runner, imported):
    """Lines come and go at the end, in the middle, all at once: what Lean's server keeps must not be the old ones."""
    random, lines, pids = Random(1), [], set()
    for _ in range(24):
        change = random.random()
        if change < 0.3 and len(lines) < 6:
            lines.append(f"def a{len(lines)} : Nat := {random.randrange(9)}")
        elif change < 0.4 and lines:
            lines[random.randrange(len(lines))] = random.choice(HEADER_LINES)
        elif change < 0.55:
            lines = lines[: random.randrange(len(lines) + 1)]
        header = "\n".join(([imported] if imported else []) + lines)
        values = {line.split()[1]: int(line.split()[-1]) for line in lines if line.startswith("def")}
        name = f"a{random.randrange(len(lines) + 1)}"
        value = values.get(name, 0)
        found = await kind(runner, header, "rfl", f"{name} = {value}")
        assert found is OutcomeKind.PROVED if name in values else f"identifier `{name}`" in found
        if name in values:
            assert await kind(runner, header, "rfl", f"{name} = {value + 1}") is OutcomeKind.ERROR
        pids.add(runner.process.pid)
    assert len(pids) == 1 and runner.restarts == 0


async def test_two_headers_in_turn_cost_no_process_and_no_document_twice(runner):
    """One is the other's beginning, which is where Lean's server would go wrong; the last document is a brief one."""
    shorter, longer = "def one := 1", "def one := 1\ndef two := 2"
    assert await kind(runner, shorter, "rfl", "one = 1") is OutcomeKind.PROVED
    pid, edits = runner.process.pid, runner.process.edits
    rounds = 10
    for _ in range(rounds):
        assert await kind(runner, longer, "rfl", "two = 2") is OutcomeKind.PROVED
        assert "`two`" in await kind(runner, shorter, "rfl", "two = 2")
    assert runner.process.pid == pid and runner.restarts == 0
    # A turn to the header, a batch, and a confirmation of what was proved.
    assert runner.process.edits - edits <= rounds * (3 + 3)


async def test_a_worker_that_nobody_watches_is_ended_by_the_system_soon_after_its_deadline():
    process = await LeanProcess.start(LeanToolchain.pocket(), WorkerOptions(), "")
    try:
        before = process.cpu_seconds()
        await process.edit("example : True := trivial\n", silence=20, limit=20)
        limit, _ = resource.prlimit(process.pid, resource.RLIMIT_CPU)
        # Elaboration may use two threads.
        assert int(before + 2 * 20) <= limit <= process.cpu_seconds() + 2 * 20 + CPU_SECONDS_BEYOND
    finally:
        await process.kill()
