"""Rules that allow or ban tactics: nothing evades them, and ordinary proofs pass. Without Lean."""

import pytest

from common.lean import Context, Place, Theorem
from node.lean.text.allowed import BadRule, rule_of, theorem_problem
from node.lean.text.rules import proof_problem, tactic_problem
from tests.node.lean.tables import cells

WIDE = "rfl rw exact have show intro cases induction constructor first try all_goals case conv calc refine obtain apply"

EVASIONS = r"""
simp | (simp) | {simp} | ·simp | . simp | rfl <;> simp | rfl;simp | rfl; (simp) | first \| rfl \| simp | try simp
try (simp) | all_goals simp | any_goals rfl | repeat simp | case a => simp | next => rfl | next x => simp | simpa
simp_all | simp? | simp! | rwa [h] | erw [h] | exact by simp | exact (by simp : _) | exact (by simp) | exact by? simp
have : p := by omega | have : p := by\n  rfl\n  omega | have h := 1; simp | show p from by simp | show p by simp
exact foo (h := by simp) | exact ⟨by simp, h⟩ | exact ⟨by rfl, by simp⟩ | exact fun x => by simp
exact fun \| 0 => by simp | exact match n with \| 0 => by simp | rw [show a = b from by simp] | rw [foo (by simp)]
conv => simp | conv => lhs; simp | conv => rw [h]; simp | conv in a => simp | calc a = b := by simp
calc a = b := h\n  _ = c := by simp | refine ⟨?_, by simp⟩ | obtain ⟨x, h⟩ : p := by simp | apply foo; simp
exact of_decide_eq_true rfl | exact of_decide_eq_true (Eq.refl true) | exact decide_eq_true_iff.mp rfl
exact Decidable.decide p | exact (decide p) h | exact Nat.le_of_ble_eq_true rfl | exact Nat.eq_of_beq_eq_true rfl
exact eq_of_beq rfl | exact «of_decide_eq_true» rfl | exact (Nat.decEq a b).1 | exact Lean.Omega.foo rfl
exact Nat.Linear.bar rfl | decide | decide +kernel | exact nofun | exact nomatch h | nofun | exact ‹p›
exact mod_cast h | exact xs[0] | rw [foo xs[i]] | exact `(simp) | «simp» | ѕimp | ｓimp | open Nat in simp
set_option maxRecDepth 9 in simp | cases h with simp | induction n with simp \| zero => rfl
induction n with\n\| zero => rfl\n\| succ n ih => simp | cases h with\n\| inl h => exact h\n\| inr h =>\n  rfl\n  simp
intro \| 0 => simp | intro\n\| x => omega | constructor\n· simp\n· rfl | constructor\n· rfl\n· rfl\nsimp | rfl\nsimp
have : p := by\n  rfl\nsimp | exact\nh\nsimp | have := by exact\nh\n           simp
have := by exact a +\nrfl\n           simp | have := by exact\nrfl\n           simp
exact (by exact a +\n  b\n   ; simp) | exact (by exact a +\nb; simp) | exact ⟨by use a, b; simp⟩
exact (by rfl, by simp) | case a =>\n  rfl\n  simp | first\n\| rfl\n\| rw [h]\n  simp | try\n  rfl\n  simp
exact let rec f : p := f; f | exact f where f := by simp | exact h decreasing_by simp | rotate_left 1; simp | foo
sorry | exact s!"{by simp}" | exact xs[0]'(by simp) | show_term simp | unknown simp | if h : p then simp else rfl
match h with \| x => simp | with_reducible simp | exact (have : p := by simp; this) | rw (config := by simp) [h]
exact ⟨x,\n  by\n    simp⟩ | refine foo ?_ <;> simp | conv => tactic => simp
exact cast (by rw [h]\n               simp) h | exact id\n· simp | (rfl; simp) | (rfl\n simp) | case' a => simp
"""

