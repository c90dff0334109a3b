"""Compiled modules are read as they are, and written by the forging tool as Lean writes them; what is not exactly a
heap of objects, names, terms and declarations that fit together is refused, whatever bytes are changed."""

import asyncio
import random
import struct
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from node.lean.check.verify.judge import UnreadableModule, dependent_proofs
from node.lean.olean.declarations import groups, uses
from node.lean.olean.module import Kind, Module
from node.lean.olean.region import BadOlean, Region
from node.lean.olean.terms import Tag, Terms, show
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean import writer
from tests.node.lean.olean.forging import SOURCE, compile_text, opened
from tests.node.lean.olean.writer import ARRAY, INTEGER, STRING, Forged, Maker, Object, common, details, fields_of

pytestmark = pytest.mark.lean

Change = Callable[[Forged], object]

_ARITHMETIC = "succ add sub mul div mod gcd beq ble land lor xor shiftLeft shiftRight pow log2"
COMPUTED_BY_THE_KERNEL = {f"Nat.{name}" for name in _ARITHMETIC.split()}
COMPUTED_BY_THE_KERNEL |= {"String.ofList", "Char.ofNat", "eagerReduce"}


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("module")))


def refused(forged: Forged, path: Path) -> str:
    """Why a changed file is refused: when it is read, or when the order of its declarations is planned."""
    file = path / "forged.olean"
    file.write_bytes(forged.encode())
    with pytest.raises(BadOlean) as raised, opened(file) as module:
        list(groups(module, uses(module, module.reader.terms)))
    return str(raised.value)


# --- what is right ----------------------------------------------------------------------------------------------------


def test_names_kinds_types_imports_and_lines_are_read(olean):
    terms = Terms()
    module = Module(olean, terms)
    assert set(module.imports) == {"Init"}
    kinds = {name: constant.kind for name, constant in module.constants.items()}
    right = {"Tree": Kind.INDUCTIVE, "Tree.node": Kind.CONSTRUCTOR, "Tree.rec_1": Kind.RECURSOR, "hidden": Kind.OPAQUE}
    right |= {"one": Kind.THEOREM, "_private.Main.0.secret": Kind.THEOREM, "wrong": Kind.AXIOM, "size": Kind.DEFINITION}
    assert {name: kinds[name] for name in right} == right
    assert module.constants["Even"].mutual == ("Even", "Odd")
    assert module.constants["Tree"].constructors == ("Tree.leaf", "Tree.node")
    assert module.constants["Pair"].level_parameters == ("u",) and module.constants["Pair"].parameters == 2
    stated = show(terms, module.constants["wrong"].type)
    assert stated == "Eq Nat (OfNat.ofNat Nat 1 (instOfNatNat 1)) (OfNat.ofNat Nat 2 (instOfNatNat 2))"
    assert "36893488147419103232" in show(terms, module.constants["large"].value)
    lines = {name: line for name, (line, _) in module.places.items()}
    texts = SOURCE.splitlines()
    assert texts[lines["large"] - 1].startswith("def large") and texts[lines["wrong"] - 1].startswith("axiom wrong")
    module.close()


def test_the_library_declares_what_the_kernel_computes():
    # Else somebody could declare one of them otherwise than the kernel computes it.
    folder = Path(LeanToolchain.pocket().environment["LEAN_PATH"]) / "Pocket"
    declared: set[str] = set()
    for name in ("Prelude", "Text", "Nat/Kernel"):
        with opened(folder / f"{name}.olean") as module:
            declared.update(module.constants)
            assert len(module.places) <= len(module.constants)
    assert declared >= COMPUTED_BY_THE_KERNEL


def test_declarations_come_behind_those_that_they_use(olean):
    with opened(olean) as module:
        used = uses(module, module.reader.terms)
        order = [[each.name for each in group] for group in groups(module, used)]
    place = {name: at for at, group in enumerate(order) for name in group}
    assert ["Even", "Odd", "Even.zero", "Even.step", "Odd.step"] in order
    assert all(place.get(below, -1) <= place[name] for name in place for below in used[name] if below in place)


