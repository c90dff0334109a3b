"""Each candidate of a batch does what it does alone. Workers loop, grow, die or are killed: their requests are
answered, and the others notice nothing."""

import asyncio

import pytest

from common.lean import Outcome, OutcomeKind, Step, Theorem
from common.protocol.messages import LeanRunRequest
from node.lean.backend import OutcomeCache, TacticBatch
from node.lean.requests import Requests, screen
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import Frame
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import LeanProcess, WorkerOptions
from tests.node.lean.backends import run, started, worker
from tests.node.lean.corpus import PARSER, Case, asked_alone, corpus

pytestmark = pytest.mark.lean


@pytest.fixture
async def pool():
    async with worker() as pool:
        yield pool


async def batched(pool: Pool, cases: list[Case], together: int, messages: bool) -> dict[Case, Outcome]:
    """Outcomes of a corpus, `together` candidates of one state at a time. Without messages the states are known before,
    as in a search, so that documents are terse."""
    requests = Requests(pool, OutcomeCache(0 if messages else 100_000), longest=20)
    groups: dict = {}
    for case in cases:
        groups.setdefault((case.theorem, case.path), []).append(case)
    outcomes = {}
    for (theorem, path), group in groups.items():
        if not messages:
            await requests.run(LeanRunRequest(theorem=theorem, path=path))
        for start in range(0, len(group), together):
            part = group[start : start + together]
            tactics = tuple(case.tactic for case in part)
            request = LeanRunRequest(theorem=theorem, path=path, tactics=tactics, timeout=10, messages=messages)
            reply = await requests.run(request)
            outcomes |= dict(zip(part, reply.outcomes, strict=True))
    return outcomes


async def alone(case: Case, parentheses: bool, process: list[LeanProcess]) -> Outcome:
    """One candidate alone; a process that it ended is replaced."""
    if not process or not process[-1].alive:
        process.append(await LeanProcess.start(LeanToolchain.pocket(), WorkerOptions(), Frame("").opening()))
    return await asked_alone(process[-1], case, parentheses=parentheses)


async def compare(pool: Pool, seed: int, *, states: int, size: int, together: int, messages: bool) -> dict[str, int]:
    """Run a corpus batched and alone; returns how many outcomes of each kind there were, how many `unclosed`, and how
    many errors without a message (`silent`).

    `unclosed` candidates are those that Lean accepts only because of what happens to stand behind them (`;`, which is
    nothing before a line's end): a batch must call them errors, as Lean does when it sees them in parentheses.
    """
    cases = await corpus(pool, seed, states=states, size=size)
    kinds = {"unclosed": 0, "silent": 0}
    process: list[LeanProcess] = []
    try:
        for case, outcome in (await batched(pool, cases, together, messages)).items():
            kinds[outcome.kind.value] = kinds.get(outcome.kind.value, 0) + 1
            kinds["silent"] += outcome.kind is OutcomeKind.ERROR and not outcome.message
            if outcome.kind is OutcomeKind.REFUSED:
                assert screen(case.tactic) == outcome
                continue
            expected = await alone(case, False, process)
            if outcome.kind is OutcomeKind.ERROR and expected.kind is not OutcomeKind.ERROR:
                expected = await alone(case, True, process)
                kinds["unclosed"] += 1
                assert PARSER.match(expected.message), f"{case}\nbatched: {outcome}\nalone: {expected}"
            same = (outcome.kind, outcome.branches) == (expected.kind, expected.branches)
            assert same, f"{case}\nbatched: {outcome}\nalone: {expected}"
    finally:
        for one in process:
            await one.kill()
    return kinds


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("messages", [True, False])
@pytest.mark.parametrize(
    ("states", "size", "slow_seconds"),
    [
        (8, 90, 10.0),
        pytest.param(60, 2000, 10.0, marks=pytest.mark.slow),
        pytest.param(8, 90, 0.0, marks=pytest.mark.slow, id="states-kept"),
    ],
)
async def test_a_batch_shows_what_each_candidate_does_alone(pool, states, size, slow_seconds, messages):
    """Also where each theorem counts as slow, so that Lean goes on from states that it has kept."""
    pool.slow_seconds = slow_seconds
    found = await compare(pool, seed=8, states=states, size=size, together=16, messages=messages)
    assert min(found[kind] for kind in ("proved", "goals", "error", "refused")) > 0
    assert (found["silent"] > 0) is not messages and found["unclosed"] <= 20


