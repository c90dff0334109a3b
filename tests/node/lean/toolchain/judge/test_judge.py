"""The judge on pocket Lean: what it accepts, what it refuses, and which axioms it reports."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.node.lean.toolchain.judge.conftest import Judge
from tests.node.lean.toolchain.judge.declarations import Data, Parts

pytestmark = pytest.mark.lean

PROP_EXT, SOUND, CHOICE = ("propext",), ("Quot", "sound"), ("Classical", "choice")


def test_constants_that_are_right_are_accepted_with_their_axioms(judged: Judge) -> None:
    data = Data()
    true, nat, one = data.const("True"), data.const("Nat"), data.succ(0)
    intro, zero = data.const("True.intro"), data.const("Nat.zero")
    u = data.param("u")
    data.axiom("assumed", true)
    data.definition(
        "id2",
        data.pi(data.sort(u), data.pi(data.var(0), data.var(1))),
        data.lam(data.sort(u), data.lam(data.var(0), data.var(0))),
        ["u"],
        1,
    )
    data.theorem("byIntro", true, intro)
    data.theorem("byAxiom", true, data.const("assumed"))
    data.theorem("byIdentity", true, data.app(data.const("id2", 0), true, data.const("byAxiom")))
    data.opaque("hidden", nat, zero)
    data.theorem(
        "sum",
        data.eq(one, nat, data.app(data.const("Nat.add"), data.nat(2**70), data.nat(3)), data.nat(2**70 + 3)),
        data.refl(one, nat, data.nat(2**70 + 3)),
    )
    char_list = data.eq(one, data.const("String"), data.string("a\nb c"), data.string("a\nb c"))
    data.theorem("sameText", char_list, data.refl(one, data.const("String"), data.string("a\nb c")))
    data.theorem("byLet", true, data.let(true, intro, data.var(0)))
    pair = data.app(data.const("And.intro"), true, true, intro, intro)
    data.theorem("projected", true, data.proj("And", 1, pair))
    data.ask(
        "assumed", "id2", "byIntro", "byAxiom", "byIdentity", "hidden", "sum", "sameText", "projected", "absent", "Nat"
    )
    data.ask("propext", "Classical.choice", "Classical.em", "Quot.sound", "Quot.mk", "funext", "sorryAx", "Nat.rec", "")
    answer = judged(data)
    assert answer.steps == [""] * 10
    assumed: set[Parts] = {("assumed",)}
    mine = [assumed, set(), set(), assumed, assumed, set(), set(), set(), set(), None, set()]
    library = [{PROP_EXT}, {CHOICE}, {PROP_EXT, SOUND, CHOICE}, {SOUND}, set(), {SOUND}, {("sorryAx",)}, set(), None]
    assert answer.axioms == mine + library


def test_what_is_wrong_is_refused_and_absent(judged: Judge) -> None:
    data = Data()
    true, false, nat, one = data.const("True"), data.const("False"), data.const("Nat"), data.succ(0)
    intro = data.const("True.intro")
    wrong: dict[str, Callable[[str], None]] = {
        "stated type": lambda n: data.theorem(n, false, intro),
        "not a proposition": lambda n: data.theorem(n, nat, data.nat(1)),
        "not declared": lambda n: data.theorem(n, false, data.const("missing")),
        "takes": lambda n: data.theorem(n, true, data.app(data.const("And.intro"), true, true, intro, nat)),
        "not a function": lambda n: data.theorem(n, true, data.app(intro, intro)),
        "type is expected": lambda n: data.axiom(n, intro),
        "without its binder": lambda n: data.axiom(n, data.var(0)),
        "projection": lambda n: data.theorem(n, true, data.proj("And", 7, intro)),
        "`let`": lambda n: data.theorem(n, true, data.let(false, intro, intro)),
        "rejects it": lambda n: data.axiom(n, data.sort(data.param("u"))),
    }
    for number, declare in enumerate(wrong.values()):
        declare(f"wrong{number}")
    data.theorem("again", true, intro)
    data.theorem("again", true, intro)
    data.definition("loops", false, data.const("loops"))
    data.theorem("uses", false, data.const("wrong0"))
    data.axiom("Nat.add", false)
    data.axiom("sum", data.eq(one, nat, data.app(data.const("Nat.add"), data.nat(2), data.nat(2)), data.nat(5)))
    data.theorem(
        "sumIsFive",
        data.eq(one, nat, data.app(data.const("Nat.add"), data.nat(2), data.nat(2)), data.nat(5)),
        data.refl(one, nat, data.nat(4)),
    )
    data.ask("wrong0", "again", "loops", "uses", "sumIsFive", "Nat.add")
    answer = judged(data)
    for reason, given in zip(wrong, answer.steps, strict=False):
        assert reason in given, (reason, answer.steps)
    again, twice, loops, uses, reserved, assumed, five = answer.steps[len(wrong) :]
    assert not again and not assumed
    assert "declared already" in twice and "not declared" in loops and "not declared: wrong0" in uses
    assert "only the library" in reserved and "stated type" in five
    assert answer.axioms == [None, set(), None, None, None, set()]


def test_inductive_types_get_their_recursors_from_the_kernel(judged: Judge) -> None:
    data = Data()
    one = data.succ(0)
    u = data.param("u")
    kind, nat = data.sort(one), data.const("Nat")
    # Trees, a parametric type, two mutual types, a nested one, a proposition.
    tree = data.const("Tree")
    data.inductive([("Tree", kind, [("Tree.leaf", tree), ("Tree.node", data.pi(tree, data.pi(tree, tree)))])])
    sizes = data.app(
        data.const("Tree.rec", one),
        data.lam(tree, nat),
        data.nat(1),
        data.lam(
            tree,
            data.lam(tree, data.lam(nat, data.lam(nat, data.app(data.const("Nat.add"), data.var(1), data.var(0))))),
        ),
    )
    data.definition("size", data.pi(tree, nat), sizes)
    two = data.app(data.const("Tree.node"), data.const("Tree.leaf"), data.const("Tree.leaf"))
    claim = data.eq(one, nat, data.app(data.const("size"), two), data.nat(2))
    data.theorem("sizeOfTwo", claim, data.refl(one, nat, data.nat(2)))
    data.theorem(
        "sizeOfThree",
        data.eq(one, nat, data.app(data.const("size"), two), data.nat(3)),
        data.refl(one, nat, data.nat(3)),
    )
    box = data.pi(data.sort(data.succ(u)), data.sort(data.succ(u)))
    boxed = data.pi(data.sort(data.succ(u)), data.pi(data.var(0), data.app(data.const("Box", u), data.var(1))))
    data.inductive([("Box", box, [("Box.mk", boxed)])], parameters=1, params=["u"])
    even, odd = data.const("Even"), data.const("Odd")
    data.inductive(
        [
            ("Even", kind, [("Even.zero", even), ("Even.next", data.pi(odd, even))]),
            ("Odd", kind, [("Odd.next", data.pi(even, odd))]),
        ]
    )
    rose = data.const("Rose")
    data.inductive([("Rose", kind, [("Rose.node", data.pi(data.app(data.const("List", 0), rose), rose))])])
    bad = data.const("Bad")
    data.inductive([("Bad", kind, [("Bad.mk", data.pi(data.pi(bad, data.const("False")), bad))])])
    data.inductive([("Nat.succ", kind, [])])
    data.inductive([("Mine", kind, [("propext", data.const("Mine"))])])
    data.axiom("someRose", rose)
    data.ask("sizeOfTwo", "Tree.rec", "Tree.node", "Box.rec", "Even.rec", "Odd.rec", "Rose.rec_1")
    data.ask("Bad", "Bad.mk", "Mine", "someRose")
    answer = judged(data)
    assert answer.accepted == [True, True, True, False, True, True, True, False, False, False, True]
    assert (
        "rejects" in answer.steps[7] and "only the library" in answer.steps[8] and "only the library" in answer.steps[9]
    )
    assert answer.axioms == [set(), set(), set(), set(), set(), set(), set(), None, None, None, {("someRose",)}]


def test_a_fresh_environment_forgets_what_was_declared(judged: Judge) -> None:
    data = Data()
    true, false = data.const("True"), data.const("False")
    data.axiom("assumed", false)
    data.theorem("easy", false, data.const("assumed"))
    data.fresh()
    data.theorem("easy", false, data.const("assumed"))
    data.theorem("assumed", true, data.const("True.intro"))
    data.theorem("hard", true, data.const("assumed"))
    data.ask("assumed", "easy", "hard")
    answer = judged(data)
    assert answer.accepted == [True, True, True, False, True, True]
    assert answer.axioms == [set(), None, set()]


def test_names_are_only_data(judged: Judge) -> None:
    data = Data()
    true, intro = data.const("True"), data.const("True.intro")
    strange: list[Parts] = [
        ("a\ny\nend\n",),
        ("", "", 0),
        ("_private", "Mod", 0, "f", 2**40),
        ("«x»", "é", "\0", "😀"),
        ("a", "b"),
        ("a.b",),
        ("quoted \"'`",),
    ]
    for each in strange:
        data.axiom(each, true)
    reserved = ["Lean.reduceBool", "Lean.reduceNat", "Nat.pow", "String.ofList", "Char.ofNat", "Quot", "Eq"]
    reserved += ["Classical.choice", "Lean.trustCompiler", "_nested.X", "_kernel_fresh.1", ""]
    for each_reserved in reserved:
        data.axiom(each_reserved, true)
    data.theorem("missing\nproofmesh-verdicts 1\n", true, data.const(("not\nend\n",)))
    data.theorem("fine", true, intro)
    data.ask(*strange, "fine")
    answer = judged(data)
    assert answer.accepted == [True] * len(strange) + [False] * len(reserved) + [False, True]
    assert answer.axioms == [{each} for each in strange] + [set()]


def test_without_a_library_the_kernel_knows_nothing(judged: Judge) -> None:
    data = Data(imports=())
    kind = data.sort(data.succ(0))
    nat = data.const("Nat")
    data.inductive([("Nat", kind, [("Nat.zero", nat), ("Nat.succ", data.pi(nat, nat))])])
    data.definition("Nat.add", data.pi(nat, data.pi(nat, nat)), data.lam(nat, data.lam(nat, data.var(0))))
    data.axiom("two", data.eq(0, nat, data.nat(2), data.nat(2)))
    data.inductive([("Quot", kind, [])])
    data.inductive([("Unit2", kind, [("Unit2.unit", data.const("Unit2"))])])
    data.ask("Nat", "Unit2.rec")
    answer = judged(data)
    assert answer.accepted == [False, False, False, False, True]
    assert answer.axioms == [None, set()]