def test_an_honest_file_is_read_to_its_end_and_a_file_cut_short_anywhere_is_refused(olean, tmp_path):
    region = Region(olean)
    assert len(region.pointers) > 1000 and region.root in region.pointers
    region.close()
    whole = olean.read_bytes()
    for size in (0, 1, 5, 87, 88, 95, 96, 104, len(whole) // 2 // 8 * 8, len(whole) - 8, len(whole) - 1):
        path = tmp_path / "cut.olean"
        path.write_bytes(whole[:size])
        with pytest.raises(BadOlean), opened(path):
            pass


def test_equal_terms_of_two_files_have_one_number(tmp_path, olean):
    text = "theorem b (x : Nat) : x = x := rfl\ntheorem c : 1 = 1 := rfl\n"
    other = asyncio.run(compile_text(text, tmp_path, "Other"))
    terms = Terms()
    one, two = Module(olean, terms), Module(other, terms)
    assert one.constants["one"].type == two.constants["c"].type != two.constants["b"].type
    assert show(terms, one.constants["two_is_even"].type).startswith("Even")
    one.close()
    two.close()


# --- what is wrong ----------------------------------------------------------------------------------------------------


def set_byte(forged: Forged, at: int, value: int) -> None:
    """A byte of the file's header."""
    forged.header = forged.header[:at] + bytes([value]) + forged.header[at + 1 :]


def set_summary(term: Object, bit: int) -> None:
    writer.set_scalar(term, writer.scalar(term) ^ 1 << bit)


def first(forged: Forged, tag: int) -> Object:
    return next(each for each in forged.objects if each.tag == tag)


def header(tag: int, word: int) -> Change:
    """The header of the first object with a tag."""
    return lambda forged: first(forged, tag).claims.update({0: word})


def application(change: Callable[[Object], None]) -> Change:
    """The statement of a theorem without binders, which is an application."""
    return lambda forged: change(fields_of(common(forged.info("one")).fields[2], 2))


def summary_of_level(forged: Forged) -> None:
    """Of the successor of a parameter."""
    levels = (each for sort, each in forged.terms() if sort == "level" and each.tag == writer.SUCCESSOR)
    set_summary(next(each for each in levels if writer.scalar(each) >> 33 & 1), 33)


def unfinished(tag: int) -> Change:
    def change(forged: Forged) -> None:
        next(each for sort, each in forged.terms() if sort == "expression" and each.tag == Tag.SORT).tag = tag

    return change


def length(tag: int, value: int) -> Change:
    def change(forged: Forged) -> None:
        alike = (each for each in forged.objects if each.tag == tag)
        max(alike, key=lambda each: len(each.fields) + len(each.data)).claims[1] = value

    return change


def label(text: bytes) -> Change:
    """The eight bytes of a string with its end are others."""

    def change(forged: Forged) -> None:
        found = next(each for each in forged.objects if each.tag == STRING and each.data == b"a label")
        found.claims[4] = int.from_bytes(text, "little")

    return change


def limbs(*words: int) -> Change:
    """The digits of the first large number."""
    return lambda forged: setattr(first(forged, INTEGER), "data", struct.pack(f"<{len(words)}Q", *words))


def set_kind(forged: Forged, kind: int) -> None:
    forged.info("wrong").tag = kind


def one_name_twice(forged: Forged) -> None:
    common(forged.info("wrong")).fields[0] = common(forged.info("one")).fields[0]


WRONG: dict[str, tuple[str, list[Change]]] = {
    "another marker": ("not a compiled", [lambda forged: set_byte(forged, 0, ord("x"))]),
    "another format": ("format", [lambda forged, value=value: set_byte(forged, 5, value) for value in (1, 3, 255)]),
    "an object that counts references": ("reference count", [header(STRING, STRING << 56 | 1 << 32 | 1)]),
    "objects that do not fill the file": (
        "",
        [
            *(
                lambda forged, field=field: setattr(first(forged, 0), *field)
                for field in (("size", 255), ("other", 200))
            ),
            *(header(0, 245 << 56 | 1 << 48 | 16 << 32), header(STRING, 254 << 56 | 1 << 32)),
        ],
    ),
    "an array or string that is longer than its place": (
        "exceeds its space",
        [length(tag, value) for tag in (STRING, ARRAY) for value in (1 << 63, 1 << 40, 1 << 20)],
    ),
    "a string that does not end, or is no UTF-8": ("string", [label(b"a labelA"), label(b"\xff label\0")]),
    # The kernel takes the number 5 as an object for another one than the boxed 5, and would prove that they differ.
    "a number that Lean would write otherwise": (
        "shortest form",
        [limbs(number, *more) for number in (5, 1 << 62, (1 << 63) - 1) for more in ((), (0,))],
    ),
    "a negative number": ("", [lambda forged: first(forged, INTEGER).claims.update({1: 0xFF000002 << 32 | 2})]),
    # The kernel believes summaries: it would not instantiate without loose variables, not replace without parameters.
    "a wrong summary of a term": (
        "wrong summary",
        [application(partial(set_summary, bit=bit)) for bit in (40, 41, 42, 43, 44, 50, 63)],
    ),
    "a wrong summary of a level": ("wrong summary", [summary_of_level]),
    # The kernel would take it for another name than the one that is read: a second `propext`.
    "a wrong hash of a name": (
        "wrong hash",
        [lambda forged: set_summary(fields_of(common(forged.info("wrong")).fields[0], 2), 0)],
    ),
    "a term that is not finished": ("", [unfinished(Tag.FREE), unfinished(Tag.META)]),
    "a term with other parts": (
        "",
        [application(lambda term: setattr(term, "other", 1)), application(lambda term: setattr(term, "size", 24))],
    ),
    "two constants of one name": ("list of names", [one_name_twice]),
    "an axiom that passes for something else": (
        "",
        [partial(set_kind, kind=kind) for kind in (*(each for each in Kind if each is not Kind.AXIOM), 8, 9, 100)],
    ),
    "a theorem with a number in the place of its value": (
        "",
        [lambda forged: details(forged.info("one")).fields.__setitem__(1, 0)],
    ),
    # Safe, but of a type that is marked as unsafe: the kernel would never be given it, and other files would import it.
    "a constructor of no type": ("does not belong", [lambda forged: writer.set_flag(forged.info("Tree"), 1, 1)]),
    "a module of other parts": (
        "",
        [lambda forged, at=at: forged.data.fields.__setitem__(at, first(forged, STRING)) for at in range(5)],
    ),
}


@pytest.mark.parametrize("most", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_what_is_wrong_in_a_file_is_refused(olean, tmp_path, most):
    """`most`: changes of each kind."""
    for name, (says, changes) in WRONG.items():
        for number, change in enumerate(changes[:most]):
            forged = Forged.decode(olean.read_bytes())
            change(forged)
            assert forged.encode() != olean.read_bytes()
            assert says in refused(forged, tmp_path), (name, number)


def test_an_object_points_only_to_the_beginning_of_an_earlier_one(olean, tmp_path):
    with opened(olean) as module:
        pointers = sorted(module.region.pointers)
    honest = Forged.decode(olean.read_bytes())
    at = next(at for at, each in enumerate(honest.objects) if each.tag == 0 and isinstance(each.fields[0], Object))
    held, last = pointers[at], max(pointers)
    earlier = pointers[honest.objects.index(honest.objects[at].fields[0])]
    end = last + len(olean.read_bytes())
    base = int.from_bytes(honest.header[writer.BASE_AT :], "little")
    for value in (held, held + 8, last, end, end + 8, 0, 8, base, 1 << 62, earlier + 8):
        forged = Forged.decode(olean.read_bytes())
        forged.objects[at].fields[0] = writer.Raw(value)
        assert "pointer" in refused(forged, tmp_path), hex(value)


@pytest.mark.parametrize("changes", [20, pytest.param(400, marks=pytest.mark.slow)])
def test_whatever_byte_is_changed_the_reader_reads_or_refuses(olean, tmp_path, changes):
    source = random.Random(10)
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
                used = uses(module, module.reader.terms)
                with suppress(UnreadableModule):
                    dependent_proofs(used, ["Tree", "Pair", "Even"])
        except BadOlean:
            refusals += 1
    assert changes // 4 < refusals < changes


LIBRARY_FILES = 6


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


async def test_lean_imports_a_file_made_from_nothing(olean: Path, tmp_path: Path) -> None:
    make = Maker()
    one, two, seven = (f"(OfNat.ofNat.{{0}} Nat {number} (instOfNatNat {number}))" for number in (1, 2, 7))
    constants = [
        make.theorem("seven", f"Eq.{{1}} Nat {seven} {seven}", f"Eq.refl.{{1}} Nat {seven}"),
        make.theorem("identity", "∀ p : Prop, ∀ h : p, p", "λ p : Prop, λ h : p, h"),
        make.definition("nine", "Nat", "9"),
        make.axiom("wrong", f"Eq.{{1}} Nat {one} {two}"),
    ]
    made = writer.module(olean.read_bytes()[: writer.HEADER_BYTES], ["Init"], constants, make)
    (tmp_path / "Made.olean").write_bytes(made.encode())
    text = (
        "import Made\ntheorem a : 7 = 7 := seven\ntheorem b (p : Prop) (h : p) : p := identity p h\n"
        "theorem c : nine = 9 := rfl\ntheorem d : 1 = 2 := wrong\n"
    )
    await compile_text(text, tmp_path, "B")