ORDINARY = r"""
rfl | rw [h] | rw [← Nat.add_comm, h] at h₂ ⊢ | exact h.1 | exact fun x => f (y := x) | exact ⟨h, rfl⟩
have h : p := by rfl | have := f x; exact this | constructor <;> rfl | constructor\n· rfl\n· exact h | exact by rw [h]
(rfl) | induction n with\n\| zero => rfl\n\| succ n ih =>\n  rw [ih]\n  rfl
cases h with \| inl h => exact h \| inr h => ?_ | refine ⟨?_, by rfl⟩
calc a = b := by rw [h]\n  _ = c := by\n    rw [h]\n    rfl\n  _ = d := h | intro x y | obtain ⟨x, hx⟩ \| h := h
conv => rw [h] | case inl h => exact h | apply foo (x := 1) | exact (simp) | exact xs[0]! | exact xs[0]'h
try rfl\nrw [h] | exact h\n  h | rw [h]\nrotate_left 1\n· rfl\nrfl | intro\n\| 0 => rfl\n\| n + 1 => exact h
have h : p := by\n  rw [h]\n  rfl\nexact h | show p from h | exact match n with \| 0 => h \| _ => rfl
all_goals\n  intro x\n  rfl | first \| rfl \| rw [h] | rw [show a = b from by rfl, h] | exact foo (by\n    rfl) h
exact And.intro (by rw [h]) (fun x => by exact x)
"""


def split(table: str) -> list[str]:
    texts = (text.strip() for text in table.replace("\n", " | ").replace("\\|", "\0").split(" | "))
    return [text.replace("\0", "|").replace("\\n", "\n") for text in texts if text]


def test_nothing_evades_allow() -> None:
    wide = rule_of(WIDE.split(), [])
    for text in split(EVASIONS):
        assert tactic_problem(text, wide), text
        assert proof_problem("\n".join(f"  {line}" for line in text.split("\n")), wide), text
        assert proof_problem(f"have : q := h -- {text!r} \n{text}", wide), text


def test_ordinary_proofs_are_allowed() -> None:
    wide = rule_of(WIDE.split(), [])
    for text in split(ORDINARY):
        assert not tactic_problem(text, wide), text
        assert not proof_problem("\n".join(f"  {line}" for line in text.split("\n")), wide), text


@pytest.mark.parametrize(
    ("ban", "refused", "taken"),
    [
        ("simp", "simp | rfl <;> (simp) | exact by simp | simpa using h | simp_all | norm_num | field_simp | simp_foo"
         " | exact ⟨by first\n| rfl\n| simp, h⟩ | «simp» | ѕimp | exact mod_cast h | aesop | foo simp | exact xs[0]"
         " | have : p := by\n  simp | dsimp | exact s!\"{by simp}\" | simp? | conv => simp",
         "rfl | omega | exact xs[0]!"),
        ("decide", "decide | exact of_decide_eq_true rfl | trivial | simp (config := {decide := true}) | simp +decide"
         " | exact Nat.le_of_ble_eq_true rfl | exact instDecidableEqNat a b", "rfl | simp | omega | exact xs[0]!"),
        ("omega", "omega | have : p := by omega | bv_omega | exact xs[i]", "simp | exact h"),
        ("assumption", "assumption | exact ‹p› | rwa [h] | simpa using h | decreasing_trivial", "rw [h] | exact h"),
        ("rfl", "rfl | rfl' | apply_rfl | eq_refl", "rw [h] | exact h"),
        ("get_elem_tactic", "exact xs[i] | exact \"a\"[i] | exact 'a'[i] | exact (·[i]) x | exact ()[i]",
         "exact xs[i]'h"),
        ("simp", "split <;> rfl | decreasing_trivial | split_ifs", "exact h.split"),
        ("simp [*]", "simp [*] | exact by simp [*] at h", "simp | simp [h]"),
        ("nomatch", "exact nomatch h | nomatch h", "exact h"),
    ],
)  # fmt: skip
def test_ban(ban: str, refused: str, taken: str) -> None:
    rule = rule_of([], [ban])
    for text in refused.split(" | "):
        assert tactic_problem(text, rule), text
    for text in taken.split(" | "):
        assert not tactic_problem(text, rule), text


