"""The bytes of .olean files: what is not exactly a heap of objects is refused, whatever bytes are changed."""

from __future__ import annotations

import random

import pytest

from node.lean.check.olean.region import BadOlean, Region
from tests.node.lean.olean.forging import OBJECTS, SIZE, SOURCE, TAG, Forgery, compile_text, opened

pytestmark = pytest.mark.lean

STRING, ARRAY, INTEGER, CONSTRUCTOR = 249, 246, 250, 0
SEED = 10
CHANGES = 40
"""Of one byte each; ten times as many in the slow tests."""


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    import asyncio

    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("region")))


def refused(forgery: Forgery, path) -> str:
    """Why a changed file is refused."""
    with pytest.raises(BadOlean) as raised, opened(forgery.write(path / "forged.olean")):
        pass
    return str(raised.value)


def test_a_file_cut_short_anywhere_is_refused(olean, tmp_path):
    whole = olean.read_bytes()
    for size in (0, 1, 5, 87, 88, 95, 96, 104, len(whole) // 2 // 8 * 8, len(whole) - 8, len(whole) - 1):
        path = tmp_path / "cut.olean"
        path.write_bytes(whole[:size])
        with pytest.raises(BadOlean), opened(path):
            pass


@pytest.mark.parametrize("at, value", [(0, ord("x")), (5, 1), (5, 3), (5, 255)])
def test_another_marker_or_format_is_refused(olean, tmp_path, at, value):
    forgery = Forgery(olean)
    forgery.bytes[at] = value
    assert "format" in refused(forgery, tmp_path) or "not a compiled" in refused(forgery, tmp_path)


def test_an_object_points_only_to_the_beginning_of_an_earlier_one(olean, tmp_path):
    pointers = Forgery(olean).pointers(CONSTRUCTOR)
    held = next(
        each for each in pointers if (Forgery(olean).word(each) >> 48 & 0xFF) and not Forgery(olean).word(each, 1) & 1
    )
    end = Forgery(olean).base + len(olean.read_bytes())
    for value in (
        held,
        held + 8,
        pointers[-1],
        end,
        end + 8,
        0,
        8,
        Forgery(olean).base,
        1 << 62,
        Forgery(olean).word(held, 1) + 8,
    ):
        forgery = Forgery(olean)
        forgery.set_word(held, 1, value)
        assert "pointer" in refused(forgery, tmp_path), hex(value)


def test_an_object_that_counts_references_is_refused(olean, tmp_path):
    forgery = Forgery(olean)
    forgery.set_byte(forgery.pointers(STRING)[0], 0, 1)
    assert "reference count" in refused(forgery, tmp_path)


def test_the_objects_fill_the_file(olean, tmp_path):
    for tag, byte, value in (
        (CONSTRUCTOR, SIZE, 255),
        (CONSTRUCTOR, OBJECTS, 200),
        (CONSTRUCTOR, TAG, 245),
        (STRING, TAG, 254),
    ):
        forgery = Forgery(olean)
        forgery.set_byte(forgery.pointers(tag)[0], byte, value)
        assert refused(forgery, tmp_path)


@pytest.mark.parametrize("length", [1 << 63, 1 << 40, 1 << 20])
@pytest.mark.parametrize("tag", [STRING, ARRAY])
def test_no_array_or_string_is_longer_than_its_place(olean, tmp_path, tag, length):
    forgery = Forgery(olean)
    largest = max(forgery.pointers(tag), key=lambda each: forgery.word(each, 1))
    forgery.set_word(largest, 1, length)
    assert "exceeds its space" in refused(forgery, tmp_path)


def test_a_string_ends_and_is_utf_8(olean, tmp_path):
    forgery = Forgery(olean)
    label = next(
        each for each in forgery.pointers(STRING) if forgery.bytes[each - forgery.base + 32 :].startswith(b"a label\0")
    )
    for offset, value in ((7, 65), (0, 0xFF)):
        forgery = Forgery(olean)
        forgery.set_byte(label, 32 + offset, value)
        assert "string" in refused(forgery, tmp_path)


def test_a_number_is_written_in_the_only_way_that_lean_writes_it(olean, tmp_path):
    # The kernel takes the number 5 as an object for another one than the boxed 5, and would prove that they differ.
    number = Forgery(olean).pointers(INTEGER)[0]
    digits = 3
    for limbs in ((5, 0), (1 << 62, 0), ((1 << 63) - 1, 0)):
        forgery = Forgery(olean)
        for index, limb in enumerate(limbs):
            forgery.set_word(number, digits + index, limb)
        assert "shortest form" in refused(forgery, tmp_path)
    forgery = Forgery(olean)
    forgery.set_byte(number, 15, 0xFF)  # the sign
    assert refused(forgery, tmp_path)
    forgery = Forgery(olean)
    forgery.set_word(number, 2, forgery.pointers(STRING)[0])
    assert refused(forgery, tmp_path)


@pytest.mark.parametrize("changes", [CHANGES, pytest.param(10 * CHANGES, marks=pytest.mark.slow)])
def test_whatever_byte_is_changed_the_reader_reads_or_refuses(olean, tmp_path, changes):
    source = random.Random(SEED)
    whole = olean.read_bytes()
    refusals = 0
    for _ in range(changes):
        changed = bytearray(whole)
        changed[source.randrange(len(whole))] = source.randrange(256)
        path = tmp_path / "changed.olean"
        path.write_bytes(changed)
        try:
            with opened(path) as module:
                assert module.places is not None
        except BadOlean:
            refusals += 1
    assert changes // 4 < refusals < changes


def test_an_honest_file_is_read_to_its_end(olean):
    region = Region(olean)
    assert len(region.pointers) > 1000 and region.root in region.pointers
    region.close()
