"""The judge on pocket Lean: what it accepts, what it refuses, and which axioms it reports."""

import random
import re
from pathlib import Path

import pytest

from node.lean.olean.declarations import Declarations, groups, read_answer, uses
from node.lean.olean.module import Kind
from node.lean.olean.terms import Terms
from node.lean.toolchain.lean_toolchain import LeanToolchain
from tests.node.lean.olean.forging import opened
from tests.node.lean.toolchain.judge.conftest import Judge, Run
from tests.node.lean.toolchain.judge.declarations import Data, Parts
from tests.node.lean.toolchain.pocket.conftest import elaborate_file

pytestmark = pytest.mark.lean

PROP_EXT, SOUND, CHOICE = ("propext",), ("Quot", "sound"), ("Classical", "choice")


def test_constants_that_are_right_are_accepted_with_their_axioms(judged: Judge) -> None:
    data, large = Data(), 2**70
    data.axiom("assumed", "True")
    data.definition("id2", "∀ α : Sort u, ∀ a : α, α", "λ α : Sort u, λ a : α, a", ["u"], 1)
    data.theorem("byIntro", "True", "True.intro")
    data.theorem("byAxiom", "True", "assumed")
    data.theorem("byIdentity", "True", "id2.{0} True byAxiom")
    data.opaque("hidden", "Nat", "Nat.zero")
    data.theorem("sum", f"Eq.{{1}} Nat (Nat.add {large} 3) {large + 3}", f"Eq.refl.{{1}} Nat {large + 3}")
    data.theorem("sameText", 'Eq.{1} String "a\nb c" "a\nb c"', 'Eq.refl.{1} String "a\nb c"')
    data.theorem("byLet", "True", "let x : True := True.intro, x")
    data.theorem("projected", "True", "proj And 1 (And.intro True True True.intro True.intro)")
    data.ask("assumed", "id2", "byIntro", "byAxiom", "byIdentity", "hidden", "sum", "sameText")
    data.ask("projected", "absent", "Nat")
    data.ask("propext", "Classical.choice", "Classical.em", "Quot.sound", "Quot.mk", "funext", "sorryAx", "Nat.rec", "")
    answer = judged(data)
    assert answer.steps == [""] * 10
    assumed: set[Parts] = {("assumed",)}
    mine = [assumed, set(), set(), assumed, assumed, set(), set(), set(), set(), None, set()]
    library = [{PROP_EXT}, {CHOICE}, {PROP_EXT, SOUND, CHOICE}, {SOUND}, set(), {SOUND}, {("sorryAx",)}, set(), None]
    assert answer.axioms == mine + library


WRONG = {
    "stated type": ("theorem", "False", "True.intro"),
    "not a proposition": ("theorem", "Nat", "1"),
    "not declared": ("theorem", "False", "missing"),
    "takes": ("theorem", "True", "And.intro True True True.intro Nat"),
    "not a function": ("theorem", "True", "True.intro True.intro"),
    "type is expected": ("axiom", "True.intro"),
    "without its binder": ("axiom", "#0"),
    "projection": ("theorem", "True", "proj And 7 True.intro"),
    "`let`": ("theorem", "True", "let x : False := True.intro, True.intro"),
    "rejects it": ("axiom", "Sort u"),
}


def test_what_is_wrong_is_refused_and_absent(judged: Judge) -> None:
    data = Data()
    for number, (kind, *terms) in enumerate(WRONG.values()):
        getattr(data, kind)(f"wrong{number}", *terms)
    data.theorem("again", "True", "True.intro")
    data.theorem("again", "True", "True.intro")
    data.definition("loops", "False", "loops")
    data.theorem("uses", "False", "wrong0")
    data.axiom("Nat.add", "False")
    data.axiom("sum", "Eq.{1} Nat (Nat.add 2 2) 5")
    data.theorem("sumIsFive", "Eq.{1} Nat (Nat.add 2 2) 5", "Eq.refl.{1} Nat 4")
    data.ask("wrong0", "again", "loops", "uses", "sumIsFive", "Nat.add")
    answer = judged(data)
    for reason, given in zip(WRONG, answer.steps, strict=False):
        assert reason in given, (reason, answer.steps)
    again, twice, loops, uses, reserved, assumed, five = answer.steps[len(WRONG) :]
    assert not again and not assumed
    assert "declared already" in twice and "not declared" in loops and "not declared: wrong0" in uses
    assert "only the library" in reserved and "stated type" in five
    assert answer.axioms == [None, set(), None, None, None, set()]


