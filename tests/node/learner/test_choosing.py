"""Which theorems are attempted: weights, budgets, and the curriculum with simulated provers of hidden difficulties."""

from __future__ import annotations

import math
import random
from collections import Counter
from copy import copy
from dataclasses import astuple, dataclass, replace

import numpy as np
import pytest

from common.lean import Theorem
from common.records.rows import Recent, Standing, TheoremRow, learn
from node.learner.choosing.matchmaker import (
    LARGE,
    SMALL,
    CurriculumSettings,
    Matchmaker,
    MatchmakerSettings,
    Rates,
    SumTree,
    budget,
    by_size,
    factor,
    groups_of,
    weight,
)
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
    histories = ([], ["failed"], ["failed", "failed", "proved"], ["failed"] * 500, ["error", "error"])
    assert [budget(told(*each), SETTINGS) for each in histories] == [250, 292, 342, 16_000, 250]


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
    assert chosen["false"] == 0 and chosen["learned"] < 15 and 0.06 < chosen["hard"] / chosen["new"] < 0.15


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
    goes_on, restored = ([choose(each, number) for number in range(100, 140)] for each in (first, second))
    assert goes_on == restored


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


# --- the difficulty curriculum ----------------------------------------------------------------------------------------
PLAIN = CurriculumSettings(retry_share=0.0, almost_share=0.0)
SHARP = replace(PLAIN, sharpness=2.0)
ALL_TO_PROVE = MatchmakerSettings(disprove_chance=0.0, growth=1.17, curriculum=PLAIN)


def test_weight_is_largest_at_the_target_and_never_nothing() -> None:
    factors = [factor(tenth / 10, SHARP) for tenth in range(11)]
    assert factors[5] == 1.0 and factors[1:5] == sorted(factors[1:5]) and factors[0] == factors[10] == SHARP.least
    assert factors[3] == pytest.approx(4 * 0.3 * 0.7)
    assert factor(0.2, CurriculumSettings(sharpness=7.0, target=0.2)) == 1.0
    assert {factor(tenth / 10, CurriculumSettings()) for tenth in range(11)} == {1.0}


def test_a_groups_rate_begins_at_that_of_all_and_forgets_what_left_the_window() -> None:
    rates = Rates(window=40)
    assert rates.rate(7) == 0.5
    for proved, least, most in ((True, 0.9, 1.0), (False, 0.0, 0.05)):
        for _ in range(40):
            rates.saw(1, proved)
        assert least < rates.rate(7) < most
        assert rates.rate(1) > 0.95 if proved else rates.rate(1) < 0.01


def test_statements_are_grouped_by_level_and_where_levels_say_nothing_by_length() -> None:
    def row(family: str, level: int, length: int) -> TheoremRow:
        return TheoremRow(Theorem("t", "", "p" * length), "train", family, level)

    rows = [row("logic", 1, 10), row("logic", 2, 10), row("logic", 1, 900), row("book", 1, 10), row("book", 1, 900)]
    first, second, third, short, long = groups_of(rows)
    assert first == third and len({first, second, short, long}) == 4


def test_what_is_solved_half_the_time_is_chosen_more_often_than_what_is_too_easy_or_too_hard() -> None:
    names = [f"{kind}{index}" for kind in ("easy", "right", "hard") for index in range(60)]
    settings = replace(ALL_TO_PROVE, curriculum=replace(SHARP, sharpness=4.0))
    matchmaker = Matchmaker(names, settings, seed=1, groups=[0] * 60 + [1] * 60 + [2] * 60)
    for index in range(40):
        for kind, outcome in (("easy", "proved"), ("right", "proved" if index % 2 else "failed"), ("hard", "failed")):
            matchmaker.recorded(f"{kind}{index}", False, outcome)
    untried = [name for name in names if int(name.lstrip("easyrightd")) >= 40]
    drawn = Counter(choice.theorem_id for number in range(4000) if (choice := choose(matchmaker, number)))
    easy, right, hard = (sum(drawn[name] for name in untried if name[0] == kind) for kind in "erh")
    assert right > 3 * easy > 0 and right > 3 * hard > 0


def test_the_share_of_retries_is_kept_their_budget_grows_and_the_nearest_come_first() -> None:
    names = [f"t{index}" for index in range(3000)]
    settings = replace(ALL_TO_PROVE, curriculum=replace(PLAIN, retry_share=0.25))
    matchmaker = Matchmaker(names, settings, seed=2)
    assert choose(matchmaker, 0) is not None  # nothing has failed yet
    for index in range(20):
        for _ in range(1 if index < 10 else 5):
            matchmaker.recorded(f"t{index}", False, "failed")
    matchmaker.recorded("t30", False, "proved")
    matchmaker.recorded("t31", True, "proved")
    matchmaker.recorded("t32", False, "bad-statement")
    matchmaker.dispatched("t0")
    choices = [choice for number in range(4000) if (choice := choose(matchmaker, number)) and choice.theorem_id != "t0"]
    retried = [choice for choice in choices if matchmaker.standing(choice.theorem_id).failures]
    assert len(choices) == 4000 and 0.22 < len(retried) / len(choices) < 0.28
    once = [choice for choice in retried if choice.simulations == int(250 * 1.17)]
    often = [choice for choice in retried if choice.simulations == int(250 * 1.17**5)]
    assert len(once) + len(often) == len(retried) and len(once) > 20 * len(often)


