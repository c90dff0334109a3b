"""Compiled modules are read as they are; what is not exactly a heap of objects, names, terms and declarations that fit
together is refused, whatever bytes are changed."""

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from node.lean.check.verify.judge import UnreadableModule, dependent_proofs
from node.lean.olean.declarations import groups, uses
from node.lean.olean.module import Kind, Module
from node.lean.olean.region import BadOlean, Region
from node.lean.olean.terms import Tag, Terms, show
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.forging import OBJECTS, SIZE, SOURCE, TAG, Change, Forgery, compile_text, opened

pytestmark = pytest.mark.lean

STRING, ARRAY, INTEGER, CONSTRUCTOR = 249, 246, 250, 0
SUMMARY_OF_APPLICATION = 3
"""Word of an application in which its summary stands: header, function, argument, summary."""

_ARITHMETIC = "succ add sub mul div mod gcd beq ble land lor xor shiftLeft shiftRight pow log2"
COMPUTED_BY_THE_KERNEL = {f"Nat.{name}" for name in _ARITHMETIC.split()} | {
    *("String.ofList", "Char.ofNat", "eagerReduce")
}


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("module")))


def refused(forgery: Forgery, path: Path) -> str:
    """Why a changed file is refused: when it is read, or when the order of its declarations is planned."""
    file = forgery.write(path / "forged.olean")
    with pytest.raises(BadOlean) as raised, opened(file) as module:
        list(groups(module, uses(module, module.reader.terms)))
    return str(raised.value)


# --- what is right ----------------------------------------------------------------------------------------------------


def test_names_kinds_types_imports_and_lines_are_read(olean):
    terms = Terms()
    module = Module(olean, terms)
    assert set(module.imports) == {"Init"}
    kinds = {name: constant.kind for name, constant in module.constants.items()}
    right = {
        Kind.INDUCTIVE: ["Tree"],
        Kind.CONSTRUCTOR: ["Tree.node"],
        Kind.RECURSOR: ["Tree.rec_1"],
        Kind.DEFINITION: ["size"],
        Kind.THEOREM: ["one", "_private.Main.0.secret"],
        Kind.OPAQUE: ["hidden"],
        Kind.AXIOM: ["wrong"],
    }
    assert all(kinds[name] is kind for kind, names in right.items() for name in names)
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


def declared_in(files: Iterable[Path]) -> set[str]:
    declared: set[str] = set()
    for file in files:
        with opened(file) as module:
            declared.update(module.constants)
            assert len(module.places) <= len(module.constants)
    return declared


def test_the_library_declares_what_the_kernel_computes():
    # Else somebody could declare one of them otherwise than the kernel computes it.
    folder = Path(LeanToolchain.pocket().environment["LEAN_PATH"]) / "Pocket"
    modules = [folder / f"{name}.olean" for name in ("Prelude", "Text", "Nat/Kernel")]
    assert declared_in(modules) >= COMPUTED_BY_THE_KERNEL


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


def byte(tag: int, offset: int, value: int) -> Change:
    """A byte of the header of the first object with a tag."""
    return lambda forgery: forgery.set_byte(forgery.pointers(tag)[0], offset, value)


def of_file(at: int, value: int) -> Change:
    return lambda forgery: forgery.bytes.__setitem__(at, value)


def application(change: Callable[[Forgery, int], None]) -> Change:
    """The statement of a theorem without binders, which is an application."""

    def forge(forgery: Forgery) -> None:
        found = forgery.type("one")
        assert forgery.word(found) >> 56 == Tag.APPLY
        change(forgery, found)

    return forge


def of_application(offset: int, value: int) -> Change:
    return application(lambda forgery, at: forgery.set_byte(at, offset, value))


def summary_of_application(bit: int) -> Change:
    def change(forgery: Forgery, at: int) -> None:
        forgery.set_word(at, SUMMARY_OF_APPLICATION, forgery.word(at, SUMMARY_OF_APPLICATION) ^ 1 << bit)

    return application(change)


def summary_of_level(forgery: Forgery) -> None:
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


def unfinished(tag: int) -> Change:
    def change(forgery: Forgery) -> None:
        sort = next(each for each in forgery.pointers(Tag.SORT) if forgery.word(each) >> 32 & 0xFFFF == 24)
        forgery.set_byte(sort, TAG, tag)

    return change


def hash_of_name(forgery: Forgery) -> None:
    name = forgery.word(forgery.constant("wrong")[2], 1)
    forgery.set_word(name, 3, forgery.word(name, 3) ^ 1)


def length(tag: int, value: int) -> Change:
    def change(forgery: Forgery) -> None:
        largest = max(forgery.pointers(tag), key=lambda each: forgery.word(each, 1))
        forgery.set_word(largest, 1, value)

    return change


