"""Attempts with budgets: what ends them, what they report, and that anytime results are those of smaller budgets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from common.bus import Unanswered
from common.lean import Outcome, Step
from common.protocol.attempts import AttemptOutcome, AttemptResult, Ended, Method
from node.prover.agent import IDLE_SIMULATIONS, Agent, Playing
from node.prover.policies.policy import Advice, BadAdvice, Proposal
from node.prover.search.methods import METHODS
from tests.node.prover.toys import ERROR, LOST, ToyLean, ToyPolicy, attempt

every_method = pytest.mark.parametrize("method", METHODS)


async def play(seed: int, *, closing: int = 40, leaves: int = 4, jitter: int = 0, **changes: object) -> AttemptResult:
    lean = ToyLean(seed, closing=closing)
    wanted = attempt(**{"simulations": 40, **changes})  # type: ignore[arg-type]
    return await Agent(wanted, ToyPolicy(jitter), lean, Playing("p", leaves=leaves)).play()


@every_method
async def test_attempts_do_not_depend_on_the_order_of_arrival(method: Method) -> None:
    for budget in ({"simulations": 40}, {"simulations": 0, "lean_attempts": 201}):
        results = [await play(3, closing=10_000, jitter=jitter, method=method, **budget) for jitter in range(3)]
        assert len({(r.statistics.simulations, r.statistics.nodes, r.statistics.tactics_failed) for r in results}) == 1


@every_method
async def test_a_larger_budget_of_simulations_tells_what_every_smaller_one_would_have_proved(method: Method) -> None:
    for seed in range(6):
        whole = await play(seed, simulations=64, method=method)
        at = whole.statistics.solved_at_simulations
        assert (at > 0) == (whole.outcome is AttemptOutcome.PROVED)
        for simulations in {32, 48, max(32, at - 1), max(32, at)}:  # with 32 and more there are 4 leaves
            part = await play(seed, simulations=simulations, method=method)
            assert (part.outcome is AttemptOutcome.PROVED) == (0 < at <= simulations)
            assert part.proof is None or part.proof == whole.proof


@every_method
async def test_a_larger_budget_of_lean_attempts_tells_what_every_smaller_one_would_have_proved(method: Method) -> None:
    proved = 0
    for seed in range(8):
        whole = await play(seed, simulations=0, lean_attempts=200, leaves=1, method=method)
        at = whole.statistics.solved_at_lean_attempts
        proved += at > 0
        for lean_attempts in {8, 16, 32, max(1, at - 1), max(1, at)}:
            part = await play(seed, simulations=0, lean_attempts=lean_attempts, leaves=1, method=method)
            assert (part.outcome is AttemptOutcome.PROVED) == (0 < at <= lean_attempts)
            assert part.statistics.lean_attempts <= lean_attempts
    assert proved >= 2


@pytest.mark.parametrize("leaves", [1, 4])
async def test_no_more_tactics_are_sent_to_lean_than_the_budget_has(leaves: int) -> None:
    for lean_attempts in (1, 5, 50, 331):
        lean = ToyLean(3, closing=10_000)
        wanted = attempt(simulations=0, lean_attempts=lean_attempts)
        result = await Agent(wanted, ToyPolicy(1), lean, Playing("p", leaves=leaves)).play()
        statistics = result.statistics
        assert len(lean.ran) == statistics.lean_attempts == statistics.tactics_tried == lean_attempts
        assert (result.outcome, statistics.ended) == (AttemptOutcome.FAILED, Ended.LEAN_ATTEMPTS)
        assert result.message == f"{lean_attempts} Lean attempts"


async def test_what_the_policy_drew_is_counted() -> None:
    class Telling(ToyPolicy):
        async def advise(self, state: str, samples: int, seed: int) -> Advice:
            advice = await super().advise(state, samples, seed)
            return Advice(advice.proposals, advice.value, samples=samples, tokens=7 * samples)

    told = (await Agent(attempt(20), Telling(0), ToyLean(3, closing=10_000), Playing("p", leaves=1)).play()).statistics
    assert (told.samples, told.tokens) == (6 * 20, 42 * 20)
    silent = (await play(3, closing=10_000, simulations=20, leaves=1)).statistics
    assert silent.tactics_tried <= silent.samples < 6 * 20 and silent.tokens == 0, "distinct tactics alone are known"


async def test_a_policy_that_repeats_itself_does_not_search_for_ever() -> None:
    class Stubborn(ToyPolicy):
        async def advise(self, state: str, samples: int, seed: int) -> Advice:
            return Advice([Proposal("same", 1.0)], -3.0)

    class Refusing(ToyLean):
        async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
            return dict.fromkeys(tactics, ERROR)

    wanted = attempt(simulations=0, lean_attempts=100)
    result = await Agent(wanted, Stubborn(0), Refusing(1), Playing("p", leaves=1)).play()
    assert (result.outcome, result.statistics.ended) == (AttemptOutcome.FAILED, Ended.EXHAUSTED)
    assert result.statistics.simulations == IDLE_SIMULATIONS + 1


# --- what says nothing about the theorem is no failure ---------------------------------------------------------------


class StuckLean(ToyLean):
    """Answers as often as it is told to, then never again."""

    def __init__(self, answers: int, **changes: int) -> None:
        super().__init__(3, closing=10_000, **changes)
        self.answers = answers

    async def open(self) -> str:
        await self._answer()
        return await super().open()

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        await self._answer()
        return await super().run(path, tactics)

    async def _answer(self) -> None:
        if not self.answers:
            await asyncio.Event().wait()
        self.answers -= 1


@pytest.mark.parametrize(
    ("answers", "seconds", "outcome", "message"),
    [
        (0, 0.05, AttemptOutcome.ERROR, "0.05 seconds; over before the first simulation"),
        (1, 0.05, AttemptOutcome.ERROR, "0.05 seconds; over before the first simulation"),
        (6, 0.5, AttemptOutcome.UNDECIDED, "0.5 seconds"),
    ],
)
async def test_time_that_is_over_is_no_failure(
    answers: int, seconds: float, outcome: AttemptOutcome, message: str
) -> None:
    stuck = Agent(attempt(seconds=seconds), ToyPolicy(0), StuckLean(answers), Playing("p", leaves=4))
    result = await stuck.play()
    assert (result.outcome, result.message, result.statistics.ended) == (outcome, message, Ended.SECONDS)
    assert not result.outcome.decided
    assert stuck.search is None or stuck.search.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


@every_method
async def test_a_repeated_expansion_is_paid_once(method: Method) -> None:
    class Hiccup(ToyLean):
        """Loses one outcome of every third batch, the first time."""

        batches = 0

        async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
            outcomes = await super().run(path, tactics)
            self.batches += 1
            return {**outcomes, tactics[0]: LOST} if self.batches % 3 == 0 and tactics else outcomes

    wanted = attempt(simulations=0, lean_attempts=120, method=method)
    result = await Agent(wanted, ToyPolicy(0), Hiccup(3, closing=10_000), Playing("p", leaves=1)).play()
    statistics = result.statistics
    assert statistics.lean_attempts == statistics.tactics_tried == 120
    assert statistics.ended is Ended.LEAN_ATTEMPTS
    assert result.outcome is (AttemptOutcome.UNDECIDED if statistics.expansions_lost else AttemptOutcome.FAILED)


@pytest.mark.parametrize("error", [Unanswered("no inference node"), BadAdvice("nan")])
async def test_a_policy_that_fails_is_an_error(error: Exception) -> None:
    class Failing(ToyPolicy):
        async def advise(self, state: str, samples: int, seed: int) -> Advice:
            if len(self.calls) == 5:
                raise error
            return await super().advise(state, samples, seed)

    for budget in ({"simulations": 40}, {"simulations": 40, "lean_attempts": 500, "seconds": 60.0}):
        wanted = attempt(**budget)  # type: ignore[arg-type]
        result = await Agent(wanted, Failing(0), ToyLean(3, closing=10_000), Playing("p", leaves=4)).play()
        assert result.outcome is AttemptOutcome.ERROR and str(error) in result.message
        assert result.statistics.ended is None
