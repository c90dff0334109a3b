"""Wrong declarations are refused, each beside a right one that differs in one thing and is checked."""

import re
from collections.abc import Callable
from pathlib import Path

from tests.node.lean.second.writing import EQ, QUOTIENT, Export, with_bool, with_eq, with_nat, with_quotient

Make = Callable[[Export], Export]


def one_field(field: str, hypothesis: str, call: str) -> Make:
    """An inductive type T with one constructor `mk : field → T`, and its recursor."""
    head = "m : (∀ t : T, Sort u), {0} k : (∀ f : " + field + ", " + hypothesis + "m (T.mk f))"
    recursor, rule = f"∀ {head.format('∀')}, ∀ t : T, m t", f"λ {head.format('λ')}, λ f : {field}, k f {call}"
    constructors = [("T.mk", f"∀ f : {field}, T")]
    return lambda export: with_nat(export).inductive(
        "T", "Type", constructors, ("u", recursor, [(1, rule)]), recursive=True
    )


def proof(type_: str, field: str, motive: str, level: str) -> Make:
    """A type P with one constructor `mk : field → P`; its motives are in `Sort level`."""
    head = f"m : (∀ t : P, Sort {level}), {{0}} k : (∀ f : {field}, m (P.mk f))"
    recursor, rule = f"∀ {head.format('∀')}, ∀ t : P, m t", f"λ {head.format('λ')}, λ f : {field}, k f"
    constructors = [("P.mk", f"∀ f : {field}, P")]
    return lambda export: with_nat(export).inductive("P", type_, constructors, (motive, recursor, [(1, rule)]))


def unit(type_: str, k: bool, universes: str = "u", sort: str = "u", rule: str = "c") -> Make:
    """A type U with one constructor without fields."""
    head = f"m : (∀ t : U, Sort {sort}), {{0}} c : m U.mk"
    recursor = (universes, f"∀ {head.format('∀')}, ∀ t : U, m t", [(0, f"λ {head.format('λ')}, {rule}")])
    return lambda export: export.inductive("U", type_, [("U.mk", "U")], recursor, k=k)


def plain(*steps: tuple[str, ...]) -> Make:
    def make(export: Export) -> Export:
        with_eq(with_nat(export))
        for kind, *fields in steps:
            export.axiom(*fields) if kind == "axiom" else export.value(kind, *fields)
        return export

    return make


def of_t(kind: str, *fields: str) -> Make:
    return plain((kind, "t", *fields))


ADD = "Nat.rec.{1} (λ n : Nat, Nat) x (λ n : Nat, λ h : Nat, Nat.succ h) y"
NO_ADD = "Nat.rec.{1} (λ n : Nat, Nat) x (λ n : Nat, λ h : Nat, Nat.succ (Nat.succ h)) y"

PAIRS = """
a theorem with a value of another type: thm Eq.{1} Nat Nat.zero [0|1] := Eq.refl.{1} Nat Nat.zero
a theorem that is data: [def|thm] Nat := Nat.zero
a type that is no type: axiom [Nat|Nat.zero]
an undeclared constant: def Nat := [Nat.zero|Nat.one]
itself in its value: def Nat := [Nat.zero|t]
a wrong number of universe levels: thm Eq.{1} Nat 0 0 := Eq.refl.{[1|1, 1]} Nat 0
a universe that is too small: def [Sort 2|Type] := Type
an undeclared universe parameter: def.{[w|v]} Sort (w + 1) := Sort w
a universe parameter twice: def.{w [v|w]} Sort (w + 1) := Sort w
imax taken for max: def.{v w} ∀ α : Sort v, ∀ β : Sort w, Sort ([imax|max] v w)
  := λ α : Sort v, λ β : Sort w, ∀ a : α, β
imax with itself: def.{[w|v w]} Sort ([w|v] + 1) := Sort (imax w [w|v])
imax of a successor: def.{v w} Sort (max v [(w + 1)|w] + 1) := Sort (imax v (w + 1))
imax under a case split: def.{v w} Sort (max (imax [v w|w v]) [w|v] + 1) := Sort (imax v w)
a loose bound variable: def ∀ a : Nat, Nat := λ a : Nat, #[0|1]
an argument of another type: def Nat := Nat.succ Nat.[zero|succ]
an argument for a number: def Nat := (λ f : [(∀ a : Nat, Nat)|Nat], f 0) [Nat.succ|0]
a let with a value of another type: thm Eq.{1} Nat 1 1 := let x : Nat := [1|Nat], Eq.refl.{1} Nat [x|1]
a binder that is no type: def ∀ a : Nat, Nat := λ a : [Nat|0], 0
equality of functions that differ: thm Eq.{1} (∀ a : Nat, Nat) Nat.succ (λ a : Nat, [Nat.succ a|a])
  := Eq.refl.{1} (∀ a : Nat, Nat) Nat.succ
two proofs, two numbers: thm ∀ p : [Prop|Type], ∀ a : p, ∀ b : p, Eq.{[0|1]} p a b
  := λ p : [Prop|Type], λ a : p, λ b : p, Eq.refl.{[0|1]} p a
"""
"""Declarations of a constant `t`, with what is right and what is wrong in them."""


