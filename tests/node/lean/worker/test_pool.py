"""Workers that loop, grow, die or are killed: their requests are answered, and the others notice nothing."""

import asyncio

import pytest

from common.lean import OutcomeKind, Step, Theorem
from common.protocol.messages import LeanRunReply, LeanRunRequest
from node.lean.backend import OutcomeCache, TacticBatch
from node.lean.requests import Requests
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import WorkerOptions

pytestmark = pytest.mark.lean

TRUE = Theorem("t", "", "True")
FOR_EVER = "repeat (have := trivial)"


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


async def test_hostile_text_never_reaches_lean_and_deep_nesting_is_an_error(pool):
    deep = "exact " + "(" * 3000 + "trivial" + ")" * 3000
    kinds = await run(pool, TRUE, "x" * 100_000, "trivial\0", "\u202etrivial", "", "trivial", deep, timeout=20)
    assert kinds == [OutcomeKind.REFUSED] * 4 + [OutcomeKind.PROVED, OutcomeKind.ERROR]


async def test_a_candidate_that_always_kills_its_worker_has_crashed_it(pool):
    plan = BatchPlan(TRUE, (), {0: "trivial", 1: FOR_EVER})

    async def kill_whoever_runs_it() -> None:
        while True:
            for process in pool.processes():
                if process.edits and process.cpu_seconds() > 0.3:  # busy for long: it runs the loop
                    process.child.kill_now()
            await asyncio.sleep(0.01)

    killer = asyncio.create_task(kill_whoever_runs_it())
    await pool.run(plan, timeout=60, warm=None)
    killer.cancel()
    assert plan.outcomes[0].kind is OutcomeKind.PROVED
    assert plan.outcomes[1].kind is OutcomeKind.CRASHED


async def test_of_a_slow_theorem_each_process_keeps_a_part_of_the_search_and_none_is_missed():
    theorem = Theorem("t", "(p q : Nat → Prop) (f : ∀ n, p n → q n)", "(p 0 → q 0) ∧ (p 1 → q 1)")
    branches = []
    for branch in range(2):
        above = Step("constructor", branch, ((0,), (1,)))
        tactics = ("intro h", "have g := f _ h", "clear h", "revert g")
        paths = [(above, *map(Step, tactics[:depth])) for depth in range(len(tactics))]
        branches.append(list(zip(paths, tactics, strict=True)))
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(spares=1), workers=1, queue=10, slow_seconds=0.0)
    pool.start()
    used: list[int] = []

    try:
        await pool.attempt(TacticBatch(theorem, (Step("skip"),), ("constructor",), 20.0))
        for depth, pair in enumerate(zip(*branches, strict=True)):
            for branch, (path, tactic) in enumerate(pair):
                result = await pool.attempt(TacticBatch(theorem, path, (tactic, "exact h"), 20.0, messages=False))
                used.append(pool.processes()[0].pid)
                assert [each.kind for each in result.outcomes] == [OutcomeKind.GOALS, OutcomeKind.ERROR]
                assert f"q {branch}" in result.outcomes[0].branches[0].state
                if depth == 2 and branch == 0:
                    pool.processes()[0].child.process.kill()
        assert used[2] == used[4] != used[3] == used[5], used
        assert used[6] != used[4], "the process that had kept these states was killed"
    finally:
        await pool.stop()
