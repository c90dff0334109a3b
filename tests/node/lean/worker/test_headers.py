"""A worker's processes by what their headers import, and the header that is loaded at the start."""

import asyncio
import resource
from contextlib import asynccontextmanager
from random import Random

import pytest

from common.lean import OutcomeKind, Theorem
from common.machine import Machine
from common.settings import LeanSettings
from node.lean.toolchain.find import find
from node.lean.toolchain.lean_toolchain import LeanProblem, LeanToolchain
from node.lean.worker import process
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool, StillLoading, prepare
from node.lean.worker.process import CPU_SECONDS_BEYOND, LeanProcess, WorkerOptions
from node.lean.worker.runner import Runner
from tests.node.lean.backends import started

pytestmark = pytest.mark.lean

LOGIC, NAT = "import Pocket.Logic", "import Pocket.Nat.Basic"


@asynccontextmanager
async def opened(settings: LeanSettings, options: WorkerOptions, workers: int = 1, memory_mb: int = 0):
    """`memory_mb`: of the machine; 0: the workers are as many as they are."""
    machine = Machine(cores=8, memory_mb=memory_mb) if memory_mb else None
    async with started(Pool(find(settings), options, workers=workers, queue=10, machine=machine)) as pool:
        yield pool


@pytest.fixture
async def pool():
    """One worker, which keeps one process for another header; it knows the header of a project."""
    async with opened(LeanSettings(), WorkerOptions(spares=1)) as pool:
        yield pool


async def kind(pool: Pool, header: str, tactic: str = "trivial", timeout: float = 20.0) -> OutcomeKind:
    plan = BatchPlan(Theorem("t", "", "True", header), (), {0: tactic})
    await pool.run(plan, timeout=timeout, warm=header)
    return plan.bad_statement or plan.outcomes[0].kind


def running(pool: Pool) -> list[int]:
    """The process of the worker, then those that wait for their header."""
    return [each.pid for each in pool.processes()]


async def test_a_process_waits_for_its_header_and_the_longest_unused_one_ends(pool):
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    (logic,) = running(pool)
    assert await kind(pool, NAT) is OutcomeKind.PROVED
    nat, waiting = running(pool)
    assert waiting == logic, "it waits for its header"
    assert await kind(pool, f"{LOGIC}\nopen Nat") is OutcomeKind.PROVED
    assert running(pool) == [logic, nat]
    assert await kind(pool, "") is OutcomeKind.PROVED
    new, waiting = running(pool)
    assert waiting == logic and new not in (logic, nat), "of two, the one that was used last is kept"
    assert pool.restarts == 0


async def test_a_tactic_out_of_time_does_not_cost_the_process(pool, monkeypatch):
    monkeypatch.setattr(process, "RECALL_LEAST_SECONDS", 60.0)  # however slow this machine is
    monkeypatch.setattr(process, "RECALL_MOST_SECONDS", 60.0)
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    (before,) = running(pool)
    assert await kind(pool, LOGIC, "repeat (have := trivial)", timeout=0.3) is OutcomeKind.TIMEOUT
    assert await kind(pool, LOGIC) is OutcomeKind.PROVED
    assert running(pool) == [before] and pool.restarts == 0


async def test_at_the_start_the_header_is_loaded_by_as_many_workers_as_memory_holds():
    async with opened(LeanSettings(imports=["Pocket.Logic"]), WorkerOptions(), workers=4, memory_mb=700) as pool:
        first = await prepare(pool)
        assert pool.workers == 1, "of 700 MB half is Lean's, and a worker takes 300 MB and its header"
        assert pool.processes() == [first] and first.header_mb > 0


