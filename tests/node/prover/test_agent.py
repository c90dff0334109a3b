"""The agent in toy worlds: order, budgets, what it reports, and verification while its search is still there."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from common.bus import Unanswered
from common.lean import Outcome, OutcomeKind, ProofTree, Step
from common.proofs import transitions_of
from common.protocol.attempts import AttemptOutcome, AttemptResult, Ended, Method, Purpose, Transition
from node.prover.agent import IDLE_SIMULATIONS, Agent, Budget, Playing, TimeIsUp, node_seed, unsolved
from node.prover.policies.policy import Advice, BadAdvice, StateTooLong
from node.prover.search.methods import METHODS
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import SearchStatistics
from tests.node.prover.toys import ERROR, LOST, BadLean, SameLean, Says, ToyLean, ToyPolicy, attempt, is_valid


class LosingOneStateLean(ToyLean):
    """Loses all that is run on the state that is expanded third."""

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        outcomes = await super().run(path, tactics)
        states = list(dict.fromkeys(state for state, _ in self.ran))
        return dict.fromkeys(tactics, LOST) if states.index(self.ran[-1][0]) == 2 else outcomes


def agent(policy: ToyPolicy, lean: ToyLean, simulations: int = 40, leaves: int = 4, **playing: Any) -> Agent:
    return Agent(attempt(simulations), policy, lean, Playing("p", leaves=leaves, **playing))


async def test_a_proof_names_its_states_from_the_root() -> None:
    found = [await agent(ToyPolicy(1), ToyLean(seed, closing=12)).play() for seed in range(12)]
    proved = [result for result in found if result.outcome == "proved"]
    assert len(proved) >= 3
    for result in proved:
        proof, statistics, shape = result.proof, result.statistics, result.statistics.shape
        assert proof is not None and proof.state == "s0"
        assert transitions_of(proof)[0] == Transition("s0", proof.tactic, proof.remaining_steps)
        assert (statistics.weights_first, statistics.weights_last) == (3, 3)
        assert shape is not None and shape.proof_steps == proof.remaining_steps
        assert shape.expansions == statistics.simulations >= shape.expanded and not (shape.solved or shape.unsolved)


async def test_values_of_a_network_are_counted_by_whether_their_states_were_solved() -> None:
    play = agent(ToyPolicy(0), ToyLean(3, closing=30), simulations=60, has_values=True)
    shape = (await play.play()).statistics.shape
    assert shape is not None and sum(shape.unsolved) > 0
    assert sum(shape.solved) + sum(shape.unsolved) == shape.expanded - shape.on_proof


async def test_a_failed_search_that_lost_an_expansion_is_undecided_and_one_that_lost_most_is_an_error() -> None:
    result = await agent(ToyPolicy(0), LosingOneStateLean(3, closing=10_000), leaves=1).play()
    statistics = result.statistics
    assert (statistics.simulations, statistics.expansions_lost) == (40, 1)
    assert result.outcome is AttemptOutcome.UNDECIDED and not result.outcome.decided
    lossless = await agent(ToyPolicy(0), ToyLean(3, closing=10_000), leaves=1).play()
    assert lossless.outcome is AttemptOutcome.FAILED and lossless.statistics.expansions_lost == 0
    said = [unsolved(SearchStatistics(simulations=16, expansions_lost=lost))[0] for lost in (0, 1, 8, 9)]
    assert said == ["failed", "undecided", "undecided", "error"]


async def test_cancelled_agent_leaves_nothing_in_flight() -> None:
    play = agent(ToyPolicy(0), ToyLean(3, closing=10_000), simulations=10_000)
    task = asyncio.create_task(play.play())
    while not (play.search and play.search.in_flight > 1):  # noqa: ASYNC110 - every turn of the loop counts
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert play.search.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


def test_seeds_differ_by_state_and_round_and_evaluations_repeat() -> None:
    first, again = attempt(attempt_id="x"), attempt(attempt_id="y")
    seeds = {node_seed(first, node, round) for node in range(20) for round in range(5)}
    assert len(seeds) == 100 and node_seed(first, 1, 0) != node_seed(again, 1, 0)
    before, after = (attempt(attempt_id=name, purpose=Purpose.EVAL) for name in ("x", "y"))
    assert node_seed(before, 1, 0) == node_seed(after, 1, 0)


async def test_outcomes_are_told_as_they_come_also_those_that_count_for_nothing() -> None:
    told: list[Outcome] = []
    lean = ToyLean(1)
    await agent(ToyPolicy(1), lean, leaves=2, on_outcomes=told.extend).play()
    assert len(told) == len(lean.ran) > 0
    told.clear()
    await agent(ToyPolicy(1), SameLean(LOST), leaves=2, on_outcomes=told.extend).play()
    assert {outcome.kind for outcome in told} == {OutcomeKind.LOST}


class ShortSighted(ToyPolicy):
    """Cannot read some states."""

    def __init__(self, unread: Callable[[str], bool]) -> None:
        super().__init__(0)
        self.unread = unread

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        if self.unread(state):
            raise StateTooLong("the goals are too long", -8.0)
        return await super().advise(state, samples, seed, again)


async def test_a_state_that_the_policy_cannot_read_ends_its_branch_and_only_the_first_one_ends_the_search() -> None:
    lean = ToyLean(5, closing=1_000_000)
    odd = await agent(ShortSighted(lambda state: int(state[1:]) % 2 == 1), lean).play()
    assert odd.outcome is AttemptOutcome.FAILED and odd.statistics.simulations > 3
    assert not any(int(state[1:]) % 2 == 1 for state, _ in lean.ran)
    first = await agent(ShortSighted(lambda state: state == "s0"), ToyLean(5)).play()
    assert first.outcome is AttemptOutcome.ERROR and "the goals are too long" in first.message


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
    for seed in range(3):
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
    for seed in range(4):
        whole = await play(seed, simulations=0, lean_attempts=200, leaves=1, method=method)
        at = whole.statistics.solved_at_lean_attempts
        proved += at > 0
        for lean_attempts in {8, 16, 32, max(1, at - 1), max(1, at)}:
            part = await play(seed, simulations=0, lean_attempts=lean_attempts, leaves=1, method=method)
            assert (part.outcome is AttemptOutcome.PROVED) == (0 < at <= lean_attempts)
            assert part.statistics.lean_attempts <= lean_attempts
    assert proved >= 1


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
        async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
            advice = await super().advise(state, samples, seed, again)
            return Advice(advice.proposals, advice.value, samples=samples, tokens=7 * samples)

    told = (await agent(Telling(0), ToyLean(3, closing=10_000), simulations=20, leaves=1).play()).statistics
    assert (told.samples, told.tokens) == (6 * 20, 42 * 20)
    silent = (await play(3, closing=10_000, simulations=20, leaves=1)).statistics
    assert silent.tactics_tried <= silent.samples < 6 * 20 and silent.tokens == 0, "distinct tactics alone are known"


async def test_a_policy_is_told_when_a_state_is_sampled_again() -> None:
    heard: dict[str, list[bool]] = {}

    class Hearing(Says):
        async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
            heard.setdefault(state, []).append(again)
            return await super().advise(state, samples, seed, again)

    await Agent(attempt(simulations=4), Hearing("t1"), ToyLean(3, closing=10_000), Playing("p", leaves=1)).play()
    assert all(each == [False] + [True] * (len(each) - 1) for each in heard.values())
    assert any(len(each) > 1 for each in heard.values())


async def test_a_policy_that_repeats_itself_does_not_search_for_ever() -> None:
    wanted = attempt(simulations=0, lean_attempts=100)
    result = await Agent(wanted, Says("same"), SameLean(ERROR), Playing("p", leaves=1)).play()
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
async def test_time_over_is_no_failure(answers: int, seconds: float, outcome: AttemptOutcome, message: str) -> None:
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
        async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
            if len(self.calls) == 5:
                raise error
            return await super().advise(state, samples, seed, again)

    for budget in ({"simulations": 40}, {"simulations": 40, "lean_attempts": 500, "seconds": 60.0}):
        wanted = attempt(**budget)  # type: ignore[arg-type]
        result = await Agent(wanted, Failing(0), ToyLean(3, closing=10_000), Playing("p", leaves=4)).play()
        assert result.outcome is AttemptOutcome.ERROR and str(error) in result.message
        assert result.statistics.ended is None


class Verifier:
    """Refuses the first proofs, accepts the next one, and keeps them all."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.seen: list[ProofTree] = []

    async def __call__(self, proof: ProofTree) -> str:
        self.seen.append(proof)
        await asyncio.sleep(0)
        return f"refusal {len(self.seen)}" if len(self.seen) <= self.refusals else ""


