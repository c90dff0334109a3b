"""Whole files whose code writes another compiled file: nothing false is accepted, and a verdict comes in time."""

from __future__ import annotations

from functools import cache

import pytest

from tests.node.lean.olean.attacks import ATTACKS, Attack, Outcome, accepted, contained, successes

pytestmark = [pytest.mark.lean, pytest.mark.timeout(900)]

SAMPLE = frozenset(
    {
        *("names as commands", "names as commands, for later files", "an import as commands"),
        *("a third safety", "a recursor marked as unsafe", "an unsafe constant with the name of an axiom"),
        *("a library next to the file", "an import that the text does not have", "a file that imports itself"),
        *("an axiom with the name ('propext\\x00',)", "an axiom with the name ('propext', 0)"),
        *("two strings that differ behind a zero byte", "a number that is 0 in 64 bits"),
        *("a field that is 1 in 32 bits", "two files that import each other", "another statement"),
        *("another constant in its place", "a private constant of its name", "another definition"),
        *("a theorem that is its own proof", "declarations in a line with an enormous number"),
        *("a statement that is enormous as a tree", "a name of 1 MB", "a string that claims more than it has"),
        *("an enormous number: projection", "a term that contains itself"),
    }
)
"""One attack of each kind, which every test run tries; the others differ from one of these in a number, a name or a
place, or take long."""

TWINS = {
    tuple((file.module, file.text, file.forge) for files in each.twin for file in files): each
    for each in sorted(ATTACKS, key=lambda attack: attack.name in SAMPLE)
}.values()
"""Attacks whose twins differ; the others have the twin of one of these."""


def marked(attacks: list[Attack]) -> list[object]:
    """All attacks, those outside the sample as slow ones."""
    slow = pytest.mark.slow
    return [pytest.param(each, marks=[] if each.name in SAMPLE else [slow], id=each.name) for each in attacks]


@cache
def outcomes(sample: bool, twin: bool) -> dict[str, Outcome]:
    """The outcomes of the sample's attacks or of the others, or of their twins, from as few processes as possible."""
    attacks = list(TWINS) if twin else ATTACKS
    return contained([each for each in attacks if (each.name in SAMPLE) is sample], twin=twin)


def test_the_sample_names_attacks() -> None:
    assert {each.name for each in ATTACKS} >= SAMPLE


@pytest.mark.parametrize("attack", marked(ATTACKS))
def test_a_forged_file_is_not_accepted_and_takes_no_more_than_it_may(attack: Attack) -> None:
    outcome = outcomes(attack.name in SAMPLE, twin=False)[attack.name]
    assert not outcome.problem
    assert not successes(attack, outcome.reports)


@pytest.mark.parametrize("attack", marked([*TWINS]))
def test_its_honest_twin_is_accepted(attack: Attack) -> None:
    outcome = outcomes(attack.name in SAMPLE, twin=True)[attack.name]
    assert not outcome.problem
    assert attack.honest <= accepted(outcome.reports), outcome.reports