def pairs() -> dict[str, tuple[str, Make, Make]]:
    """The declarations of PAIRS as cases."""
    found = {}
    for line in PAIRS.strip().replace("\n  ", " ").splitlines():
        name, _, both = line.partition(": ")
        made = []
        for side in (1, 2):
            text = re.sub(r"\[(.*?)\|(.*?)\]", lambda either, side=side: either[side], both)
            head, levels, rest = re.fullmatch(r"(\w+)(?:\.\{(.*?)\})? (.*)", text).groups()
            made.append(of_t(head, *rest.split(" := ", 1), *([levels] if levels else [])))
        found[name] = ("t", *made)
    return found


def then(make: Make, kind: str, type_: str, value: str) -> Make:
    """What `make` makes, and a constant `t`."""
    return lambda export: with_eq(make(export)).value(kind, "t", type_, value)


DATA, PROOF = proof("Type", "Nat", "u", "u"), proof("Prop", "Nat", "", "0")
FIELD = then(DATA, "def", "∀ p : P, Nat", "λ p : P, proj P 0 p")
SOUND = (
    "∀ α : Sort u, ∀ r : (∀ a : α, ∀ b : α, Prop), ∀ a : α, ∀ b : α, ∀ h : r a b, "
    "Eq.{u} (Quot.{u} α r) (Quot.mk.{u} α r a) (Quot.mk.{u} α r b)"
)


def quotients(**changed: str) -> Make:
    return lambda export: with_quotient(with_eq(export), **changed)


def of_axiom(type_: str, value: str) -> Make:
    """A constant `t` of a type that is an axiom."""
    return lambda export: export.axiom(type_, "Type").definition("t", type_, value)


def sound(type_: str) -> Make:
    return lambda export: quotients()(export).axiom("Quot.sound", type_, "u")


CASES: dict[str, tuple[str, Make, Make]] = {
    # name: the constant in question, the right export, the wrong export
    **pairs(),
    "a name twice": ("t", *(plain(("def", "t", "Nat", "0"), ("def", other, "Nat", "1")) for other in "st")),
    "a projection of a number": ("t", FIELD, plain(("def", "t", "∀ p : Nat, Nat", "λ p : Nat, proj Nat 0 p"))),
    "a projection from another type": ("t", FIELD, then(DATA, "def", "∀ p : Nat, Nat", "λ p : Nat, proj P 0 p")),
    "a projection to a field that is not there": ("t", FIELD, then(DATA, "def", "∀ p : P, Nat", "λ p : P, proj P 1 p")),
    "data from a proof": ("t", FIELD, then(PROOF, "def", "∀ p : P, Nat", "λ p : P, proj P 0 p")),
    "a negative occurrence": (
        "T",
        one_field("(∀ n : Nat, T)", "∀ h : (∀ n : Nat, m (f n)), ", "(λ n : Nat, T.rec.{u} m k (f n))"),
        one_field("(∀ n : T, Nat)", "", ""),
    ),
    "a wrong rule": ("Bool", with_bool, lambda export: _swapped(with_bool(export))),
    "elimination of a proposition into data": ("P", proof("Prop", "Nat", "", "0"), proof("Prop", "Nat", "u", "u")),
    "elimination into propositions only": ("P", proof("Type", "Nat", "u", "u"), proof("Type", "Nat", "", "0")),
    "a field in a larger universe": ("P", proof("Sort 2", "Type", "u", "u"), proof("Type", "Type", "u", "u")),
    "K for data": ("U", unit("Type", False), unit("Type", True)),
    "no K for a proposition": ("U", unit("Prop", True), unit("Prop", False)),
    "a rule with another body": ("U", unit("Type", False), unit("Type", False, rule="m U.mk")),
    "a recursor in another universe": ("U", unit("Type", False), unit("Type", False, sort="1", universes="")),
    "a type that is a number of its universe": ("U", unit("Type", False), unit("∀ n : Type, Type", False)),
    "a quotient's constructor": ("Quot.mk", quotients(), quotients(ctor=QUOTIENT["Quot"][1])),
    "a quotient's lift without respect": (
        "Quot.lift",
        quotients(),
        quotients(lift=QUOTIENT["Quot.lift"][1].replace("(f a) (f b)", "(f a) (f a)")),
    ),
    "a quotient over another equality": (
        "Quot.lift",
        quotients(),
        lambda export: with_quotient(export.axiom("Eq", EQ, "u_1")),
    ),
    "an axiom with the name of Lean's": ("Quot.sound", sound(SOUND), sound(SOUND.replace("∀ h : r a b, ", ""))),
    "two terms of a type without fields, of a type with one": (
        "t",
        then(unit("Type", False), "thm", "∀ a : U, ∀ b : U, Eq.{1} U a b", "λ a : U, λ b : U, Eq.refl.{1} U a"),
        then(DATA, "thm", "∀ a : P, ∀ b : P, Eq.{1} P a b", "λ a : P, λ b : P, Eq.refl.{1} P a"),
    ),
    "eta for structures": (
        "t",
        then(DATA, "thm", "∀ a : P, Eq.{1} P a (P.mk (proj P 0 a))", "λ a : P, Eq.refl.{1} P a"),
        then(DATA, "thm", "∀ a : P, Eq.{1} P a (P.mk 0)", "λ a : P, Eq.refl.{1} P a"),
    ),
    "a numeral before the numbers": ("t", of_t("def", "Nat", "5"), of_axiom("Nat", "5")),
    "a text before the texts": ("t", of_t("def", "Nat", "5"), of_axiom("String", '"five"')),
}


