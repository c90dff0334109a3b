"""Declarations as data: names are written and read back, whatever they hold; a broken answer counts for nothing."""

import random

import pytest

from node.lean.olean.declarations import BadAnswer, Declarations, parts_of, read_answer
from node.lean.olean.module import Constant, Kind
from node.lean.olean.terms import Tag, Terms, quoted

HOSTILE = ["a", "a.b", "", "«", "»", "a»b", "12", "²", "\n", "a\nb", " ", "\x00", "\u202e", "x:3", "é", "𝔸", "«x».y"]

ANSWER = (
    b"proofmesh-verdicts 1\nsteps 3\ny\nn 12:end\nsteps 3\n\ny\n"
    b"queries 3\nu\nk 0\nk 2 1 s 7:propext 2 s 3:a\nb n 7\nend\n"
)


def shown(parts: list[str | int]) -> str:
    return ".".join(str(part) if isinstance(part, int) else quoted(part) for part in parts)


def test_every_name_is_read_back_as_its_parts():
    rng = random.Random(1)
    seen: dict[str, list[str | int]] = {}
    for _ in range(3000):
        parts = [rng.choice([*HOSTILE, rng.randrange(1000)]) for _ in range(rng.randrange(1, 5))]
        text = shown(parts)
        assert parts_of(text) == parts and seen.setdefault(text, parts) == parts


def test_an_answer_that_breaks_off_or_counts_otherwise_is_refused():
    for length in range(len(ANSWER) - 1):
        with pytest.raises(BadAnswer):
            read_answer(ANSWER[:length], 3, 3)
    for steps, queries in ((2, 3), (4, 3), (3, 2), (3, 4)):
        with pytest.raises(BadAnswer):
            read_answer(ANSWER, steps, queries)


def test_a_changed_answer_is_refused_or_says_no_more_than_its_words():
    rng = random.Random(2)
    for _ in range(3000):
        changed = bytearray(ANSWER)
        changed[rng.randrange(len(changed))] = rng.randrange(256)
        try:
            answer = read_answer(bytes(changed), 3, 3)
        except (BadAnswer, UnicodeDecodeError):
            continue
        assert len(answer.reasons) == len(answer.axioms) == 3


def test_terms_are_written_after_those_inside_them_and_once():
    terms = Terms()
    prop = terms.add((Tag.SORT, terms.add(("level", 0), 0, False)), 0, False)
    bound = terms.add((Tag.BOUND, 0), 1, False)
    type_ = terms.add((Tag.FORALL, prop, bound), 0, False)
    document = Declarations(terms)
    document.declare(Constant("a\nb", Kind.AXIOM, (), type_))
    document.declare(Constant("c", Kind.THEOREM, ("u",), type_, type_), accepted=True)
    assert document.written(["Init"], ["c"]) == (
        b"proofmesh-declarations 1\nnames 4\ns 0 3:a\nb\ns 0 1:c\ns 0 1:u\ns 0 4:Init\nlevels 0\n"
        b"expressions 3\ns 0\nb 0\np 0 1\nimports 1\n4\nsteps 2\na 1 0 2\nT 2 1 3 2 2\nqueries 1\n2\nend\n"
    )
