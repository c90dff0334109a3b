import random
from collections import Counter
from copy import copy

import pytest

from common.records.rows import Recent, Standing, learn
from node.learner.choosing.matchmaker import CurriculumSettings, Matchmaker, MatchmakerSettings, SumTree, budget, weight
from tests.node.learner.builders import choose

SETTINGS = MatchmakerSettings()
"""With no size of a bank: AlphaProof's."""


def told(*outcomes: str, disproof: bool = False) -> Standing:
    standing = Standing()
    for outcome in outcomes:
        learn(standing, disproof, outcome)
    return standing


@pytest.mark.parametrize(
    ("standing", "expected"),
    [
        (told(), 1.0),
        (told(*["failed"] * 7), 1.0),
        (told(*["failed"] * 8), 0.1),
        (told(*["failed"] * 20, "proved"), 1.0),
        (told(*["proved"] * 11), 1.0),
        (told(*["proved"] * 12), 1e-3),
        (told("failed", *["proved"] * 12), 1e-3),
        (told(*["proved"] * 12, "failed"), 1.0),
        (told("proved", disproof=True), 0.0),
        (told("bad-statement"), 0.0),
        (told("error", "poisoned"), 1.0),
        (told("rejected"), 1.0),
    ],
)
def test_weights_are_those_of_the_paper(standing: Standing, expected: float) -> None:
    assert weight(standing, SETTINGS) == expected


def test_theorems_count_as_undecided_until_they_are_proved_disproved_or_refused() -> None:
    maker = Matchmaker(["a", "b", "c", "d"], SETTINGS, seed=0)
    maker.restore({"a": told("proved"), "gone": told("proved")})
    maker.recorded("b", True, "proved")
    maker.recorded("c", False, "failed")
    assert maker.undecided() == 2
    maker.recorded("c", False, "bad-statement")
    maker.recorded("d", False, "proved")
    assert maker.undecided() == 0


def test_the_budget_grows_with_failures_up_to_its_limit() -> None:
    assert budget(told(), SETTINGS) == 250
    assert budget(told("failed"), SETTINGS) == 292
    assert budget(told("failed", "failed", "proved"), SETTINGS) == 342
    assert budget(told(*["failed"] * 500), SETTINGS) == 16_000
    assert budget(told("error", "error"), SETTINGS) == 250


def test_half_of_undecided_attempts_disprove_and_none_of_a_proved_theorem() -> None:
    matchmaker = Matchmaker(["t"], SETTINGS, seed=3)
    share = sum(choose(matchmaker, number).disproof for number in range(1000)) / 1000  # type: ignore[union-attr]
    assert 0.45 < share < 0.55
    matchmaker.recorded("t", False, "proved")
    assert not any(choose(matchmaker, number).disproof for number in range(100))  # type: ignore[union-attr]


def test_choices_follow_the_weights() -> None:
    as_a_large_bank = MatchmakerSettings(streak=12, curriculum=CurriculumSettings(retry_share=0.0, almost_share=0.0))
    matchmaker = Matchmaker(["new", "hard", "learned", "false"], as_a_large_bank, seed=4)
    for _ in range(8):
        matchmaker.recorded("hard", False, "failed")
    for _ in range(12):
        matchmaker.recorded("learned", False, "proved")
    matchmaker.recorded("false", True, "proved")
    chosen = Counter(choose(matchmaker, number).theorem_id for number in range(2000))  # type: ignore[union-attr]
    assert chosen["false"] == 0 and chosen["learned"] < 15
    assert 0.06 < chosen["hard"] / chosen["new"] < 0.15


def test_a_theorem_with_an_outstanding_attempt_is_not_chosen_again() -> None:
    matchmaker = Matchmaker(["a", "b"], SETTINGS, seed=5)
    matchmaker.dispatched("a")
    assert {choose(matchmaker, number).theorem_id for number in range(50)} == {"b"}  # type: ignore[union-attr]
    matchmaker.dispatched("b")
    assert choose(matchmaker, 99) is None
    matchmaker.recorded("a", False, "failed")
    assert choose(matchmaker, 99) is not None


@pytest.mark.parametrize("curriculum", [CurriculumSettings(), CurriculumSettings(2.0, window=30, retry_share=0.5)])
def test_a_restored_matchmaker_goes_on_as_the_first_would(curriculum: CurriculumSettings) -> None:
    names = [f"t{index}" for index in range(10)]
    settings = MatchmakerSettings(curriculum=curriculum)
    first, second = (Matchmaker(names, settings, 6, groups=[index % 3 for index in range(10)]) for _ in range(2))
    recent: list[Recent] = []
    for number in range(60):
        choice = choose(first, number)
        assert choice is not None
        outcome = "proved" if number % 3 else "failed"
        first.dispatched(choice.theorem_id)
        first.recorded(choice.theorem_id, choice.disproof, outcome)
        if not choice.disproof:
            recent.append(Recent(choice.theorem_id, outcome == "proved"))
    first.dispatched("t0")
    standings = {name: copy(first.standing(name)) for name in names} | {"of another bank": told("proved")}
    second.restore(standings, ["t0", "of another bank"], [*recent[-30:]])
    assert [choose(first, number) for number in range(100, 140)] == [
        choose(second, number) for number in range(100, 140)
    ]


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_draws_by_weight_find_each_as_often_as_it_weighs_and_what_weighs_nothing_never(count: int) -> None:
    rng = random.Random(count)
    weights = [float(rng.randrange(4)) for _ in range(count - 1)] + [1.0]
    tree = SumTree([0.3] * count)
    for index in rng.sample(range(count), count):
        tree[index] = weights[index]
    expected = [index for index, weight in enumerate(weights) for _ in range(int(weight))]
    assert tree.total == sum(weights) and [tree.find(place + 0.5) for place in range(len(expected))] == expected
    assert tree.find(0.0) == expected[0] and tree.find(tree.total) == tree.find(tree.total * 2) == expected[-1]
    for index in range(count):
        assert tree.total > 0.0
        tree[index] = 0.0
    assert tree.total == 0.0