def test_inductive_types_get_their_recursors_from_the_kernel(judged: Judge) -> None:
    data = Data()
    # Trees, a parametric type, two mutual types, a nested one, a proposition.
    data.inductive([("Tree", "Type", [("Tree.leaf", "Tree"), ("Tree.node", "∀ l : Tree, ∀ r : Tree, Tree")])])
    step = "λ l : Tree, λ r : Tree, λ m : Nat, λ n : Nat, Nat.add m n"
    data.definition("size", "∀ t : Tree, Nat", f"Tree.rec.{{1}} (λ t : Tree, Nat) 1 ({step})")
    for name, size in (("sizeOfTwo", 2), ("sizeOfThree", 3)):
        stated = f"Eq.{{1}} Nat (size (Tree.node Tree.leaf Tree.leaf)) {size}"
        data.theorem(name, stated, f"Eq.refl.{{1}} Nat {size}")
    box = "∀ α : Sort (u + 1), Sort (u + 1)"
    data.inductive([("Box", box, [("Box.mk", "∀ α : Sort (u + 1), ∀ a : α, Box.{u} α")])], 1, ["u"])
    even = ("Even", "Type", [("Even.zero", "Even"), ("Even.next", "∀ n : Odd, Even")])
    data.inductive([even, ("Odd", "Type", [("Odd.next", "∀ n : Even, Odd")])])
    data.inductive([("Rose", "Type", [("Rose.node", "∀ r : List.{0} Rose, Rose")])])
    data.inductive([("Bad", "Type", [("Bad.mk", "∀ b : (∀ b : Bad, False), Bad")])])
    data.inductive([("Nat.succ", "Type", [])])
    data.inductive([("Mine", "Type", [("propext", "Mine")])])
    data.axiom("someRose", "Rose")
    data.ask("sizeOfTwo", "Tree.rec", "Tree.node", "Box.rec", "Even.rec", "Odd.rec", "Rose.rec_1")
    data.ask("Bad", "Bad.mk", "Mine", "someRose")
    answer = judged(data)
    assert answer.accepted == [True, True, True, False, True, True, True, False, False, False, True]
    assert "rejects" in answer.steps[7] and all("only the library" in answer.steps[at] for at in (8, 9))
    assert answer.axioms == [set(), set(), set(), set(), set(), set(), set(), None, None, None, {("someRose",)}]


def test_a_fresh_environment_forgets_what_was_declared(judged: Judge) -> None:
    data = Data()
    data.axiom("assumed", "False")
    data.theorem("easy", "False", "assumed")
    data.fresh()
    data.theorem("easy", "False", "assumed")
    data.theorem("assumed", "True", "True.intro")
    data.theorem("hard", "True", "assumed")
    data.ask("assumed", "easy", "hard")
    answer = judged(data)
    assert answer.accepted == [True, True, True, False, True, True]
    assert answer.axioms == [set(), None, set()]


def test_names_are_only_data(judged: Judge) -> None:
    data = Data()
    strange: list[Parts] = [("a\ny\nend\n",), ("", "", 0), ("_private", "Mod", 0, "f", 2**40), ("«x»", "é", "\0", "😀")]
    strange += [("a", "b"), ("a.b",), ("quoted \"'`",)]
    for each in strange:
        data.axiom(each, "True")
    reserved = ["Lean.reduceBool", "Lean.reduceNat", "Nat.pow", "String.ofList", "Char.ofNat", "Quot", "Eq"]
    reserved += ["Classical.choice", "Lean.trustCompiler", "_nested.X", "_kernel_fresh.1", ""]
    for each_reserved in reserved:
        data.axiom(each_reserved, "True")
    data.theorem("missing\nproofmesh-verdicts 1\n", "True", data.const(("not\nend\n",)))
    data.theorem("fine", "True", "True.intro")
    data.ask(*strange, "fine")
    answer = judged(data)
    assert answer.accepted == [True] * len(strange) + [False] * len(reserved) + [False, True]
    assert answer.axioms == [{each} for each in strange] + [set()]


