"""Scanning text for comments, strings, brackets and `sorry`, as Lean's lexer reads them."""

import pytest
from hypothesis import given, seed, settings, strategies as st

from node.lean.gaps.gap import characters, position, utf16
from node.lean.text.lexing import blanked, lex, mentions, uncommented
from node.lean.worker.process import Position
from tests.node.lean.tables import cells

CLOSED = cells(r"""
exact ⟨h.1, (f x)⟩ ¦ exact h' ¦ exact f' x'' ¦ /- a /- nested -/ comment -/ simp ¦ simp -- to the end ( ¦  ¦ exact a -b
exact s "a ( \" b" x ¦ exact '(' x '\'' 'a' ¦ exact xs[0]'h ¦ intro «( odd » ¦ rcases h with ⟨a, b⟩ | c
""")
OPEN = {
    "exact (h": "'(' at character 6 is never closed",
    "exact h)": "')' at character 7 closes what was not opened",
    "exact (h]": "']' at character 8",
    "exact ⟨h": "never closed",
    "simp /- gone": "the comment at character 5 is never closed",
    "/- /- -/": "never closed",
    "simp -/": "ends a comment",
    'exact "abc': "the string at character 6 is never closed",
    'exact "abc\\"': "never closed",
    "exact «h": "'«' at character 6 is never closed",
    "-- (\n)": "closes what was not opened",
}


def test_texts_that_are_closed_have_no_problem_and_others_are_told_what_and_where() -> None:
    assert {text: lex(text).problem for text in CLOSED} == dict.fromkeys(CLOSED, "")
    for text, says in OPEN.items():
        assert says in lex(text).problem, text


SIGNS = ['"', "'", "«", "»", "/-", "-/", "--", "\n", "(", ")", "[", "]", "⟨", "⟩", "r#", "s!", "\\", "x", " ", "'('"]
TEXTS = st.lists(st.sampled_from([*SIGNS, *CLOSED, *OPEN]), max_size=16).map("".join)


@seed(1)
@settings(max_examples=100, deadline=None, database=None)
@given(TEXTS)
def test_of_any_text_everything_stays_at_its_place_and_a_closed_one_closes_nothing_around_it(text: str) -> None:
    # 1. What is not code becomes blank, and lines stay.
    for left in (blanked(text), uncommented(text)):
        assert len(left) == len(text)
        assert all(now == was or (now == " " and was != "\n") for now, was in zip(left, text, strict=True))
    assert all(text[each.start : each.end] == "sorry" for each in mentions(text))
    # 2. A closed text neither ends the bracket around it nor takes what stands behind it.
    lexed = lex(text)
    if not lexed.problem:
        assert (lexed.code, lexed.bare) == (blanked(text), uncommented(text))
        assert lex(f"({text}\n)").problem == ""
        assert lex(f"{text}\n)").problem and lex(f"({text}\n").problem


NO_GAP = r"""-- sorry ¦ /- sorry /- sorry -/ sorry -/ ¦ /-- sorry -/ ¦ "sorry" ¦ "\" sorry" ¦ sorryAx ¦ sorry' ¦ sorry!
h.sorry ¦ sorry.foo ¦ not_sorry ¦ «sorry» ¦ «no sorry here» ¦ sorry₁"""


def test_what_only_looks_like_a_gap_is_none():
    for text in cells(NO_GAP):
        assert mentions(text) == [], text


@pytest.mark.parametrize("text", ["constructor <;> sorry", "all_goals sorry", "any_goals (sorry)", "repeat sorry"])
def test_a_gap_that_may_run_more_than_once_says_so(text):
    assert mentions(text)[0].many and not mentions(f"{text}; sorry")[1].many


def test_a_place_counts_utf_16_units():
    text = "line\n𝔸β sorry"
    assert position(text, text.index("sorry")) == Position(1, 4)


@pytest.mark.parametrize("line", ["", "plain", "α → 𝔽", "𝔽𝔽 ∧ x", "é𝔸b"])
def test_columns_of_lean_count_characters_beyond_65535_twice(line):
    assert [characters(line, utf16(line[:count])) for count in range(len(line) + 1)] == list(range(len(line) + 1))
    assert characters(line, 99) == len(line)
