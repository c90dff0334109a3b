"""Scanning text for comments, strings and brackets, as Lean's lexer reads them."""

import pytest

from node.lean.text.lexing import lex


@pytest.mark.parametrize(
    "text",
    [
        "exact ⟨h.1, (f x)⟩",
        "exact h'",
        "exact f' x''",
        "/- a /- nested -/ comment -/ simp",
        "simp -- to the end (",
        'exact s "a ( \\" b" x',
        "exact '(' x '\\'' 'a'",
        "exact xs[0]'h",
        "intro «( odd »",
        "rcases h with ⟨a, b⟩ | c",
        "exact a -b",
        "",
    ],
)
def test_closed_texts(text):
    assert lex(text).problem == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("exact (h", "'(' at character 6 is never closed"),
        ("exact h)", "')' at character 7 closes what was not opened"),
        ("exact (h]", "']' at character 8"),
        ("exact ⟨h", "never closed"),
        ("simp /- gone", "the comment at character 5 is never closed"),
        ("/- /- -/", "never closed"),
        ("simp -/", "ends a comment"),
        ('exact "abc', "the string at character 6 is never closed"),
        ('exact "abc\\"', "never closed"),
        ("exact «h", "'«' at character 6 is never closed"),
        ("-- (\n)", "closes what was not opened"),
    ],
)
def test_texts_that_are_not_closed(text, says):
    assert says in lex(text).problem


def test_code_is_the_text_without_comments_and_strings_at_the_same_places():
    lexed = lex('simp -- sorry\nexact "admit" /- stop\n-/ x')
    assert lexed.code == "simp         \nexact                \n   x"
    assert lexed.comments and not lexed.unusual


@pytest.mark.parametrize("text", ['s!"{x}"', 'exact r"(" h', 'm!"x"', 'r#"a"#'])
def test_strings_that_hold_code_or_know_no_escapes_are_unusual(text):
    assert lex(text).unusual
