"""Names, levels and terms of a compiled file: their summaries and hashes are computed again, and equality is exact."""

from __future__ import annotations

import asyncio

import pytest

from node.lean.check.olean.region import BadOlean
from node.lean.check.olean.terms import Tag, Terms, quoted, show
from tests.node.lean.olean.forging import SIZE, SOURCE, TAG, Forgery, compile_text, opened

pytestmark = pytest.mark.lean

SUMMARY_OF_APPLICATION = 3
"""Word of an application in which its summary stands: header, function, argument, summary."""


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("terms")))


def refused(forgery: Forgery, path) -> str:
    """Why a changed file is refused."""
    with pytest.raises(BadOlean) as raised, opened(forgery.write(path / "forged.olean")):
        pass
    return str(raised.value)


def application(forgery: Forgery) -> int:
    """An application: the statement of a theorem without binders."""
    found = forgery.type("one")
    assert forgery.word(found) >> 56 == Tag.APPLY
    return found


@pytest.mark.parametrize("bit", [40, 41, 42, 43, 44, 50, 63])
def test_a_wrong_summary_is_refused(olean, tmp_path, bit):
    # The kernel believes it: with "no loose variables" it would not instantiate, with "no parameters" not replace them.
    forgery = Forgery(olean)
    at = application(forgery)
    forgery.set_word(at, SUMMARY_OF_APPLICATION, forgery.word(at, SUMMARY_OF_APPLICATION) ^ 1 << bit)
    assert "wrong summary" in refused(forgery, tmp_path)


def test_a_level_with_a_wrong_summary_is_refused(olean, tmp_path):
    forgery = Forgery(olean)
    sort = next(
        each
        for each in forgery.pointers(Tag.SORT)
        if (forgery.word(each) >> 48 & 0xFF) == 1
        and forgery.word(each) >> 32 & 0xFFFF == 24
        and not forgery.word(each, 1) & 1
        and forgery.word(forgery.word(each, 1)) >> 56 == 1
        and forgery.word(each, 2) >> 43 & 1
    )
    level = forgery.word(sort, 1)
    forgery.set_word(level, 2, forgery.word(level, 2) ^ 1 << 33)
    assert "wrong summary" in refused(forgery, tmp_path)


@pytest.mark.parametrize("tag", [Tag.FREE, Tag.META])
def test_a_term_that_is_not_finished_is_refused(olean, tmp_path, tag):
    forgery = Forgery(olean)
    sort = next(each for each in forgery.pointers(Tag.SORT) if forgery.word(each) >> 32 & 0xFFFF == 24)
    forgery.set_byte(sort, TAG, tag)
    assert refused(forgery, tmp_path)


def test_a_name_with_a_wrong_hash_is_refused(olean, tmp_path):
    # The kernel would take it for another name than the one that is read: a second `propext`.
    forgery = Forgery(olean)
    name = forgery.word(forgery.constant("wrong")[2], 1)
    forgery.set_word(name, 3, forgery.word(name, 3) ^ 1)
    assert "wrong hash" in refused(forgery, tmp_path)


def test_a_term_with_other_parts_is_refused(olean, tmp_path):
    forgery = Forgery(olean)
    at = application(forgery)
    forgery.set_byte(at, 6, 1)
    assert refused(forgery, tmp_path)
    forgery = Forgery(olean)
    forgery.set_byte(at, SIZE, 24)
    assert refused(forgery, tmp_path)


def test_two_names_are_never_written_alike():
    parts = ["a", "a.b", "«a", "b»", "«a».b", "a»", "1", "", "«", "»", "»»", "a».«b", "a»»", "««a", "a b"]
    written = [
        ".".join(map(quoted, name)) for name in [(each,) for each in parts] + [(a, b) for a in parts for b in parts]
    ]
    assert len(set(written)) == len(written)


def test_equal_terms_of_two_files_have_one_number(tmp_path, olean):
    other = asyncio.run(
        compile_text("theorem b (x : Nat) : x = x := rfl\ntheorem c : 1 = 1 := rfl\n", tmp_path, "Other")
    )
    terms = Terms()
    from node.lean.check.olean.module import Module

    one, two = Module(olean, terms), Module(other, terms)
    assert one.constants["one"].type == two.constants["c"].type != two.constants["b"].type
    assert show(terms, one.constants["two_is_even"].type).startswith("Even")
    one.close()
    two.close()


def test_a_long_application_is_shown():
    terms = Terms()
    term = terms.add((Tag.CONSTANT, "f", ()), 0, False)
    for _ in range(100_000):
        term = terms.add((Tag.APPLY, term, term), 0, False)
    assert len(show(terms, term, 100)) <= 100
