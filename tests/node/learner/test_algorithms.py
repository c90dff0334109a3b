"""The algorithms decide, and the learner does what they say, whichever it is."""

from collections.abc import Sequence

import pytest

from common.bus import Bus
from common.protocol.attempts import Method, Purpose
from common.records.rows import Standing
from common.records.store import Store
from common.settings import Sampling
from node.learner.algorithms import ALGORITHMS
from node.learner.algorithms.algorithm import Asked, Choice, Found, named
from node.learner.algorithms.alphaproof import AlphaProof
from node.learner.algorithms.expert_iteration import ExpertIteration
from node.learner.algorithms.hard_proofs import HardProofs, weight
from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
from node.learner.run import Run
from node.learner.settings import LearnerSettings
from tests.node.learner.builders import planned, transition
from tests.node.learner.works import claim, dispatching, judged, taken


@pytest.mark.parametrize(
    ("settings", "kind", "method"),
    [
        ({}, AlphaProof, "mcts"),
        ({"method": "random"}, AlphaProof, "random"),
        ({"method": "best-first"}, ExpertIteration, "best-first"),
        ({"algorithm": "expert-iteration"}, ExpertIteration, "best-first"),
        ({"algorithm": "hard-proofs"}, HardProofs, "mcts"),
    ],
)
def test_both_keys_name_algorithms(settings: dict[str, str], kind: type[AlphaProof], method: str) -> None:
    learner = LearnerSettings(**settings)  # type: ignore[arg-type]
    learner.check()
    algorithm = named(learner)
    assert type(algorithm) is kind and algorithm.attempt(Purpose.TRAIN, 3) == Asked(Method(method), 6, 3, inner=8)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--algorithm", "alphazero"], "algorithm = 'alphazero': use one of alphaproof, expert-iteration, hard-proofs"),
        (["--algorithm", "alphaproof", "--method", "best-first"], "leave method out"),
    ],
)
def test_an_algorithm_that_there_is_not_and_two_at_once_are_refused(flags: list[str], said: str) -> None:
    values = dict(zip(("algorithm", "method"), flags[1::2], strict=False))
    with pytest.raises(ValueError, match=said):
        LearnerSettings(**values).check()  # type: ignore[arg-type]


def test_all_algorithms_choose_as_their_settings_say_and_restarts_choose_the_same() -> None:
    matching = MatchmakerSettings(disprove_chance=0.3, explore_chance=0.4)
    for name in ALGORITHMS:
        algorithm = named(LearnerSettings(algorithm=name, matchmaker=matching))
        first, again = (Matchmaker([f"t{index}" for index in range(9)], matching, seed=2) for _ in range(2))
        choices = [algorithm.choose(first, number) for number in range(400)]
        assert choices == [algorithm.choose(again, number) for number in range(400)]
        found = [choice for choice in choices if choice is not None]
        assert 0.2 < sum(choice.disproof for choice in found) / 400 < 0.4
        assert 0.3 < sum(choice.explore > 0 for choice in found) / 400 < 0.5


def test_proofs_after_failures_weigh_more_and_repeated_ones_less() -> None:
    steps = [transition(1), transition(2)]
    assert list(AlphaProof(LearnerSettings()).examples(Found(steps, Standing(failures=8), False))) == [1.0, 1.0]
    assert list(HardProofs(LearnerSettings()).examples(Found(steps, Standing(failures=8), False))) == [3.0, 3.0]
    assert [weight(failures, 0) for failures in (0, 3, 100)] == [1.0, 2.0, 4.0]
    assert weight(3, 1) == 1.0 and weight(0, 9) == 0.1


async def test_a_learner_draws_by_the_weights_that_its_algorithm_gives(run: Run, bus: Bus, lean_proxy: object) -> None:
    run.algorithm = HardProofs(run.settings)
    for _ in range(3):
        run.matchmaker.recorded("t", False, "failed")
    plans = [planned(1, "t"), planned(2, "u")]
    await run.store.call(Store.dispatch, plans, 0.0)
    await judged(run, bus, *(claim(plan.attempt) for plan in plans))
    recorded = await run.store.call(Store.examples)
    assert {each.weight for each in recorded[:2]} | {each.weight for each in recorded[2:]} == {2.0, 1.0}
    # Both proofs have the same steps: the first to be recorded stands in the buffer, with its weight.
    weights = run.replay.weights(run.replay.refs())
    assert len(run.replay) == 2 and weights in ([recorded[0].weight] * 2, None)


class OnlyShort(AlphaProof):
    """Proves the last theorem with a high temperature, and learns from the last step of its proofs alone."""

    def choose(self, theorems: Matchmaker, number: int) -> Choice | None:
        return Choice("u", disproof=False, simulations=7, explore=2)

    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        return Asked(Method.RANDOM, samples=3, explore=explore, sampling=Sampling(temperature=1.5))

    def examples(self, found: Found) -> Sequence[float]:
        return [float(each.remaining_steps == 1) for each in found.transitions]


async def test_an_algorithm_is_a_class_and_a_row(
    run: Run, bus: Bus, lean_proxy: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ALGORITHMS, "only-short", f"{__name__}:OnlyShort")
    run.settings.algorithm = "only-short"
    run.settings.check()
    run.algorithm = named(run.settings)
    async with dispatching(run) as works:
        works.learning = True
        attempt = (await taken(bus, "train", 1))[0]
        works.learning = False
    assert (attempt.theorem_id, attempt.simulations, attempt.method) == ("u", 7, "random")
    assert (attempt.samples, attempt.explore) == (3, 2)
    assert attempt.sampling is not None and attempt.sampling.temperature == 1.5
    await judged(run, bus, claim(attempt))
    recorded = await run.store.call(Store.examples)
    assert len(recorded) > len(run.replay) == sum(each.weight for each in recorded) > 0
