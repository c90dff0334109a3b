"""Finding every `sorry` in a text."""

import pytest

from node.lean.gaps.gap import position
from node.lean.text.lexing import mentions
from node.lean.worker.process import Position


@pytest.mark.parametrize(
    "text",
    [
        "-- sorry",
        "/- sorry /- sorry -/ sorry -/",
        "/-- sorry -/",
        '"sorry"',
        r'"\" sorry"',
        "sorryAx",
        "sorry'",
        "sorry!",
        "h.sorry",
        "sorry.foo",
        "not_sorry",
        "«sorry»",
        "«no sorry here»",
        "sorry₁",
    ],
)
def test_what_only_looks_like_a_gap_is_none(text):
    assert mentions(text) == []


@pytest.mark.parametrize("text", ["constructor <;> sorry", "all_goals sorry", "any_goals (sorry)", "repeat sorry"])
def test_a_gap_that_may_run_more_than_once_says_so(text):
    assert mentions(text)[0].many and not mentions(f"{text}; sorry")[1].many


def test_a_place_counts_utf_16_units():
    text = "line\n𝔸β sorry"
    assert position(text, text.index("sorry")) == Position(1, 4)
