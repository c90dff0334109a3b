"""What every backend has to do, whatever runs Lean: the same outcomes for the same candidates, and no harm done.

Tests with `each_backend` run on every backend in the default tier: outcomes, the corpus compared with workers, paths,
statements, the end of all processes. The others run on workers by default and on all backends in the slow tier.
"""

import asyncio
import contextlib
import os
import random
import signal
from functools import cache

import psutil
import pytest

from common.lean import BadStatement, OutcomeKind, Step, Theorem
from common.protocol.messages import Failure, LeanRunRequest
from node.lean.backend import Backend, BackendFull, TacticBatch
from tests.background import Elsewhere
from tests.node.lean.backends import BACKENDS, PATIENCE, requests_on, run
from tests.node.lean.corpus import corpus
from tests.node.lean.tables import cells
from tests.waiting import eventually

pytestmark = pytest.mark.lean

PROVED, GOALS, ERROR = OutcomeKind.PROVED, OutcomeKind.GOALS, OutcomeKind.ERROR
REFUSED, TIMEOUT, LOST = OutcomeKind.REFUSED, OutcomeKind.TIMEOUT, OutcomeKind.LOST

TRUE = Theorem("t", "", "True")
AND = Theorem("t", "(p q : Prop)", "p ∧ q → q ∧ p")
EXISTS = Theorem("t", "", "∃ n : Nat, n = 49 ∧ n = 49")

FOR_EVER = "repeat (have := trivial)"

WORKER_FIRST = [name if name == "worker" else pytest.param(name, marks=pytest.mark.slow) for name in BACKENDS]


@pytest.fixture(scope="module")
def started(background):
    """Gives a backend by its name. Each is started once, in the thread of what tests share."""
    with contextlib.ExitStack() as stack:
        yield cache(lambda name: Elsewhere(background, stack.enter_context(background.opened(BACKENDS[name]()))))


@pytest.fixture(params=list(BACKENDS))
def each_backend(request, started):
    return started(request.param)


@pytest.fixture(params=WORKER_FIRST)
def backend(request, started):
    return started(request.param)


@pytest.fixture(params=WORKER_FIRST)
async def own_backend(request):
    """For a test that kills its processes."""
    async with BACKENDS[request.param]() as backend:
        yield backend


async def kinds(backend: Backend, theorem: Theorem, *tactics: str, timeout: float = PATIENCE) -> list[OutcomeKind]:
    return [outcome.kind for outcome in (await run(backend, theorem, (), *tactics, timeout=timeout)).outcomes]


async def steps(backend: Backend, theorem: Theorem, *moves: str | tuple[str, int]) -> tuple[Step, ...]:
    """The path of these tactics, each with the branch to follow."""
    path: tuple[Step, ...] = ()
    for move in moves:
        tactic, branch = move if isinstance(move, tuple) else (move, 0)
        (outcome,) = (await run(backend, theorem, path, tactic)).outcomes
        assert outcome.kind is GOALS, outcome
        path = (*path, Step(tactic, branch, outcome.layout))
    return path


OUTCOMES = {
    PROVED: r"exact fun h => ⟨h.2, h.1⟩ ¦ intro h; exact ⟨h.2, h.1⟩ ¦ intro h\nconstructor\n· exact h.2\n· exact h.1"
    r" ¦ intro ⟨hp, hq⟩\nexact And.intro hq hp",
    # The last two only look like proofs.
    GOALS: "intro h ¦ skip ¦ have h2 : True := trivial ¦ intro ⟨hα, h₁'⟩ ¦ intro h; ¦ refine ?x ¦ apply ?x",
    # With and without Lean's recovery from the error, unparsable, and like proofs.
    ERROR: r"""
rfl ¦ exact h ¦ exact nothing ¦ intro h; exact h ¦ constructor ¦ have h3 : q ∧ p := by exact nothing\nskip
intro h; constructor; exact h.2; exact h.1; trivial ¦ exat 42 ¦ exact ¦ exact ( ¦ 𝔸 ⊢ ∀ 🎉
exact _ ¦ intro h; exact ⟨?a, ?b⟩ ¦ exact t
""",
    REFUSED: "sorry ¦ exact? ¦ stop",
}
CANDIDATES = dict(sorted((tactic, kind) for kind, tactics in OUTCOMES.items() for tactic in cells(tactics)))
"""Good and bad ones beside each other."""


