"""The bank's generator: deterministic, and its parts do what they claim. Lean judges the simulations."""

import random

import pytest

from common.lean import Theorem
from data.generators import build, lean_check, profiles
from data.generators.families import rewriting
from data.generators.families.draft import chain, render_binders, step
from data.generators.families.logic import BankProver, GaveUp, Sequent, countermodels, show
from data.generators.families.terms import (
    add,
    mul,
    num,
    rewrite,
    rewrite_text,
    rule,
    show_equation,
    successors,
    value,
    var,
    variables,
)
from data.generators.normal_form import normal_form, skeleton
from data.generators.profiles import POCKET

pytestmark = pytest.mark.generators

P, Q, R = ("atom", "p"), ("atom", "q"), ("atom", "r")


@pytest.mark.lean
def test_equal_seeds_give_equal_banks():
    def rows(seed):
        return [(item.theorem, item.proof, item.checked.states) for item in build.fill_family("nat-order", 0.003, seed)]

    assert rows(5) == rows(5) != rows(6)


@pytest.mark.lean
@pytest.mark.parametrize("family", sorted(profiles.MAKERS))
def test_lean_accepts_most_of_what_a_family_proposes(family):
    rng = random.Random(11)
    drafts = []
    while len(drafts) < 15:
        draft = profiles.MAKERS[family][0](rng)
        if draft is not None:
            drafts.append(draft)
    items = [(draft.theorem(f"t{i}", rng), draft.proof) for i, draft in enumerate(drafts)]
    assert sum(result.proved for result in lean_check.check(items)) >= 12


@pytest.mark.lean
@pytest.mark.parametrize("family", sorted(profiles.FALSE_MAKERS))
def test_lean_refutes_what_is_meant_to_be_false(family):
    rng = random.Random(12)
    drafts = []
    while len(drafts) < 10:
        draft = profiles.FALSE_MAKERS[family](rng)
        if draft is not None:
            drafts.append(draft)
    items = [(draft.theorem(f"t{i}", rng).negation(), draft.counter_proof()) for i, draft in enumerate(drafts)]
    assert all(result.proved for result in lean_check.check(items))


@pytest.mark.lean
def test_simulated_rewriting_is_what_lean_does():
    """For random equations and lemmas, the simulation of `rw` gives Lean's goal (shown by `trace_state`)."""
    rng = random.Random(13)
    cases = []
    while len(cases) < 60:
        names = ["a", "b", "c"]
        equation = (rewriting.random_nat_term(rng, names, 3), rewriting.random_nat_term(rng, names, 2))
        options = [
            (text, new) for text, new in successors(equation, rewriting.NAT_RULES, True)
            if new[0] != new[1] and not any(value(side) is not None for side in new) and variables(equation[0])
        ]  # fmt: skip
        if options:
            cases.append((equation, *rng.choice(options)))
    blocks = [
        [f"theorem t{i} (a b c : Nat) : {show_equation(equation)} := by", f"  {text}", "  trace_state", "  skip"]
        for i, (equation, text, _) in enumerate(cases)
    ]
    shown = {}
    for index, _, message in lean_check.run_blocks(blocks):
        if message["severity"] == "information":
            shown[index] = message["data"].rpartition("⊢ ")[2]
    right = sum(shown.get(index) == show_equation(new) for index, (_, _, new) in enumerate(cases))
    assert right >= 57  # Lean unifies numerals a little more freely than the simulation


def test_rewriting_replaces_every_instance_of_the_first_match():
    used = rule("h", add(var("x"), var("y")), add(var("y"), var("x")), "x", "y")
    a, b = var("a"), var("b")
    equation = (mul(add(a, b), add(a, b)), add(b, a))
    assert rewrite(equation, used) == (mul(add(b, a), add(b, a)), add(b, a))
    assert rewrite_text(used, False, {"?x": a, "?y": add(a, b)}) == "rw [h a (a + b)]"
    assert rewrite((a, b), used) is None