async def test_what_a_candidate_assigns_is_taken_back_before_the_next_one(pool):
    theorem = Theorem("t", "", "∃ n, 3 ≤ n ∧ n ≤ 5")
    requests = Requests(pool, OutcomeCache(100_000), longest=20)
    (split,) = (await requests.run(LeanRunRequest(theorem=theorem, tactics=("apply Exists.intro",)))).outcomes
    path = (Step("apply Exists.intro", 0, split.layout),)
    expected = {
        "exact And.intro (Nat.le_refl 3) (Nat.le_add_right 3 2)": [],  # n := 3, and no goal is left
        "apply And.intro (Nat.le_succ 3)": ["⊢ Nat.succ 3 ≤ 5"],
        "apply And.intro (Nat.le_refl 3)": ["⊢ 3 ≤ 5"],
        "nothing": [],
        "skip": ["⊢ 3 ≤ ?m.1 ∧ ?m.1 ≤ 5\n\n⊢ Nat"],
    }
    kinds = ["proved", "goals", "goals", "error", "goals"]
    for pool.slow_seconds in (10.0, 0.0):  # in the second round, the first request makes the theorem slow
        for tactics in (["rfl"], expected):
            request = LeanRunRequest(theorem=theorem, path=path, tactics=tuple(tactics), messages=False)
            reply = await requests.run(request)
        assert [[branch.state for branch in outcome.branches] for outcome in reply.outcomes] == list(expected.values())
        assert [outcome.kind.value for outcome in reply.outcomes] == kinds
        requests = Requests(pool, OutcomeCache(100_000), longest=20)


TRUE = Theorem("t", "", "True")
FOR_EVER = "repeat (have := trivial)"


async def outcome_kinds(pool: Pool, theorem: Theorem, *tactics: str, timeout: float = 1.0) -> list[OutcomeKind]:
    return [outcome.kind for outcome in (await run(pool, theorem, (), *tactics, timeout=timeout)).outcomes]


async def test_heartbeats_end_a_tactic_before_the_clock_does():
    theorem = Theorem("t", "(f : Nat → Nat) (h : ∀ x, f x = f x + f x)", "f 0 = 1")
    async with started(Pool(LeanToolchain.pocket(), WorkerOptions(heartbeats=200), workers=1, queue=1)) as pool:
        found = await outcome_kinds(pool, theorem, "skip", "repeat rw [h]", "rfl", timeout=60)
        assert found == [OutcomeKind.GOALS, OutcomeKind.TIMEOUT, OutcomeKind.ERROR] and pool.restarts == 0


async def test_hostile_text_never_reaches_lean_and_deep_nesting_is_an_error(pool):
    deep = "exact " + "(" * 3000 + "trivial" + ")" * 3000
    hostile = ("x" * 100_000, "trivial\0", "\u202etrivial", "")
    kinds = await outcome_kinds(pool, TRUE, *hostile, "trivial", deep, timeout=20)
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
    assert plan.outcomes[0].kind is OutcomeKind.PROVED and plan.outcomes[1].kind is OutcomeKind.CRASHED


async def test_of_a_slow_theorem_each_process_keeps_a_part_of_the_search_and_none_is_missed():
    theorem = Theorem("t", "(p q : Nat → Prop) (f : ∀ n, p n → q n)", "(p 0 → q 0) ∧ (p 1 → q 1)")
    branches = []
    for branch in range(2):
        above = Step("constructor", branch, ((0,), (1,)))
        tactics = ("intro h", "have g := f _ h", "clear h", "revert g")
        paths = [(above, *map(Step, tactics[:depth])) for depth in range(len(tactics))]
        branches.append(list(zip(paths, tactics, strict=True)))
    used: list[int] = []
    options = WorkerOptions(spares=1)
    async with started(Pool(LeanToolchain.pocket(), options, workers=1, queue=10, slow_seconds=0.0)) as pool:
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