def _swapped(export: Export) -> Export:
    """The last declaration's recursor with its two rules the wrong way round."""
    first, second = export.lines[-1]["inductive"]["recs"][0]["rules"]
    first["rhs"], second["rhs"] = second["rhs"], first["rhs"]
    return export


def test_the_right_one_is_checked_and_the_wrong_one_refused(tmp_path: Path) -> None:
    for case, (name, right, wrong) in CASES.items():
        honest = right(Export()).check(tmp_path)
        assert (honest["refused"], honest["not_checked"]) == ({}, {}) and name in honest["checked"], case
        forged = wrong(Export()).check(tmp_path)
        assert name in forged["refused"] and name not in forged["checked"], (case, forged)


def test_quotients_and_their_axiom_need_the_true_quotients(tmp_path):
    """With `Quot α r := α`, the axiom would make all related elements equal, and computing `Quot.lift` would too."""

    def export(honest: bool) -> Export:
        export = with_eq(with_nat(Export()))
        for name, (kind, type_, levels) in QUOTIENT.items():
            if not honest and (value := {"Quot": "α", "Quot.mk": "λ a : α, a"}.get(name)):
                export.definition(name, type_, f"λ α : Sort u, λ r : (∀ a : α, ∀ b : α, Prop), {value}", levels)
            else:
                export.quotient(kind, name, type_, levels)
        return export.axiom("Quot.sound", SOUND, "u")

    honest, forged = (export(each).check(tmp_path) for each in (True, False))
    assert honest["refused"] == {} and "Quot.sound" in honest["checked"]
    assert {"Quot.lift", "Quot.ind", "Quot.sound"} <= set(forged["refused"]) and "Quot.mk" in forged["checked"]


def test_a_negative_occurrence_inside_another_type_is_refused(tmp_path):
    def export(field: str) -> Export:
        head = f"α : Type, {{0}} m : (∀ t : F α, Sort u), {{0}} k : (∀ f : {field}, m (F.mk α f))"
        recursor = ("u", f"∀ {head.format('∀')}, ∀ t : F α, m t", [(1, f"λ {head.format('λ')}, λ f : {field}, k f")])
        constructors = [("F.mk", f"∀ α : Type, ∀ f : {field}, F α")]
        outer = with_nat(Export()).inductive("F", "∀ α : Type, Type", constructors, recursor, parameters=1)
        # The recursor is missing, which is only looked at when all else is right.
        return outer.inductive("T", "Type", [("T.mk", "∀ f : F T, T")], ("", "Type", [(1, "Type")]), recursive=True)

    positive, negative = (export(each).check(tmp_path) for each in ("(∀ n : Nat, α)", "(∀ a : α, Nat)"))
    assert "F" in positive["checked"] and "F" in negative["checked"]
    assert "negative occurrence" in negative["refused"]["T"] and "negative" not in positive["refused"]["T"]


def test_what_uses_a_refused_constant_is_not_checked(tmp_path):
    export = plain(("thm", "t", "Nat", "0"), ("thm", "s", "Eq.{1} Nat t t", "Eq.refl.{1} Nat t"))(Export())
    result = export.check(tmp_path)
    assert list(result["refused"]) == ["t"] and "t, which is not checked" in result["not_checked"]["s"]