def test_the_small_prover_proves_what_is_valid_and_only_that():
    def provable(hypotheses, goal, classical=False):
        named = tuple((f"k{i}", formula) for i, formula in enumerate(hypotheses))
        try:
            return BankProver(classical).prove(Sequent(named, goal, (), frozenset(name for name, _ in named)))
        except GaveUp:
            return None

    assert provable([("imp", P, Q), P], Q) == step("exact k0 k1")
    assert provable([("or", P, Q)], ("or", Q, P)).tactic == "rcases k0 with h1 | h2"
    assert provable([], ("or", P, ("not", P))) is None
    assert provable([], ("or", P, ("not", P)), classical=True) is not None
    assert provable([("imp", P, Q)], ("imp", Q, P), classical=True) is None
    assert next(countermodels([("imp", P, Q)], ("imp", Q, P))) == {P: False, Q: True}


def test_formulas_print_with_the_brackets_that_lean_needs():
    assert show(("imp", ("imp", P, Q), ("and", ("or", P, Q), ("not", ("and", P, Q))))) == "(p → q) → (p ∨ q) ∧ ¬(p ∧ q)"
    assert show(("iff", ("imp", P, ("imp", Q, R)), ("imp", ("and", P, Q), R))) == "p → q → r ↔ p ∧ q → r"
    assert show(("and", ("all", "x", ("atom", "S", "x")), P)) == "(∀ x, S x) ∧ p"


def test_normal_forms_ignore_names_order_and_where_premises_stand():
    first = Theorem("t", "(p q r : Prop) (h : p → q) (k : q → r)", "p → r")
    second = Theorem("u", "(C A B : Prop) (e : B → C) (h1 : A → B) (x : A)", "C")
    assert normal_form(first) == normal_form(second)
    assert skeleton(first) == skeleton(second)
    other = Theorem("v", "(p q r : Prop) (h : p → q) (k : r → q)", "p → r")
    assert normal_form(first) != normal_form(other)
    assert skeleton(first) == skeleton(other)


def test_normal_forms_see_constants_and_bound_names():
    first = Theorem("t", "(f : Nat → Nat) (h : ∀ n, f (n + 1) = f n + 2)", "∀ k, f k = 2 * k")
    same = Theorem("t", "(g : Nat → Nat) (m : Nat) (e : ∀ x, g (x + 1) = g x + 2)", "g m = 2 * m")
    other = Theorem("t", "(f : Nat → Nat) (h : ∀ n, f (n + 1) = f n + 3)", "∀ k, f k = 2 * k")
    assert normal_form(first) == normal_form(same) != normal_form(other)
    assert skeleton(first) != skeleton(other)


def test_normal_forms_try_all_orders_of_equal_hypotheses():
    first = Theorem("t", "(a b c d : Nat) (h : a ≤ b) (k : c ≤ d) (e : b ≤ c)", "False")
    second = Theorem("t", "(a b c d : Nat) (e : c ≤ b) (k : a ≤ c) (h : b ≤ d)", "False")
    assert normal_form(first) == normal_form(second)


def test_binders_that_cannot_be_read_are_refused():
    with pytest.raises(ValueError, match="cannot read"):
        normal_form(Theorem("t", "{p : Prop}", "p → p"))


def test_binders_share_their_type():
    assert (
        render_binders([("p", "Prop"), ("q", "Prop"), ("n", "Nat")], [("h", "p")]) == "(p q : Prop) (n : Nat) (h : p)"
    )


def test_a_chain_is_a_tree_of_single_goals():
    proof = chain(["intro h", "exact h"])
    assert (proof.tactic, proof.layout, proof.remaining_steps) == ("intro h", ((0,),), 2)
    assert POCKET.level_of(proof) == 1 and POCKET.level_of(chain(["skip"] * 5)) == 3


def test_values_of_closed_terms():
    assert value(add(num(2), mul(num(3), num(4)))) == 14
    assert value(add(var("x"), num(1))) is None
