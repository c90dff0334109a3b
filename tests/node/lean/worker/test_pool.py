"""Workers that loop, grow, die or are killed: their requests are answered, and the others notice nothing."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from common.lean import OutcomeKind, Step, Theorem
from common.protocol.messages import Busy, LeanRunReply, LeanRunRequest
from node.lean.backend import BackendFull, OutcomeCache
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions

pytestmark = pytest.mark.lean

TRUE = Theorem("t", "", "True")
FOR_EVER = "repeat (have := trivial)"
EATS_MEMORY = "have h : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"
ENDS_LATE = "iterate 60 (have h := And.intro h h)"
"""The tactic is quick; the proof term doubles sixty times, and the kernel never ends."""


def new_pool(workers: int = 1, queue: int = 100, memory_mb: int = 1024) -> Pool:
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(memory_mb=memory_mb), workers=workers, queue=queue)
    pool.start()
    return pool


@pytest.fixture
async def pool():
    pool = new_pool()
    yield pool
    await pool.stop()


async def run(pool: Pool, theorem: Theorem, *tactics: str, timeout: float = 1.0) -> list[OutcomeKind]:
    requests = Requests(pool, OutcomeCache(0), longest=60)
    reply = await requests.run(LeanRunRequest(theorem=theorem, tactics=tactics, timeout=timeout))
    assert isinstance(reply, LeanRunReply), reply
    return [outcome.kind for outcome in reply.outcomes]


async def until(condition, seconds: float = 30.0) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    """Whether a process is there and not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def test_a_tactic_that_loops_for_ever_times_out_and_its_neighbours_do_not(pool):
    kinds = await run(pool, TRUE, "trivial", FOR_EVER, "skip", "exact 1")
    assert kinds == [OutcomeKind.PROVED, OutcomeKind.TIMEOUT, OutcomeKind.GOALS, OutcomeKind.ERROR]
    assert await run(pool, TRUE, "trivial") == [OutcomeKind.PROVED]


async def test_a_proof_that_the_kernel_never_ends_with_times_out_alone(pool):
    theorem = Theorem("t", "(p : Prop) (h : p)", "True")
    assert await run(pool, theorem, "trivial", ENDS_LATE) == [OutcomeKind.PROVED, OutcomeKind.TIMEOUT]


async def test_heartbeats_end_a_tactic_before_the_clock_does():
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(heartbeats=200), workers=1, queue=1)
    pool.start()
    theorem = Theorem("t", "(f : Nat → Nat) (h : ∀ x, f x = f x + f x)", "f 0 = 1")
    assert await run(pool, theorem, "skip", "repeat rw [h]", "rfl", timeout=60) == [
        OutcomeKind.GOALS,
        OutcomeKind.TIMEOUT,
        OutcomeKind.ERROR,
    ]
    assert pool.restarts == 0
    await pool.stop()


async def test_a_tactic_that_eats_memory_is_killed_and_its_neighbours_are_not():
    pool = new_pool(memory_mb=200)
    kinds = await run(pool, TRUE, "trivial", EATS_MEMORY, "skip", timeout=60)
    assert kinds == [OutcomeKind.PROVED, OutcomeKind.MEMORY, OutcomeKind.GOALS]
    await pool.stop()


async def test_hostile_text_never_reaches_lean(pool):
    kinds = await run(pool, TRUE, "x" * 100_000, "trivial\0", "\u202etrivial", "", "trivial")
    assert kinds == [OutcomeKind.REFUSED] * 4 + [OutcomeKind.PROVED]


async def test_deep_nesting_is_an_error(pool):
    deep = "exact " + "(" * 3000 + "trivial" + ")" * 3000
    assert await run(pool, TRUE, "trivial", deep, timeout=20) == [OutcomeKind.PROVED, OutcomeKind.ERROR]


async def test_a_worker_that_is_killed_in_a_batch_is_replaced_and_the_request_answered(pool):
    asked = asyncio.create_task(run(pool, TRUE, "trivial", FOR_EVER, "skip", timeout=2))
    await until(lambda: pool.processes() and pool.processes()[0].edits > 0)
    os.kill(pool.processes()[0].pid, signal.SIGKILL)
    assert await asked == [OutcomeKind.PROVED, OutcomeKind.TIMEOUT, OutcomeKind.GOALS]
    assert pool.restarts >= 1


async def test_a_candidate_that_always_kills_its_worker_has_crashed_it(pool):
    plan = BatchPlan(TRUE, (), {0: "trivial", 1: FOR_EVER})

    async def kill_whoever_runs_it() -> None:
        while True:
            for process in pool.processes():
                if process.edits and process.cpu_seconds() > 0.5:  # busy for long: it runs the loop
                    process.child.kill_now()
            await asyncio.sleep(0.01)

    killer = asyncio.create_task(kill_whoever_runs_it())
    await pool.run(plan, timeout=60, warm=None)
    killer.cancel()
    assert plan.outcomes[0].kind is OutcomeKind.PROVED
    assert plan.outcomes[1].kind is OutcomeKind.CRASHED


async def test_a_slow_tactic_does_not_delay_another_request():
    pool = new_pool(workers=2)
    await asyncio.gather(run(pool, TRUE, "trivial"), run(pool, TRUE, "skip"))  # both workers have started
    slow = asyncio.create_task(run(pool, TRUE, FOR_EVER, timeout=20))
    await until(lambda: pool.waiting == 0)
    for tactic in ("skip", "trivial", "exact True.intro"):
        await run(pool, TRUE, tactic)
    assert not slow.done()
    slow.cancel()
    await pool.stop()


async def test_beyond_the_queue_the_answer_is_busy():
    pool = new_pool(workers=1, queue=2)
    requests = Requests(pool, OutcomeCache(10), longest=60)
    ask = [LeanRunRequest(theorem=TRUE, tactics=(FOR_EVER, f"exact {n}"), timeout=20) for n in range(4)]
    open_ = [asyncio.create_task(requests.run(request)) for request in ask[:3]]
    await until(lambda: pool.waiting == 2)
    busy = await requests.run(ask[3])
    assert isinstance(busy, Busy) and 0 < busy.retry_after <= 5
    with pytest.raises(BackendFull):
        await pool.run(BatchPlan(TRUE, (), {0: "skip"}), timeout=1, warm=None)
    for task in open_:
        task.cancel()
    await pool.stop()


async def test_a_stopped_pool_leaves_no_process(pool):
    await run(pool, TRUE, "trivial")
    pids = [process.pid for process in pool.processes()]
    assert pids and all(is_running(pid) for pid in pids)
    await pool.stop()
    assert not any(is_running(pid) for pid in pids)


async def test_outcomes_are_remembered_for_the_same_state_only(pool):
    requests = Requests(pool, OutcomeCache(100), longest=10)
    request = LeanRunRequest(theorem=TRUE, tactics=("trivial", "skip"))
    first, again = await requests.run(request), await requests.run(request)
    assert isinstance(first, LeanRunReply) and isinstance(again, LeanRunReply)
    assert again.outcomes == first.outcomes and again.state == first.state
    assert requests.counts.cache_hits == 2 and again.elapsed == 0
    await requests.run(LeanRunRequest(theorem=TRUE, path=(Step("skip"),), tactics=("trivial",)))
    await requests.run(LeanRunRequest(theorem=Theorem("t", "", "1 = 1"), tactics=("skip",)))
    assert requests.counts.cache_hits == 2