async def test_each_candidate_has_the_outcome_that_it_has_in_a_file(each_backend):
    reply = await run(each_backend, AND, (), *CANDIDATES)
    assert reply.state == "p q : Prop\n⊢ p ∧ q → q ∧ p"
    found = dict(zip(CANDIDATES, reply.outcomes, strict=True))
    assert {tactic: outcome.kind for tactic, outcome in found.items()} == CANDIDATES
    assert found["intro ⟨hα, h₁'⟩"].branches[0].state == "p q : Prop\nhα : p\nh₁' : q\n⊢ q ∧ p"
    assert "nothing" in found["exact nothing"].message


async def test_goals_that_share_no_metavariable_are_branches_of_their_own(backend):
    (split,) = (await run(backend, AND, await steps(backend, AND, "intro h"), "constructor")).outcomes
    assert split.layout == ((0,), (1,))
    assert [branch.state for branch in split.branches] == ["p q : Prop\nh : p ∧ q\n⊢ q", "p q : Prop\nh : p ∧ q\n⊢ p"]

    # A tactic on one branch sees nothing of the other, and closes nothing but its own.
    for branch, tactic in enumerate(["exact h.2", "exact h.1"]):
        path = await steps(backend, AND, "intro h", ("constructor", branch))
        reply = await run(backend, AND, path, tactic, f"all_goals {tactic}", "skip", "exact h", "case left => skip")
        outcomes = [outcome.kind for outcome in reply.outcomes]
        assert outcomes[:4] == [PROVED, PROVED, GOALS, ERROR]
        assert reply.outcomes[2].layout == ((0,),)


async def test_goals_that_share_a_metavariable_stay_together(backend):
    (split,) = (await run(backend, EXISTS, (), "refine ⟨?n, ?l, ?r⟩")).outcomes
    (together,) = split.branches
    assert together.goals == (0, 1, 2)
    path = (Step("refine ⟨?n, ?l, ?r⟩", 0, split.layout),)
    reply = await run(backend, EXISTS, path, "exact 49", "case l => rfl", "case r => exact (rfl : 49 = 49)", "exact 7")
    assert [outcome.kind for outcome in reply.outcomes] == [GOALS] * 4
    assert [outcome.layout for outcome in reply.outcomes] == [((0,), (1,)), ((0,),), ((0,),), ((0,), (1,))]
    wrong = (*path, Step("exact 7", 1, reply.outcomes[3].layout))
    reply = await run(backend, EXISTS, wrong, "rfl", "skip")
    assert [outcome.kind for outcome in reply.outcomes] == [ERROR, GOALS]


OTHERS = [name for name in BACKENDS if name != "worker"]


