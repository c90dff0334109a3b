"""What a candidate does in a batch, beside others good and bad, is what it does alone."""

import pytest

from common.lean import Outcome, OutcomeKind, Step, Theorem
from common.protocol.messages import LeanRunRequest
from node.lean.backend import OutcomeCache
from node.lean.requests import Requests, screen
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.document import Frame
from node.lean.worker.pool import Pool
from node.lean.worker.process import LeanProcess, WorkerOptions
from tests.node.lean.corpus import PARSER, Case, asked_alone, corpus

pytestmark = pytest.mark.lean


@pytest.fixture
async def pool():
    pool = Pool(LeanToolchain.pocket(), WorkerOptions(), workers=1, queue=100)
    pool.start()
    yield pool
    await pool.stop()


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


async def compare(
    pool: Pool, seed: int, *, states: int, size: int, together: int, messages: bool = True
) -> dict[str, int]:
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
            assert (outcome.kind, outcome.branches) == (expected.kind, expected.branches), (
                f"{case}\nbatched: {outcome}\nalone: {expected}"
            )
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
