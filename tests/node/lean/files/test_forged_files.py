"""Whole files whose code writes another compiled file: nothing false is accepted, and a verdict comes in time."""

from __future__ import annotations

import pytest

from tests.node.lean.olean.attacks import ATTACKS, Attack, Outcome, accepted, contained, judged, successes

pytestmark = pytest.mark.lean

JUDGE = judged

SLOW = frozenset(
    {
        "two that use each other",
        "a thousand that use each other",
        "a level that is enormous as a tree",
        "a name of 100,000 parts",
        "100,000 universe parameters",
        "a term a million deep",
        "a type together with itself, 100,000 times",
        "32 MB of empty objects",
        "a million imports",
        "20,000 constants",
    }
)


def marked(attack: Attack) -> object:
    marks = [pytest.mark.slow] if attack.name in SLOW else []
    return pytest.param(attack, marks=marks, id=attack.name)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """The outcomes of all attacks that are not slow, from as few processes as possible."""
    return contained([each for each in ATTACKS if each.name not in SLOW], JUDGE)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", [marked(each) for each in ATTACKS])
def test_a_forged_file_is_not_accepted_and_takes_no_more_than_it_may(
    attack: Attack, request: pytest.FixtureRequest
) -> None:
    known = contained([attack], JUDGE) if attack.name in SLOW else request.getfixturevalue("outcomes")
    outcome = known[attack.name]
    assert not outcome.problem
    assert not successes(attack, outcome.reports)


TWINS = {
    tuple((file.module, file.text, file.forge) for files in each.twin for file in files): each for each in ATTACKS
}.values()
"""Attacks whose twins differ; the others have the twin of one of these."""


@pytest.fixture(scope="module")
def twins() -> dict[str, Outcome]:
    return contained([*TWINS], JUDGE, twin=True)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("attack", [*TWINS], ids=lambda each: each.name)
def test_its_honest_twin_is_accepted(attack: Attack, twins: dict[str, Outcome]) -> None:
    outcome = twins[attack.name]
    assert not outcome.problem
    assert attack.honest <= accepted(outcome.reports), outcome.reports
