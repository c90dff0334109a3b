"""What a compiled module declares: read as it is, and refused where its lists do not fit together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from node.lean.check.olean.declarations import groups, uses
from node.lean.check.olean.module import Kind, Module
from node.lean.check.olean.region import BadOlean
from node.lean.check.olean.terms import Terms, show
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.forging import SOURCE, TAG, Forgery, compile_text, opened

pytestmark = pytest.mark.lean


_ARITHMETIC = "succ add sub mul div mod gcd beq ble land lor xor shiftLeft shiftRight pow log2"
COMPUTED_BY_THE_KERNEL = {f"Nat.{name}" for name in _ARITHMETIC.split()} | {
    "String.ofList",
    "Char.ofNat",
    "eagerReduce",
}


@pytest.fixture(scope="module")
def olean(tmp_path_factory):
    return asyncio.run(compile_text(SOURCE, tmp_path_factory.mktemp("module")))


def refused(forgery: Forgery, path) -> str:
    """Why a changed file is refused: when it is read, or when the order of its declarations is planned."""
    file = forgery.write(path / "forged.olean")
    with pytest.raises(BadOlean) as raised, opened(file) as module:
        list(groups(module, uses(module, module.reader.terms)))
    return str(raised.value)


def test_names_kinds_types_imports_and_lines_are_read(olean):
    terms = Terms()
    module = Module(olean, terms)
    assert set(module.imports) == {"Init"}
    kinds = {name: constant.kind for name, constant in module.constants.items()}
    assert (
        kinds["Tree"] is Kind.INDUCTIVE
        and kinds["Tree.node"] is Kind.CONSTRUCTOR
        and kinds["Tree.rec_1"] is Kind.RECURSOR
    )
    assert kinds["size"] is Kind.DEFINITION and kinds["one"] is Kind.THEOREM and kinds["hidden"] is Kind.OPAQUE
    assert kinds["wrong"] is Kind.AXIOM and kinds["_private.Main.0.secret"] is Kind.THEOREM
    assert module.constants["Even"].mutual == ("Even", "Odd") and module.constants["Tree"].constructors == (
        "Tree.leaf",
        "Tree.node",
    )
    assert module.constants["Pair"].level_parameters == ("u",) and module.constants["Pair"].parameters == 2
    assert (
        show(terms, module.constants["wrong"].type)
        == "Eq Nat (OfNat.ofNat Nat 1 (instOfNatNat 1)) (OfNat.ofNat Nat 2 (instOfNatNat 2))"
    )
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


@pytest.mark.slow
def test_every_module_of_the_library_is_read():
    files = [*Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean")]
    assert len(files) > 20 and len(declared_in(files)) > 3000


def test_declarations_come_behind_those_that_they_use(olean):
    with opened(olean) as module:
        used = uses(module, module.reader.terms)
        order = [[each.name for each in group] for group in groups(module, used)]
    place = {name: at for at, group in enumerate(order) for name in group}
    assert ["Even", "Odd", "Even.zero", "Even.step", "Odd.step"] in order
    assert all(place.get(below, -1) <= place[name] for name in place for below in used[name] if below in place)


def test_two_constants_of_one_name_are_refused(olean, tmp_path):
    forgery = Forgery(olean)
    one, wrong = forgery.constant("one")[2], forgery.constant("wrong")[2]
    later, earlier = max(one, wrong), min(one, wrong)
    forgery.set_word(later, 1, forgery.word(earlier, 1))
    assert "list of names" in refused(forgery, tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.AXIOM] + [8, 9, 100])
def test_an_axiom_cannot_pass_for_something_else(olean, tmp_path, kind):
    forgery = Forgery(olean)
    forgery.set_byte(forgery.constant("wrong")[0], TAG, kind)
    assert refused(forgery, tmp_path)


def test_a_theorem_without_its_value_is_refused(olean, tmp_path):
    forgery = Forgery(olean)
    forgery.set_field("one", 1, 1)  # a boxed number in the place of the value
    assert refused(forgery, tmp_path)


def test_a_constructor_of_no_type_is_refused(olean, tmp_path):
    # Safe, but of a type that is marked as unsafe: the kernel would never be given it, and other files would import it.
    forgery = Forgery(olean)
    forgery.set_scalar("Tree", 1, 1)
    assert "does not belong" in refused(forgery, tmp_path)


def test_the_roots_of_a_file_are_what_they_should_be(olean, tmp_path):
    with opened(olean) as module:
        root = module.region.root
    for index in range(1, 6):
        forgery = Forgery(olean)
        forgery.set_word(root, index, forgery.pointers(249)[0])  # a string
        assert refused(forgery, tmp_path), index