async def play_verified(verifier: Verifier, seed: int, *, closing: int = 12, **changes: object) -> AttemptResult:
    lean = ToyLean(seed, closing=closing)
    wanted = attempt(**{"simulations": 200, **changes})  # type: ignore[arg-type]
    play = Agent(wanted, ToyPolicy(1), lean, Playing("p", leaves=4, verify=verifier))
    result = await play.play()
    assert play.search is not None and play.search.in_flight == 0
    return result


@every_method
async def test_the_search_goes_on_after_a_refusal_until_a_proof_is_accepted(method: Method) -> None:
    proved = 0
    for seed in range(4):
        verifier = Verifier(refusals=3)
        result = await play_verified(verifier, seed, method=method)
        assert len({str(proof) for proof in verifier.seen}) == len(verifier.seen), "no proof is verified twice"
        assert all(is_valid(proof, "s0", ToyLean(seed, closing=12).table) for proof in verifier.seen)
        if result.outcome is AttemptOutcome.PROVED:
            proved += 1
            assert result.proof == verifier.seen[-1] and len(verifier.seen) == 4
            assert result.statistics.proofs_rejected == 3
            assert 0 < result.statistics.solved_at_simulations <= result.statistics.simulations
    assert proved >= 2


async def test_an_attempt_ends_after_too_many_refused_proofs() -> None:
    async def refusals_of(parameters: SearchParameters) -> tuple[AttemptResult, int]:
        verifier, lean = Verifier(refusals=10**9), ToyLean(1, closing=12)
        play = agent(ToyPolicy(1), lean, simulations=100, verify=verifier, parameters=parameters)
        return await play.play(), len(verifier.seen)

    _, usual = await refusals_of(SearchParameters())
    result, limited = await refusals_of(SearchParameters(max_refusals=2))
    assert limited == result.statistics.proofs_rejected == 2 < usual
    assert (result.outcome, result.statistics.ended) == (AttemptOutcome.FAILED, Ended.EXHAUSTED)
    assert "too many refused proofs" in result.message and "proofs refused by verification: 2" in result.message