def test_a_share_of_attempts_goes_to_what_was_proved_and_failed_until_it_is_learned() -> None:
    names = [f"t{index}" for index in range(3000)]
    matchmaker = Matchmaker(names, replace(ALL_TO_PROVE, streak=3, curriculum=replace(PLAIN, almost_share=0.2)), seed=2)
    records = {
        "lost": (True, False),  # proved once, and failed since
        "mixed": (False, True, True),
        "learned": (False, True, True, True),
        "always": (True, True),
        "never": (False, False),
    }
    for index, outcomes in enumerate(records.values()):
        for proved in outcomes:
            matchmaker.recorded(f"t{index}", False, "proved" if proved else "failed")
    drawn = Counter(choice.theorem_id for number in range(2000) if (choice := choose(matchmaker, number)))
    shares = {name: drawn[f"t{index}"] / 2000 for index, name in enumerate(records)}
    assert 0.15 < shares["lost"] + shares["mixed"] < 0.25 and min(shares["lost"], shares["mixed"]) > 0.06
    assert max(shares["learned"], shares["always"], shares["never"]) < 0.01


def played(curriculum: CurriculumSettings) -> Simulated:
    """Two runs of 600 attempts on 2,000 statements, summed."""
    settings = replace(ALL_TO_PROVE, growth=1.5, curriculum=curriculum)
    runs = [simulate(settings, 2000, 600, seed) for seed in (1, 2)]
    return Simulated(*(sum(values) for values in zip(*(astuple(run) for run in runs), strict=True)))


def test_simulated_provers_solve_more_with_the_curriculum_and_what_failed_at_first_with_retries() -> None:
    uniform, curriculum = played(PLAIN), played(replace(SHARP, sharpness=4.0))
    assert curriculum.solved > 1.5 * uniform.solved and curriculum.skill > uniform.skill
    retried = played(replace(PLAIN, retry_share=0.3))
    assert retried.again > 2 * uniform.again
    assert retried.late > 2 * uniform.late and retried.solved > uniform.solved


def test_a_small_bank_comes_back_to_its_statements_and_a_large_one_is_attempted_as_by_alphaproof() -> None:
    settings = MatchmakerSettings(disprove_chance=0.0)
    small = simulate(settings, 500, 700, 1)
    large = simulate(replace(settings, streak=12, growth=1.17, curriculum=PLAIN), 500, 700, 1)
    assert small.solved > 1.2 * large.solved and small.late > 2 * large.late
    assert by_size(settings, 4999) == SMALL and by_size(settings, 5000) == LARGE
    given = replace(settings, streak=5, curriculum=CurriculumSettings(retry_share=0.0))
    assert by_size(given, 10) == replace(SMALL, streak=5, retry_share=0.0)


@dataclass(frozen=True)
class Simulated:
    """What a run of a prover came to that has hidden difficulties, and chances that grow with the budget and with what
    was learned."""

    solved: int
    """Distinct statements."""
    again: int
    """Attempts on statements that had failed before."""
    late: int
    """Distinct statements that failed at first and were solved later."""
    skill: float
    """Of the prover at the end; a statement of this difficulty is proved with chance 1/2 at the first budget."""


LEVELS, SPREAD = 8, 0.7


def simulate(settings: MatchmakerSettings, statements: int, attempts: int, seed: int) -> Simulated:
    """Play attempts one after another. The difficulty of a statement is its level, and a part that nothing tells.

    A statement of difficulty d is proved with chance 1 / (1 + exp(-3 (skill + ln(budget / first budget) - d))), so a
    budget that is 2.7 times as large helps as much as a level. A proof teaches as much as it was unlikely, once a
    statement.
    """
    generator = np.random.default_rng(seed)
    levels = generator.integers(LEVELS, size=statements)
    difficulties = levels + generator.normal(0.0, SPREAD, size=statements)
    names = [f"t{index}" for index in range(statements)]
    matchmaker = Matchmaker(names, settings, seed, groups=[int(level) for level in levels])
    skill, solved, failed, late, again = 0.0, set(), set(), 0, 0
    for number in range(attempts):
        choice = choose(matchmaker, number)
        assert choice is not None
        index = int(choice.theorem_id[1:])
        matchmaker.dispatched(choice.theorem_id)
        again += index in failed
        edge = skill + math.log(choice.simulations / settings.budget) - difficulties[index]
        chance = 1.0 / (1.0 + math.exp(-3.0 * edge))
        proved = not choice.disproof and generator.random() < chance
        if proved and index not in solved:
            solved.add(index)
            late += index in failed
            skill += 0.02 * (1.0 - chance)
        if not proved:
            failed.add(index)
        matchmaker.recorded(choice.theorem_id, choice.disproof, "proved" if proved else "failed")
    return Simulated(len(solved), again, late, skill)