async def test_without_a_start_of_their_own_workers_wait_for_the_first_which_says_how_many_memory_holds():
    async with opened(LeanSettings(), WorkerOptions(spares=5), workers=4, memory_mb=1700) as pool:
        most: list[int] = []

        async def asked() -> OutcomeKind:
            outcome = await kind(pool, LOGIC)
            most.append(len(running(pool)))
            return outcome

        assert set(await asyncio.gather(*(asked() for _ in range(8)))) == {OutcomeKind.PROVED}
        assert pool.workers == 2 and max(most) <= 2, "850 MB hold two, and none to spare"


async def test_workers_that_somebody_has_chosen_stay_and_what_is_to_spare_becomes_less():
    async with opened(LeanSettings(), WorkerOptions(spares=5), workers=2, memory_mb=1700) as pool:
        pool.fixed = True
        headers = [LOGIC, NAT, "import Pocket.List.Basic", ""]
        for header in headers:
            assert await kind(pool, header) is OutcomeKind.PROVED
        assert pool.workers == 2 and len(running(pool)) == 2, "850 MB hold two"


async def test_while_the_first_worker_loads_a_header_all_who_wait_are_told_to_ask_again():
    async with opened(LeanSettings(), WorkerOptions(loading_seconds=0.0), workers=2, memory_mb=10_000) as pool:
        asked = await asyncio.gather(*(kind(pool, LOGIC) for _ in range(4)), return_exceptions=True)
        assert all(isinstance(each, StillLoading) for each in asked)
        assert await kind(pool, LOGIC) is OutcomeKind.PROVED


@pytest.mark.parametrize(
    ("settings", "options", "says"),
    [
        (LeanSettings(), WorkerOptions(start_seconds=0.001), "raise [lean] header_seconds"),
        (LeanSettings(opens=["Nope"]), WorkerOptions(), "correct opens and options in [lean]"),
        (LeanSettings(options=["no.such=1"]), WorkerOptions(), "set_option no.such 1"),
    ],
)
async def test_what_is_wrong_with_the_header_is_told_at_the_start(settings, options, says):
    async with opened(settings, options) as pool:
        with pytest.raises(LeanProblem) as caught:
            await prepare(pool)
    assert says in str(caught.value) and "Lean 4.35.0 (pocket Lean)" in str(caught.value)


async def test_who_waits_for_a_header_is_told_to_ask_again_and_the_loading_goes_on():
    async with opened(LeanSettings(), WorkerOptions(loading_seconds=0.0)) as pool:
        with pytest.raises(StillLoading):
            await kind(pool, LOGIC)
        assert await kind(pool, LOGIC) is OutcomeKind.PROVED, "the worker is free when it has loaded the header"
        assert pool.restarts == 0 and len(running(pool)) == 1


@pytest.fixture
async def runner():
    runner = Runner(LeanToolchain.pocket(), WorkerOptions())
    yield runner
    await runner.stop()


async def kind_on(runner: Runner, header: str, tactic: str, conclusion: str = "Nat.succ 0 = 1") -> OutcomeKind:
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
        found = await kind_on(runner, header, "rfl", f"{name} = {value}")
        assert found is OutcomeKind.PROVED if name in values else f"identifier `{name}`" in found
        if name in values:
            assert await kind_on(runner, header, "rfl", f"{name} = {value + 1}") is OutcomeKind.ERROR
        pids.add(runner.process.pid)
    assert len(pids) == 1 and runner.restarts == 0


async def test_two_headers_in_turn_cost_no_process_and_no_document_twice(runner):
    """One is the other's beginning, which is where Lean's server would go wrong; the last document is a brief one."""
    shorter, longer = "def one := 1", "def one := 1\ndef two := 2"
    assert await kind_on(runner, shorter, "rfl", "one = 1") is OutcomeKind.PROVED
    pid, edits = runner.process.pid, runner.process.edits
    rounds = 10
    for _ in range(rounds):
        assert await kind_on(runner, longer, "rfl", "two = 2") is OutcomeKind.PROVED
        assert "`two`" in await kind_on(runner, shorter, "rfl", "two = 2")
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
