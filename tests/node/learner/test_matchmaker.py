from __future__ import annotations

from collections import Counter

import pytest

from node.learner.matchmaker import Matchmaker, MatchmakerSettings, Standing, budget, learn, weight
from node.learner.store.records import Match

SETTINGS = MatchmakerSettings()


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


def test_the_budget_grows_with_failures_up_to_its_limit() -> None:
    assert budget(told(), SETTINGS) == 250
    assert budget(told("failed"), SETTINGS) == 292
    assert budget(told("failed", "failed", "proved"), SETTINGS) == 342
    assert budget(told(*["failed"] * 500), SETTINGS) == 16_000
    assert budget(told("error", "error"), SETTINGS) == 250


def test_choices_are_equal_for_equal_seeds_and_differ_between_seeds() -> None:
    names = [f"t{index}" for index in range(50)]
    first, second, other = (Matchmaker(names, SETTINGS, seed) for seed in (1, 1, 2))
    choices = [[matchmaker.choose(number) for number in range(30)] for matchmaker in (first, second, other)]
    assert choices[0] == choices[1] != choices[2]


def test_half_of_undecided_attempts_disprove_and_none_of_a_proved_theorem() -> None:
    matchmaker = Matchmaker(["t"], SETTINGS, seed=3)
    share = sum(matchmaker.choose(number).disproof for number in range(1000)) / 1000  # type: ignore[union-attr]
    assert 0.45 < share < 0.55
    matchmaker.recorded("t", False, "proved")
    assert not any(matchmaker.choose(number).disproof for number in range(100))  # type: ignore[union-attr]


def test_attempts_explore_as_often_as_asked_and_never_by_default() -> None:
    exploring = Matchmaker(["t"], MatchmakerSettings(explore_chance=0.25, explore_candidates=5), seed=3)
    drawn = Counter(exploring.choose(number).explore for number in range(1000))  # type: ignore[union-attr]
    assert set(drawn) == {0, 5} and 200 < drawn[5] < 300
    plain = Matchmaker(["t"], SETTINGS, seed=3)
    assert {plain.choose(number).explore for number in range(100)} == {0}  # type: ignore[union-attr]


def test_choices_follow_the_weights() -> None:
    matchmaker = Matchmaker(["new", "hard", "learned", "false"], SETTINGS, seed=4)
    for _ in range(8):
        matchmaker.recorded("hard", False, "failed")
    for _ in range(12):
        matchmaker.recorded("learned", False, "proved")
    matchmaker.recorded("false", True, "proved")
    chosen = Counter(matchmaker.choose(number).theorem_id for number in range(2000))  # type: ignore[union-attr]
    assert chosen["false"] == 0 and chosen["learned"] < 15
    assert 0.06 < chosen["hard"] / chosen["new"] < 0.15


def test_a_theorem_with_an_outstanding_attempt_is_not_chosen_again() -> None:
    matchmaker = Matchmaker(["a", "b"], SETTINGS, seed=5)
    matchmaker.dispatched("a")
    assert {matchmaker.choose(number).theorem_id for number in range(50)} == {"b"}  # type: ignore[union-attr]
    matchmaker.dispatched("b")
    assert matchmaker.choose(99) is None
    matchmaker.recorded("a", False, "failed")
    assert matchmaker.choose(99) is not None


def test_a_matchmaker_restored_from_history_goes_on_as_the_first_would() -> None:
    names = [f"t{index}" for index in range(10)]
    first, second = Matchmaker(names, SETTINGS, 6), Matchmaker(names, SETTINGS, 6)
    history: list[Match] = []
    for number in range(60):
        choice = first.choose(number)
        assert choice is not None
        outcome = "proved" if number % 3 else "failed"
        first.dispatched(choice.theorem_id)
        first.recorded(choice.theorem_id, choice.disproof, outcome)
        history.append(Match(choice.theorem_id, choice.disproof, outcome))
    first.dispatched("t0")
    second.restore([*history, Match("t0", False, None), Match("of another bank", False, "proved")])
    assert [first.choose(number) for number in range(100, 140)] == [second.choose(number) for number in range(100, 140)]
