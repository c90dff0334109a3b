"""Lean texts that try to have something accepted that is not proved, or that means something else than it says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import pytest

from node.lean.check.files.clean import bare, cleaned
from node.lean.check.files.commands import Text
from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import from_text
from node.lean.check.files.verifier import FileVerifier
from node.lean.snippets.judge import FileJudge
from node.lean.snippets.snippet import Snippet
from node.lean.toolchain.lean_toolchain import LeanToolchain

TRUE_BOOL = "instance : CoeSort Bool Prop := ⟨fun _ => True⟩"


@dataclass(frozen=True)
class Attack:
    """A text whose theorems named `bad...`, and whose examples, must be rejected or rest on something of the file.

    Theorems named `ok...` are the honest twins: they must be accepted and rest on nothing.
    """

    name: str
    text: str
    note: str = ""
    """Part of what each accepted bad theorem must be said to rest on."""


ATTACKS = [
    Attack(
        "a coercion of the file, which Lean unfolds",
        f"theorem ok : True := trivial\n{TRUE_BOOL}\ntheorem bad : false := trivial\ntheorem ok2 : 1 + 1 = 2 := rfl\n",
        "instance : CoeSort Bool Prop",
    ),
    Attack(
        "a coercion behind a comment, in the same line",
        f"theorem ok : True := trivial /- -/ {TRUE_BOOL} theorem bad : false := trivial\n",
        "CoeSort",
    ),
    Attack(
        "a coercion in a namespace that is opened",
        f"namespace Z\nscoped {TRUE_BOOL}\nend Z\nopen Z in\ntheorem bad : false := trivial\n"
        "open Z in\ntheorem ok : 1 = 1 := rfl\nopen scoped Z in\ntheorem bad2 : false := trivial\n",
        "CoeSort",
    ),
    Attack(
        "a coercion of one number",
        "instance (priority := 99999) cc (n : Nat) : CoeDep Nat n Int := ⟨0⟩\n"
        "example (n : Nat) : (n : Int) = 0 := rfl\ntheorem ok (n : Nat) : n = n := rfl\n",
        "cc (n : Nat",
    ),
    Attack(
        "a number as a function",
        "instance : CoeFun Nat (fun _ => Nat → Nat) := ⟨fun _ x => x⟩\ntheorem bad : (5 : Nat) 3 = 3 := rfl\n",
        "CoeFun",
    ),
    Attack(
        "a coercion of the file's own type",
        "structure P where\n  x : Nat\ninstance : Coe P Nat := ⟨fun _ => 5⟩\ndef p : P := ⟨3⟩\n"
        "theorem bad : (p : Nat) = 5 := rfl\n",
        "Coe",
    ),
    Attack(
        "a pattern with another meaning",
        "namespace A\n@[match_pattern] def Nat.zero : Nat := 1\n"
        "theorem bad : (match 1 with | Nat.zero => True | _ => False) := trivial\ntheorem ok : 1 = 1 := rfl\nend A\n",
        "match_pattern",
    ),
    Attack(
        "a type that the compiled statement does not show",
        "namespace A\nabbrev Int.Pred := Nat → Prop\n"
        "theorem bad : ∃ p : Nat, (fun x => x - 1 = 0 : Int.Pred) p := ⟨0, rfl⟩\ntheorem ok : 1 = 1 := rfl\nend A\n",
        "Int.Pred",
    ),
    Attack(
        "renamed names of the library",
        "open Nat renaming le → lt\ntheorem bad : lt 1 1 := Nat.le_refl 1\ntheorem ok : 1 = 1 := rfl\n",
        "renaming",
    ),
    Attack(
        "renamed names for one theorem",
        "open Nat renaming le → lt in\ntheorem bad : lt 1 1 := Nat.le_refl 1\ntheorem ok : 1 = 1 := rfl\n",
        "renaming",
    ),
    Attack(
        "a hypothesis named as a bound variable",
        "theorem ok : ∀ a : Nat, a = a := fun _ => rfl\nvariable {a : False}\ninclude a\n"
        "theorem bad : ∀ a : Nat, a = a + 1 := a.elim\n",
        "variable {a : False}",
    ),
    Attack(
        "a hypothesis named as a bound variable of another hypothesis",
        "variable {a : False}\ninclude a\ntheorem bad (h : ∃ a : Nat, a = 1) : 1 = 2 := a.elim\n",
        "variable {a : False}",
    ),
    Attack(
        "a hypothesis for one theorem",
        "variable {h : False} in\ninclude h in\ntheorem bad : 1 = 2 := h.elim\ntheorem ok : 1 = 1 := rfl\n",
        "variable {h : False}",
    ),
    Attack(
        "a hypothesis with a name in guillemets",
        "variable {«h h» : False}\ninclude «h h»\ntheorem bad : 1 = 2 := «h h».elim\n",
        "h h",
    ),
    Attack(
        "a hypothesis in the type of a variable",
        "variable (h : False) (n : (fun _ => Nat) h)\ninclude h\ntheorem bad : n = n + 1 := h.elim\n",
        "h : False",
    ),
    Attack(
        "a hypothesis over several lines",
        "variable\n  {α : Type}\n\n  (h :\n    False)\n\ninclude h\ntheorem bad : 1 = 2 := h.elim\n",
        "False",
    ),
    Attack(
        "an instance that is a proposition",
        "variable {p : Prop} [Nonempty p]\ntheorem bad : p := Classical.choice inferInstance\n"
        "variable {α : Type} [Nonempty α]\ntheorem ok (a : α) : a = a := rfl\n",
        "Nonempty",
    ),
    Attack(
        "an instance about an equation",
        "variable {n : Nat} [Nonempty (n = n + 1)]\ntheorem bad : n = n + 1 := Classical.choice inferInstance\n",
        "Nonempty",
    ),
    Attack(
        "a hypothesis as an instance",
        "theorem ok : 1 = 1 := rfl\nset_option checkBinderAnnotations false\nvariable {m n : Nat} [h : Nat.le m n]\n"
        "theorem bad : m ≤ n := h\n",
        "checkBinderAnnotations",
    ),
    Attack(
        "a relation of the library as a class",
        "theorem ok : 1 = 1 := rfl\nattribute [class] Nat.le\nvariable {m n : Nat} [h : Nat.le m n]\n"
        "theorem bad : m ≤ n := h\n",
        "class",
    ),
    Attack(
        "an option that hides commands",
        "set_option trace.Elab.command false\nvariable {h : False}\ninclude h\ntheorem bad : 1 = 2 := h.elim\n",
        "variable {h : False}",
    ),
    Attack(
        "another option that hides commands",
        'set_option trace.profiler.output "x"\nvariable {h : False}\ninclude h\ntheorem bad : 1 = 2 := h.elim\n'
        "example : 1 = 2 := sorry\n",
        "variable {h : False}",
    ),
    Attack(
        "a macro that hides commands",
        'macro "foo" : command => `(set_option trace.profiler.output "x")\nfoo\nexample : 1 = 2 := sorry\n'
        "theorem ok : True := trivial\n",
    ),
    Attack(
        "theorems behind `#exit` in its line",
        "theorem ok : True := trivial\n#exit theorem bad : 1 = 2 := rfl\n foo example : 1 = 2 := rfl\n",
    ),
    Attack(
        "errors that `#guard_msgs` drops",
        "#guard_msgs (drop all) in\ntheorem bad : 1 = 2 := rfl\n#guard_msgs (drop all) in\n"
        "example : Nat.foo = 2 := rfl\n"
        "theorem ok : 1 = 1 := rfl\n",
    ),
    Attack(
        "an instance for the library's numbers",
        "instance (n : Nat) : OfNat Nat n := ⟨0⟩\ntheorem bad : (2 : Nat) = 3 := rfl\ntheorem ok : True := trivial\n",
        "OfNat",
    ),
    Attack(
        "a default instance",
        "@[default_instance 2000] instance : OfNat Int n := ⟨0⟩\ntheorem bad : 2 = 3 := rfl\n",
        "default_instance",
    ),
    Attack(
        "an attribute for one theorem",
        "def z : CoeSort Bool Prop := ⟨fun _ => True⟩\nattribute [local instance] z in\n"
        "theorem bad : false := trivial\n"
        "theorem ok : 1 = 1 := rfl\n",
        "instance",
    ),
    Attack(
        "proofs that an option leaves out",
        "set_option debug.byAsSorry true in\ntheorem bad : 1 = 2 := by simp\n"
        "set_option debug.skipKernelTC true\ntheorem ok : True := trivial\n",
    ),
    Attack(
        "an axiom as an instance",
        "class Magic : Prop where\n  f : False\naxiom magic : Magic\nattribute [instance] magic\n"
        "theorem bad : 1 = 2 := Magic.f.elim\n",
    ),
    Attack(
        "a namespace that hides the library's",
        "namespace A\ninductive False : Prop | intro\ntheorem bad : False := .intro\n"
        "theorem ok : True := trivial\nend A\n",
        "A.False",
    ),
]

HONEST = [
    "universe u v\nvariable {α : Type u} [DecidableEq α] [Inhabited α]\nsection\nvariable (a b : α) {p : Nat → Prop}\n"
    "variable [DecidablePred p]\ntheorem t : a = b → b = a := Eq.symm\n"
    "theorem w (n : Nat) : (if p n then 1 else 1) = 1 := by split <;> rfl\nend\n",
    "variable {α β : Type} {f : α → β} {n : Nat} (v : Fin n) (xs ys : List α) [BEq α] [LawfulBEq α]\n"
    "theorem t : v = v := rfl\ntheorem u : xs ++ [] = xs := by simp\n"
    "theorem w (x : α) (h : xs = []) : f x = f x := rfl\n",
    'theorem t : 1 + 1 = 2 := rfl\nnotation "foo" => 1\ntheorem u : 1 + 1 = 2 := rfl\n',
    "namespace My\ninductive T | a | b deriving Repr, DecidableEq\nopen T\ndef f : T → Nat | a => 0 | b => 1\n"
    "theorem lib (n : Nat) : n + 0 = n := rfl\nnamespace T\ntheorem lib2 (xs : List Nat) : xs ++ [] = xs := by simp\n"
    "end T\nopen My.T in\ntheorem lib3 : 2 < 3 := by decide\nmutual\ntheorem m1 : True := trivial\n"
    "theorem m2 (n : Nat) : n = n := rfl\nend\n@[simp] theorem s (n : Nat) : n * 1 = n := Nat.mul_one n\nend My\n"
    "open My T in\nexample : 6 = 6 := rfl\nopen My (f) in\ntheorem z : 1 = 1 := rfl\nopen Nat hiding add\n"
    "example : 7 = 7 := rfl\n",
    "def g := 1\ntheorem t : ∀ n : Nat, n = n\n  | 0 => rfl\n  | _ + 1 => rfl\ntheorem w : 1 = 1 ∧ 2 = 2 where\n"
    "  left := rfl\n  right := rfl\ntheorem x : let y := 1; y = 1 := rfl\n"
    "theorem q {xs : List Nat} (h : 0 < xs.length) : xs[0]'h = xs[0] := rfl\ntheorem «an example» : 1 = 1 := rfl\n",
    "set_option maxRecDepth 900 in\ntheorem t : 1 = 1 := rfl\nset_option pp.all true in\n/-- doc -/\n"
    "@[simp] theorem u : 2 = 2 := rfl\nset_option linter.all true\ntheorem v (n : Nat) : n + 0 = n := by simp\n",
    "variable {α : Type} [Inhabited α]\nomit [Inhabited α] in\ntheorem t (a : α) : a = a := rfl\n",
    "def one := 1\r\ntheorem t : 1 = 1 :=\r\n  rfl\r\n\r\nexample : 2 = 2 := rfl\r\n",
]
"""Files whose theorems rest on nothing of the file."""


async def reports(texts: Sequence[str]) -> list[FileReport]:
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=2048)
    try:
        return await asyncio.gather(*map(verifier.verify_text, texts))
    finally:
        verifier.close()


def is_bad(verdict: DeclarationVerdict) -> bool:
    return verdict.name.rpartition(".")[2].startswith("bad") or verdict.name == "example"


@pytest.mark.lean
async def test_what_a_text_does_not_say_is_rejected_or_named_and_honest_theorems_beside_it_are_not() -> None:
    for attack, report in zip(ATTACKS, await reports([each.text for each in ATTACKS]), strict=True):
        shown = (attack.name, report)
        assert not report.problem, shown
        bad = [each for each in report.declarations if is_bad(each)]
        assert len(bad) == attack.text.count("theorem bad") + attack.text.count("example :") + attack.text.count(
            "example ("
        ), shown
        for each in bad:
            said = ", ".join(map(str, each.depends))
            assert not each.accepted or (said and attack.note and attack.note in said), shown
        twins = [each for each in report.declarations if each.name.rpartition(".")[2].startswith("ok")]
        assert len(twins) == attack.text.count("theorem ok"), shown
        assert all(each.accepted and not each.depends for each in twins), shown


@pytest.mark.lean
async def test_theorems_that_use_nothing_of_their_file_rest_on_nothing() -> None:
    for text, report in zip(HONEST, await reports(HONEST), strict=True):
        assert len(report.declarations) == text.count("theorem ") + text.count("example :"), (text, report)
        assert all(each.accepted and not each.depends for each in report.declarations), (text, report)


SERVED = [
    *(each.text for each in ATTACKS if each.name not in ("a coercion of the file's own type",)),
    # The type of the instance names an abbreviation of the snippet, which is a type of the library.
    "abbrev N := Nat\ninstance : Add N := ⟨fun _ _ => (0 : Nat)⟩\ntheorem t (a b : Nat) : a + b = 0 := rfl\n",
    # A class of the snippet stands between the library's class and its type.
    "class Foo (α : Type) where\n  op : α → α → α\ninstance (priority := 9999) [Foo α] : Mul α := ⟨Foo.op⟩\n"
    "instance : Foo Nat := ⟨fun _ _ => 0⟩\ntheorem t (a b : Nat) : a * b = 0 := rfl\n",
    "def zero (_ : Nat) : Int := 0\ninstance (priority := 99999) cc (n : Nat) : CoeDep Nat n Int := ⟨zero n⟩\n"
    "theorem v (n : Nat) : (n : Int) = 0 := rfl\n",
]

SERVED_HONEST = [
    "structure P where\n  x : Nat\n  y : Nat\ninstance : Add P := ⟨fun p q => ⟨p.x + q.x, p.y + q.y⟩⟩\n"
    "theorem t (p q : P) : (p + q).x = p.x + q.x := rfl\nabbrev N := Nat\n"
    "theorem u (a b : N) : a + b = b + a := Nat.add_comm a b\n",
    "class Grp (G : Type) extends Mul G where\n  one : G\n  assoc : ∀ a b c : G, a * b * c = a * (b * c)\n"
    "variable {G : Type} [Grp G]\ntheorem t (a b c : G) : a * b * c = a * (b * c) := Grp.assoc a b c\n",
    "structure Hom where\n  f : Nat → Nat\ninstance : CoeFun Hom (fun _ => Nat → Nat) := ⟨Hom.f⟩\n"
    "theorem t (h : Hom) : h 1 = h.f 1 := rfl\n",
    *HONEST[3:5],
]


@pytest.mark.lean
@pytest.mark.slow
async def test_serve_refuses_what_may_mean_something_else_and_accepts_plain_definitions() -> None:
    judge = FileJudge(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=2048)
    try:
        found = await asyncio.gather(*(judge.judge(Snippet(text, 60.0)) for text in (*SERVED, *SERVED_HONEST)))
    finally:
        judge.close()
    for text, each in zip((*SERVED, *SERVED_HONEST), found, strict=True):
        assert each.verdict.accepted == (text in SERVED_HONEST), (text, each.verdict)


@pytest.mark.lean
async def test_an_imported_file_changes_no_statement_silently() -> None:
    files = [
        from_text(f"{TRUE_BOOL}\ndef A.x := 1\n", "A", "A"),
        from_text("import A\nopen A\ntheorem bad : false := trivial\ntheorem ok : 1 = 1 := rfl\n", "Main", "Main"),
    ]
    verifier = FileVerifier(LeanToolchain.pocket(), at_once=2, seconds=60, memory_mb=2048)
    try:
        async with aclosing(verifier.verify(files)) as judged:
            *_, last = [each.report.declarations async for each in judged]
    finally:
        verifier.close()
    assert [(each.accepted, [item.name for item in each.depends]) for each in last] == [
        (True, ["the import of A"]),
        (True, []),
    ]


@pytest.mark.lean
async def test_examples_behind_one_with_code_are_compared_with_their_own_text() -> None:
    (report,) = await reports(
        ["example : 2 + 2 = 4 := by native_decide\nexample : 1 = 1 := rfl\nexample : 2 = 2 := rfl\n"]
    )
    assert [each.accepted for each in report.declarations] == [False, True, True]


def test_the_bare_text_keeps_statements_and_where_they_stand() -> None:
    text = (
        "import A\nimport B\nopen Foo (f) in\ntheorem t : 1 = 1 := rfl\nmutual\ndef f := 1\nend\nnamespace N\n"
        "@[simp] theorem u : True := trivial\nend N\nopen Nat renaming le → lt\nset_option foo true\n"
    )
    assert [line.strip() for line in bare(cleaned(text), {"A"}, ["C", "D"]).split("\n")] == [
        "import C  import D",
        "import B",
        "namespace Foo end Foo open Foo     in",
        "theorem t : 1 = 1 := sorry",
        *("", "", ""),
        "namespace N",
        "theorem u : True := sorry",
        "end N",
        *("", "", ""),
    ]


def test_a_name_in_guillemets_is_no_example() -> None:
    assert Text("theorem «an example» : True := trivial\nexample : True := trivial\n").text.startswith(
        "theorem «an example» : True := trivial\ndef ℯ₀₀ : "
    )


def test_a_carriage_return_alone_stays_in_the_text(tmp_path: Path) -> None:
    from node.lean.check.files.sources import collect

    (tmp_path / "X.lean").write_bytes(b"-- a\rb\r\ntheorem t : True := trivial\r\n")
    ((source,),) = collect([tmp_path])
    assert source.text == "-- a\rb\ntheorem t : True := trivial\n"