def test_without_a_library_the_kernel_knows_nothing(judged: Judge) -> None:
    data = Data(imports=())
    data.inductive([("Nat", "Type", [("Nat.zero", "Nat"), ("Nat.succ", "∀ n : Nat, Nat")])])
    data.definition("Nat.add", "∀ x : Nat, ∀ y : Nat, Nat", "λ x : Nat, λ y : Nat, y")
    data.axiom("two", "Eq.{0} Nat 2 2")
    data.inductive([("Quot", "Type", [])])
    data.inductive([("Unit2", "Type", [("Unit2.unit", "Unit2")])])
    data.ask("Nat", "Unit2.rec")
    answer = judged(data)
    assert answer.accepted == [False, False, False, False, True] and answer.axioms == [None, set()]


def check_module(run: Run, file: Path) -> int:
    """Declare a module of the library again, after its imports. Returns the number of steps."""
    with opened(file) as module:
        terms = module.reader.terms
        declared = [group for group in groups(module, uses(module, terms)) if group[0].kind is not Kind.QUOTIENT]
    document = Declarations(terms)
    for group in declared:
        document.group(group)
    finished = run(document.written(module.imports, [group[0].name for group in declared]))
    answer = read_answer(finished.stdout, len(declared), len(declared))
    refused = {group[0].name: why for group, why in zip(declared, answer.reasons, strict=True) if why}
    # What the library may declare and a user may not, and what needs it.
    others = {name: why for name, why in refused.items() if "only the library" not in why and "not declared" not in why}
    assert not others and (not refused or any("only the library" in why for why in refused.values())), refused
    axioms = {"propext", "Quot.sound", "Classical.choice", "sorryAx"}
    assert all(each is None or each <= axioms for each in answer.axioms)
    return len(declared) - len(refused)


def library() -> list[Path]:
    return sorted(Path(LeanToolchain.pocket().environment["LEAN_PATH"]).rglob("*.olean"))


def test_a_module_of_the_library_is_accepted_again(run: Run) -> None:
    assert check_module(run, next(file for file in library() if file.stem == "Take")) > 30


def test_axioms_are_those_that_lean_prints(run: Run) -> None:
    # 1. Names of two modules that Lean can print.
    names: set[str] = set()
    for file in random.Random(3).sample(library(), 2):
        with opened(file) as module:
            names |= {name for name, each in module.constants.items() if each.safe and re.fullmatch(r"[\w.]+", name)}
    chosen = [name for name in sorted(names) if "_" not in name.split(".")[-1][:1] and not re.search(r"\.\d|\._", name)]
    # 2. The judge's answer, and Lean's.
    asked = run(Declarations(Terms()).written(["Init"], chosen)).stdout
    told = elaborate_file("".join(f"#print axioms {name}\n" for name in chosen))
    printed = "\n".join(each.text for each in told)
    # 3. They are the same, of what is not private.
    compared = 0
    for name, found_axioms in zip(chosen, read_answer(asked, 0, len(chosen)).axioms, strict=True):
        axioms = found_axioms and found_axioms - {"Nat.gcd"}  # see RUNS_CODE
        if f"'{name}' does not depend on any axioms" in printed:
            assert axioms == set(), name
        elif found := re.search(rf"'{re.escape(name)}' depends on axioms: \[([^\]]*)\]", printed):
            assert axioms == {each.strip() for each in found[1].split(",")}, name
        else:
            continue
        compared += 1
    assert compared > 40
