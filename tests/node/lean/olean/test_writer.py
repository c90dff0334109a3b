"""The forging tool writes what Lean writes: files go through it unchanged, and Lean imports those made with it."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.forging import SOURCE, compile_text
from tests.node.lean.olean.writer import Forged, Maker, Meanings, Reading, common, details

pytestmark = pytest.mark.lean

LIBRARY_FILES = 6


@pytest.fixture(scope="module")
def olean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("writer")))


def library_files() -> list[Path]:
    """Small files of pocket Lean's library."""
    files = Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean")
    return sorted(files, key=lambda file: file.stat().st_size)[:LIBRARY_FILES]


def test_a_file_is_decoded_and_encoded_to_the_same_bytes(olean: Path) -> None:
    for file in (olean, *library_files()):
        content = file.read_bytes()
        assert Forged.decode(content).encode() == content, file.name


def test_all_hashes_and_summaries_are_computed_as_lean_computes_them(olean: Path) -> None:
    for file in (olean, *library_files()):
        forged = Forged.decode(file.read_bytes())
        assert sum(1 for _ in forged.terms()) > 10
        forged.repair()
        assert forged.encode() == file.read_bytes(), file.name


async def test_lean_imports_a_file_whose_objects_are_in_another_order(tmp_path: Path) -> None:
    main = await compile_text(SOURCE, tmp_path)
    forged = Forged.decode(main.read_bytes())
    random.Random(1).shuffle(forged.objects)
    assert forged.encode() != main.read_bytes()
    main.write_bytes(forged.encode())
    await compile_text(
        "import Main\ntheorem again : 1 = 1 := one\ntheorem two : Even 2 := two_is_even\n", tmp_path, "B"
    )


async def test_lean_imports_a_file_made_from_nothing(olean: Path, tmp_path: Path) -> None:
    make = Maker()
    true = make.equal(make.numeral_of(7), make.numeral_of(7))
    identity = make.forall("p", make.sort(0), make.forall("h", make.bound(0), make.bound(1)))
    proof = make.lambda_("p", make.sort(0), make.lambda_("h", make.bound(0), make.bound(0)))
    constants = [
        make.theorem(make.name("seven"), true, make.reflexive(make.numeral_of(7))),
        make.theorem(make.name("identity"), identity, proof),
        make.definition(make.name("nine"), make.constant("Nat"), make.numeral(9)),
        make.axiom(make.name("wrong"), make.equal(make.numeral_of(1), make.numeral_of(2))),
    ]
    made = writer.module(olean.read_bytes()[: writer.HEADER_BYTES], ["Init"], constants, make)
    (tmp_path / "Made.olean").write_bytes(made.encode())
    text = (
        "import Made\ntheorem a : 7 = 7 := seven\ntheorem b (p : Prop) (h : p) : p := identity p h\n"
        "theorem c : nine = 9 := rfl\ntheorem d : 1 = 2 := wrong\n"
    )
    await compile_text(text, tmp_path, "B")


async def test_a_change_is_what_lean_reads(tmp_path: Path) -> None:
    main = await compile_text("def two : Nat := 2\n", tmp_path)
    forged, make = Forged.decode(main.read_bytes()), Maker()
    details(forged.info("two")).fields[1] = make.numeral_of(5)
    main.write_bytes(forged.encode())
    await compile_text("import Main\ntheorem t : two = 5 := rfl\n", tmp_path, "B")


def test_meanings_are_equal_exactly_for_the_same_statements(olean: Path) -> None:
    meanings, make = Meanings(), Maker()
    first, second = (Reading(Forged.decode(olean.read_bytes()), meanings) for _ in range(2))
    wholes = {name: first.whole(name) for name in first.infos}
    assert wholes == {name: second.whole(name) for name in second.infos}
    # The name of a bound variable means nothing; a number and what a definition is do.
    changed = Forged.decode(olean.read_bytes())
    swap = common(changed.info("swap"))
    binder = swap.fields[2]
    assert isinstance(binder, writer.Object) and binder.tag == writer.FORALL
    binder.fields[0] = make.name("another")
    common(changed.info("one")).fields[2] = make.equal(make.numeral_of(1), make.numeral_of(3))
    details(changed.info("large")).fields[1] = make.numeral(8)
    changed.repair()
    third = Reading(changed, meanings)
    other = {".".join(map(str, name)) for name in wholes if third.whole(name) != wholes[name]}
    assert {"one", "large_eq"} <= other and "swap" not in other and "two_is_even" not in other


def test_enormous_trees_have_a_meaning_at_once(olean: Path) -> None:
    make = Maker()
    term, level = make.constant("True"), make.level(writer.PARAMETER, make.name("u"))
    for _ in range(200):
        term, level = make.apply(make.constant("And"), term, term), make.level(writer.MAX, level, level)
    both = make.forall("a", make.expression(writer.SORT, level), term)
    forged = Forged.decode(olean.read_bytes())
    forged.add(make.axiom(make.name("enormous"), both, levels=writer.linked([make.name("u")])))
    reading = Reading(Forged.decode(forged.encode()), Meanings())
    assert reading.whole(("enormous",))