def test_a_forged_function_is_unfolded_and_not_computed(tmp_path):
    export = with_eq(with_bool(with_nat(Export())))
    export.definition("Nat.add", "∀ x : Nat, ∀ y : Nat, Nat", f"λ x : Nat, λ y : Nat, {NO_ADD}")
    # Multiplication is right over the forged addition, and must not be computed either.
    times = "λ x : Nat, λ y : Nat, Nat.rec.{1} (λ n : Nat, Nat) 0 (λ n : Nat, λ h : Nat, Nat.add h x) y"
    export.definition("Nat.mul", "∀ x : Nat, ∀ y : Nat, Nat", times)
    export.theorem("doubled", "Eq.{1} Nat (Nat.add 3 4) 11", "Eq.refl.{1} Nat 11")
    export.theorem("sum", "Eq.{1} Nat (Nat.add 3 4) 7", "Eq.refl.{1} Nat 7")
    export.theorem("product", "Eq.{1} Nat (Nat.mul 3 4) 12", "Eq.refl.{1} Nat 12")
    result = export.check(tmp_path)
    assert "doubled" in result["checked"] and {"sum", "product"} <= set(result["refused"])


def test_a_large_sum_is_computed_only_by_the_true_addition(tmp_path):
    def make(add: str) -> Export:
        export = with_eq(with_nat(Export()))
        export.definition("Nat.add", "∀ x : Nat, ∀ y : Nat, Nat", f"λ x : Nat, λ y : Nat, {add}")
        return export.theorem("t", "Eq.{1} Nat (Nat.add 3000000 4000000) 7000000", "Eq.refl.{1} Nat 7000000")

    assert "t" in make(ADD).check(tmp_path)["checked"]
    assert "t" not in make(NO_ADD).check(tmp_path, seconds=0.1)["checked"]


def test_booleans_the_wrong_way_round_compute_nothing(tmp_path):
    def make(first: str, second: str) -> Export:
        export = with_eq(with_bool(with_nat(Export()), first, second))
        inner = "Nat.rec.{1} (λ n : Nat, Bool) Bool.false (λ n : Nat, λ h : Bool, r n) y"
        outer = "Nat.rec.{1} (λ n : Nat, Bool) Bool.true (λ n : Nat, λ h : Bool, Bool.false) y"
        functions = "(λ n : Nat, ∀ y : Nat, Bool)"
        step = f"λ n : Nat, λ r : (∀ y : Nat, Bool), λ y : Nat, {inner}"
        body = f"λ x : Nat, Nat.rec.{{1}} {functions} (λ y : Nat, {outer}) ({step}) x"
        export.definition("Nat.beq", "∀ x : Nat, ∀ y : Nat, Bool", body)
        return export.theorem("t", "Eq.{1} Bool (Nat.beq 5000000 5000000) Bool.true", "Eq.refl.{1} Bool Bool.true")

    assert "t" in make("Bool.false", "Bool.true").check(tmp_path)["checked"]
    swapped = make("Bool.true", "Bool.false").check(tmp_path, seconds=0.2)
    assert "t" not in swapped["checked"] and "t" in swapped["not_checked"]


def test_the_time_limit_and_deep_terms_are_reported(tmp_path):
    export = with_eq(with_nat(Export()))
    export.definition("sum", "∀ x : Nat, ∀ y : Nat, Nat", f"λ x : Nat, λ y : Nat, {ADD}")
    export.theorem("slow", "Eq.{1} Nat (sum 0 10000000) 10000000", "Eq.refl.{1} Nat 10000000")
    assert export.check(tmp_path, seconds=0.2)["not_checked"]["slow"] in ("out of time", "the terms are too deep")
    # A number of 3000 successors is far deeper than Python's usual recursion limit.
    deep = with_nat(Export())
    term, successor = deep.read("Nat.zero"), deep.read("Nat.succ")
    for _ in range(3000):
        term = deep.app(successor, term)
    deep.definition("deep", "Nat", "0")
    deep.lines[-1]["def"]["value"] = term
    assert "deep" in deep.check(tmp_path)["checked"]


def test_axioms_are_listed_and_trusted_declarations_are_taken_as_given(tmp_path):
    export = plain(
        ("axiom", "wrong", "Eq.{1} Nat 0 1"),
        ("thm", "lemma", "Eq.{1} Nat 0 1", "wrong"),
        ("thm", "t", "Eq.{1} Nat 0 1", "lemma"),
        ("thm", "s", "Eq.{1} Nat 0 0", "Eq.refl.{1} Nat 0"),
    )(Export())
    result = export.check(tmp_path)
    axioms = result["axioms"]
    assert [axioms[name] for name in ("wrong", "lemma", "t", "s", "Nat.rec")] == [["wrong"]] * 3 + [[], []]
    # The file says: Nat, Eq, wrong, lemma. A trusted lemma is not checked, and its axioms are still known.
    trusting = export.check(tmp_path, trusted=4)
    assert trusting["checked"] == ["t", "s"] and trusting["axioms"] == {"t": ["wrong"], "s": []}
    only = export.check(tmp_path, only=("s", "missing"))
    assert "wrong" not in only["checked"] and "s" in only["checked"] and "missing" in only["not_checked"]