@pytest.mark.parametrize(("states", "size"), [(8, 30), pytest.param(60, 1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OTHERS)
async def test_a_seeded_corpus_has_the_same_outcomes_as_on_workers(name, states, size, started):
    await compare(started(name), started("worker"), seed=3, states=states, size=size)


async def compare(backend: Backend, reference: Backend, *, seed: int, states: int, size: int) -> None:
    """Outcomes of a corpus on two backends: the kinds, and every branch."""
    cases = await corpus(reference, seed, states=states, size=size)
    by_state: dict[tuple[Theorem, tuple[Step, ...]], list[str]] = {}
    for case in cases:
        by_state.setdefault((case.theorem, case.path), []).append(case.tactic)
    random.Random(seed).shuffle(cases)
    differ = []
    for (theorem, path), tactics in by_state.items():
        one, other = await run(reference, theorem, path, *tactics), await run(backend, theorem, path, *tactics)
        assert one.state == other.state
        for tactic, first, second in zip(tactics, one.outcomes, other.outcomes, strict=True):
            if (first.kind, first.branches) != (second.kind, second.branches):
                differ.append((theorem, path, tactic, first, second))
    assert differ == []


async def test_a_proof_that_the_kernel_never_ends_with_times_out_alone(backend):
    theorem = Theorem("t", "(p : Prop) (h : p)", "True")
    ends_late = "iterate 60 (have h := And.intro h h)"  # the term doubles sixty times
    assert await kinds(backend, theorem, "trivial", ends_late, timeout=0.5) == [PROVED, TIMEOUT]


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKENDS)
async def test_a_tactic_that_eats_memory_is_ended_and_its_neighbours_are_not(name):
    eats = "have h : (Nat.rec 0 (fun n x => x + n) 100000000 : Nat) = 5 := by decide +kernel"
    async with BACKENDS[name](memory_mb=200) as backend:
        assert await kinds(backend, TRUE, "trivial", eats, "skip") == [PROVED, OutcomeKind.MEMORY, GOALS]


async def test_a_candidate_that_does_not_parse_is_an_error_though_half_of_it_runs_for_ever(backend):
    half = f"{FOR_EVER}\nexat 42"
    reply = await run(backend, TRUE, (), half, "trivial", timeout=0.5)
    assert [outcome.kind for outcome in reply.outcomes] == [ERROR, PROVED]
    assert "unknown tactic" in reply.outcomes[0].message or "expected" in reply.outcomes[0].message


async def test_neither_a_loop_nor_the_kill_of_a_process_costs_the_neighbours_their_outcomes(own_backend):
    backend = own_backend
    assert await kinds(backend, TRUE, "trivial") == [PROVED]
    before = cpu_of_children()
    asked = asyncio.create_task(run(backend, TRUE, (), "trivial", FOR_EVER, "skip", "exact 1", timeout=1))
    while True:
        if asked.done() or kill_one_that_works(before):
            break
        await asyncio.sleep(0.01)
    assert [outcome.kind for outcome in (await asked).outcomes] == [PROVED, TIMEOUT, GOALS, ERROR]
    assert await kinds(backend, TRUE, "trivial") == [PROVED]


def cpu_of_children() -> dict[int, float]:
    """CPU seconds of each process of ours, with all that it has started."""
    used = {}
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            family = [child, *child.children(recursive=True)]
            used[child.pid] = sum(sum(process.cpu_times()[:2]) for process in family)
    return used


def kill_one_that_works(before: dict[int, float]) -> bool:
    """Kill a process that has used CPU since `before`, if there is one: whichever kind the backend starts."""
    for pid, used in cpu_of_children().items():
        if pid in before and used > before[pid] + 0.1:
            os.kill(pid, signal.SIGKILL)
            return True
    return False


async def test_a_path_that_does_not_replay_loses_its_candidates(each_backend):
    reply = await run(each_backend, AND, [Step("intro nothing nowhere no")], "simp", "rfl")
    assert [outcome.kind for outcome in reply.outcomes] == [LOST] * 2
    assert "did not replay" in reply.outcomes[0].message


async def test_bad_statements_are_refused_with_leans_own_message(each_backend):
    bad = {
        ("(p : Prop)", "p ∧ q", ""): "Unknown identifier `q`",
        ("", "1 +", ""): "expected term",
        ("", "Nat", ""): "Type mismatch",
        ("", "True", "open Nowhere.At.All"): "Nowhere.At.All",
    }
    for (binders, conclusion, header), says in bad.items():
        with pytest.raises(BadStatement, match=says):
            await each_backend.attempt(TacticBatch(Theorem("t", binders, conclusion, header), timeout=PATIENCE))
    reply = await requests_on(each_backend).run(LeanRunRequest(theorem=Theorem("t", "(n : Nat", "n = n")))
    assert isinstance(reply, Failure) and reply.kind == "bad-statement"


async def test_each_theorem_has_its_own_header(backend):
    opened = Theorem("t", "", "succ 0 = 1", "open Nat")
    for _ in range(2):
        assert await kinds(backend, opened, "rfl") == [PROVED]
        with pytest.raises(BadStatement):
            await backend.attempt(TacticBatch(Theorem("t", "", "succ 0 = 1"), timeout=PATIENCE))


@pytest.mark.parametrize("name", WORKER_FIRST)
async def test_beyond_the_queue_the_backend_is_full(name):
    async with BACKENDS[name](queue=1) as backend:
        batches = [TacticBatch(TRUE, tactics=(f"exact {number}",), timeout=PATIENCE) for number in range(12)]
        results = await asyncio.gather(*map(backend.attempt, batches), return_exceptions=True)
        full = [result for result in results if isinstance(result, BackendFull)]
        assert 0 < len(full) < 12 and all(0 < error.retry_after <= 5 for error in full)
        assert all(isinstance(result, BackendFull) or result.outcomes[0].kind is ERROR for result in results)


@pytest.mark.parametrize("name", list(BACKENDS))
async def test_a_stopped_backend_leaves_no_process(name):
    before = set(psutil.Process().children(recursive=True))
    async with BACKENDS[name]() as backend:
        await run(backend, TRUE, (), "trivial")
        assert backend.live == 1
        looping = asyncio.create_task(backend.attempt(TacticBatch(TRUE, tactics=(FOR_EVER,), timeout=PATIENCE)))
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await looping

    def gone() -> bool:
        return not any(child.is_running() for child in set(psutil.Process().children(recursive=True)) - before)

    await eventually(gone, what="the end of all processes")