def in_label(offset: int, value: int) -> Change:
    def change(forgery: Forgery) -> None:
        texts = forgery.pointers(STRING)
        label = next(each for each in texts if forgery.bytes[each - forgery.base + 32 :].startswith(b"a label\0"))
        forgery.set_byte(label, 32 + offset, value)

    return change


def limbs(*words: int) -> Change:
    """The digits of the first large number."""

    def change(forgery: Forgery) -> None:
        for index, word in enumerate(words):
            forgery.set_word(forgery.pointers(INTEGER)[0], 3 + index, word)

    return change


def one_name_twice(forgery: Forgery) -> None:
    earlier, later = sorted(forgery.constant(name)[2] for name in ("one", "wrong"))
    forgery.set_word(later, 1, forgery.word(earlier, 1))


def root(index: int) -> Change:
    """A field of the module is a string."""

    def change(forgery: Forgery) -> None:
        with opened(forgery.path) as module:
            forgery.set_word(module.region.root, index, forgery.pointers(STRING)[0])

    return change


WRONG: dict[str, tuple[str, list[Change]]] = {
    "another marker": ("not a compiled", [of_file(0, ord("x"))]),
    "another format": ("format", [of_file(5, 1), of_file(5, 3), of_file(5, 255)]),
    "an object that counts references": ("reference count", [byte(STRING, 0, 1)]),
    "objects that do not fill the file": (
        "",
        [byte(0, SIZE, 255), byte(0, OBJECTS, 200), byte(0, TAG, 245), byte(STRING, TAG, 254)],
    ),
    "an array or string that is longer than its place": (
        "exceeds its space",
        [length(tag, value) for tag in (STRING, ARRAY) for value in (1 << 63, 1 << 40, 1 << 20)],
    ),
    "a string that does not end, or is no UTF-8": ("string", [in_label(7, 65), in_label(0, 0xFF)]),
    # The kernel takes the number 5 as an object for another one than the boxed 5, and would prove that they differ.
    "a number that Lean would write otherwise": (
        "shortest form",
        [limbs(5, 0), limbs(1 << 62, 0), limbs((1 << 63) - 1, 0)],
    ),
    "a negative number": ("", [byte(INTEGER, 15, 0xFF)]),
    # The kernel believes summaries: it would not instantiate without loose variables, not replace without parameters.
    "a wrong summary of a term": ("wrong summary", [*map(summary_of_application, (40, 41, 42, 43, 44, 50, 63))]),
    "a wrong summary of a level": ("wrong summary", [summary_of_level]),
    # The kernel would take it for another name than the one that is read: a second `propext`.
    "a wrong hash of a name": ("wrong hash", [hash_of_name]),
    "a term that is not finished": ("", [unfinished(Tag.FREE), unfinished(Tag.META)]),
    "a term with other parts": ("", [of_application(6, 1), of_application(SIZE, 24)]),
    "two constants of one name": ("list of names", [one_name_twice]),
    "an axiom that passes for something else": (
        "",
        [
            lambda forgery, kind=kind: forgery.set_byte(forgery.constant("wrong")[0], TAG, kind)
            for kind in [*(kind for kind in Kind if kind is not Kind.AXIOM), 8, 9, 100]
        ],
    ),
    "a theorem with a number in the place of its value": ("", [lambda forgery: forgery.set_field("one", 1, 1)]),
    # Safe, but of a type that is marked as unsafe: the kernel would never be given it, and other files would import it.
    "a constructor of no type": ("does not belong", [lambda forgery: forgery.set_scalar("Tree", 1, 1)]),
    "a module of other parts": ("", [root(index) for index in range(1, 6)]),
}


@pytest.mark.parametrize("most", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_what_is_wrong_in_a_file_is_refused(olean, tmp_path, most):
    """`most`: changes of each kind."""
    for name, (says, changes) in WRONG.items():
        for number, change in enumerate(changes[:most]):
            forgery = Forgery(olean)
            change(forgery)
            assert bytes(forgery.bytes) != olean.read_bytes()
            assert says in refused(forgery, tmp_path), (name, number)


def test_an_object_points_only_to_the_beginning_of_an_earlier_one(olean, tmp_path):
    honest = Forgery(olean)
    pointers = honest.pointers(CONSTRUCTOR)
    held = next(each for each in pointers if (honest.word(each) >> 48 & 0xFF) and not honest.word(each, 1) & 1)
    end = honest.base + len(olean.read_bytes())
    for value in (held, held + 8, pointers[-1], end, end + 8, 0, 8, honest.base, 1 << 62, honest.word(held, 1) + 8):
        forgery = Forgery(olean)
        forgery.set_word(held, 1, value)
        assert "pointer" in refused(forgery, tmp_path), hex(value)


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