def test_forms() -> None:
    rule = rule_of(["rfl", "rw [h*]", "rw [← h*]", "simp [*]", "exact _"], [])
    allowed = r"rfl ¦ rw [h] ¦ rw [h₁]\nrw [← h2]; rfl ¦ (rw [h] <;> rfl) ¦ · rw [h]\n· rfl ¦ simp [*] ¦ exact Nat.foo"
    for text in cells(allowed):
        assert not tactic_problem(text, rule), text
    refused = r"""
rw [g] ¦ rw [h, h] ¦ rw [h.symm] ¦ rw [h] at g ¦ rw [Nat.add_comm] ¦ simp ¦ simp [h] ¦ exact f x ¦ exact (h)
exact by rfl ¦ exact of_decide_eq_true ¦ rw [h]\n  at g ¦ rw [← h, ← h]
"""
    for text in cells(refused):
        assert tactic_problem(text, rule), text
    assert "`simp [h]` has no allowed form: only rfl, rw [h*]" in tactic_problem("simp [h]", rule)
    told = tactic_problem("first | rfl | simp", rule_of(["rfl", "first"], []))
    assert told == "the tactic rule: `simp` is not allowed: only rfl, first"


@pytest.mark.parametrize(
    ("allow", "ban", "problem"),
    [
        (["rw ["], [], "allow: 'rw [' is no tactic: write a head"),
        (["rfl; simp"], [], "is no tactic"),
        ([""], [], "is no tactic"),
        ([], ["by simp"], "ban: 'by simp' is no tactic"),
        (["simp", "rw"], ["simp"], "`simp` is allowed and `simp` is banned"),
        (["simpa"], ["simp"], "`simpa` is allowed and `simp` is banned"),
        (["rw [h]"], ["rw"], "`rw [ h ]` is allowed and `rw` is banned"),
    ],
)
def test_rules_that_cannot_be_read(allow: list[str], ban: list[str], problem: str) -> None:
    with pytest.raises(BadRule, match=r".") as raised:
        rule_of(allow, ban)
    assert problem in str(raised.value) and "\n" not in str(raised.value)


def test_syntax_of_a_header_or_a_file_refuses_the_rule() -> None:
    rule = rule_of(["rfl"], [])
    for text in (
        'macro "rfl" : tactic => `(tactic| simp)', "macro_rules | `(tactic| rfl) => `(tactic| simp)",
        'notation "x" => (by simp)', 'local notation:10 "x" =>\n  by simp', "@[tactic foo] def f := 1",
        "theorem f (p : Prop) (h : p := by simp) : p := h", 'infixl:60 " ++ " => foo (by simp)',
        'elab "x" : tactic => f', 'syntax "x" : tactic',
    ):  # fmt: skip
        assert theorem_problem(Theorem("t", "", "p", f"def a := 1\n{text}", rule=rule)), text
        place = Place(Context.of(f"import A\n{text}\n"), "theorem t : p := by\n  ", "\n")
        assert "(h : p" in text or theorem_problem(Theorem("t", "", "p", place=place, rule=rule)), text
        assert not theorem_problem(Theorem("t", "", "p", text))
        hidden = f'def s := r"\\"\n{text}\ndef u := 1 -- "'  # the string ends behind its backslash
        assert "(h : p" in text or theorem_problem(Theorem("t", "", "p", hidden, rule=rule)), hidden
    fine = 'notation "x" => 1\ntheorem f : p := by simp\n@[simp] theorem g : p := h\n-- macro\ndef macroes := "syntax"'
    assert not theorem_problem(Theorem("t", "", "p", fine, rule=rule))