async def test_verification_that_nobody_answers_is_an_error_and_a_bad_statement_carries_leans_message() -> None:
    async def unanswered(proof: ProofTree) -> str:
        raise Unanswered("nobody serves lean.verify")

    result = await agent(ToyPolicy(0), BadLean(1)).play()
    assert (result.outcome, result.message) == ("bad-statement", "unknown identifier 'foo'")
    result = await agent(ToyPolicy(1), ToyLean(1, closing=6), leaves=1, verify=unanswered).play()
    assert (result.outcome, result.proof) == (AttemptOutcome.ERROR, None)
    assert "nobody serves lean.verify" in result.message


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_whichever_budget_ends_first_ends_the_attempt_and_time_stands_still_in_pauses() -> None:
    clock = Clock()
    budget = Budget(attempt(simulations=10, lean_attempts=20, seconds=5.0), clock)
    assert (budget.ended(9), budget.ended(10)) == (None, Ended.SIMULATIONS)
    budget.lean_attempts = 20
    assert budget.ended(9) is Ended.LEAN_ATTEMPTS
    budget.give_back(1)
    assert budget.ended(9) is None
    clock.now += 5.0
    assert budget.ended(9) is Ended.SECONDS
    words = ["10 simulations", "20 Lean attempts", "5 seconds", "no tactic is left to try"]
    assert [budget.describe(ended) for ended in Ended] == words
    timed = Budget(attempt(0, seconds=5.0), clock)
    clock.now += 60.0
    timed.start()
    clock.now += 4.0
    timed.pause(3.0)
    assert timed.seconds == 1.0 and timed.ended(0) is None


@pytest.mark.parametrize(
    ("simulations", "lean_attempts", "leaves"),
    [(0, 0, 4), (800, 0, 4), (33, 0, 4), (16, 0, 2), (7, 0, 1), (0, 100, 2), (16, 600, 2), (800, 20, 1)],
)
def test_small_budgets_have_fewer_leaves_in_flight(simulations: int, lean_attempts: int, leaves: int) -> None:
    assert Budget(attempt(simulations, lean_attempts=lean_attempts)).leaves(4) == leaves


async def test_lean_attempts_are_granted_in_the_order_of_selection() -> None:
    budget = Budget(attempt(0, lean_attempts=10))
    first, second, third = budget.turn(), budget.turn(), budget.turn()
    late = [asyncio.create_task(budget.grant(third, 6)), asyncio.create_task(budget.grant(second, 3))]
    await asyncio.sleep(0)
    assert not any(task.done() for task in late), "the first one has not said how many it wants"
    assert await budget.grant(first, 5) == 5
    assert await asyncio.gather(*late) == [2, 3]
    assert budget.ended(0) is Ended.LEAN_ATTEMPTS
    assert await budget.grant(budget.turn(), 4) == 0


async def test_work_ends_with_the_time() -> None:
    clock = Clock()
    budget = Budget(attempt(0, seconds=5.0), clock)

    async def work(result: int) -> int:
        await asyncio.sleep(0)
        return result

    assert await budget.in_time(work(3)) == 3
    clock.now += 4.99
    endless = asyncio.ensure_future(asyncio.Event().wait())
    with pytest.raises(TimeIsUp):
        await budget.in_time(endless)
    await asyncio.gather(endless, return_exceptions=True)
    assert endless.cancelled()
    clock.now += 1.0
    done = asyncio.ensure_future(work(4))
    await done
    with pytest.raises(TimeIsUp):
        await budget.in_time(done)
