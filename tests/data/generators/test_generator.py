"""The bank's generator: deterministic, and its parts do what they claim. Lean judges the simulations."""

import itertools
import random

import pytest

from common.lean import Theorem
from data.generators import build, lean_check, profiles
from data.generators.families import rewriting
from data.generators.families.draft import step
from data.generators.families.logic import BankProver, GaveUp, Sequent, countermodels
from data.generators.families.terms import show_equation, successors, value, variables
from data.generators.normal_form import normal_form, skeleton

pytestmark = pytest.mark.generators

P, Q = ("atom", "p"), ("atom", "q")


def some(families):
    """Two of them by default, all of them in the slow tests."""
    names = sorted(families)
    return [*names[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in names[2:])]


@pytest.mark.lean
def test_equal_seeds_give_equal_banks():
    def rows(seed):
        return [(item.theorem, item.proof, item.checked.states) for item in build.fill_family("nat-order", 0.001, seed)]

    assert rows(5) == rows(5) != rows(6)


def proposed(make, number, rng):
    """So many drafts of a family, which does not always have one."""
    return list(itertools.islice(filter(None, (make(rng) for _ in itertools.count())), number))


@pytest.mark.lean
@pytest.mark.parametrize("family", some(profiles.MAKERS))
def test_lean_accepts_most_of_what_a_family_proposes(family):
    rng = random.Random(11)
    drafts = proposed(profiles.MAKERS[family][0], 15, rng)
    items = [(draft.theorem(f"t{i}", rng), draft.proof) for i, draft in enumerate(drafts)]
    assert sum(result.proved for result in lean_check.check(items)) >= 12


@pytest.mark.lean
@pytest.mark.parametrize("family", some(profiles.FALSE_MAKERS))
def test_lean_refutes_what_is_meant_to_be_false(family):
    rng = random.Random(12)
    drafts = proposed(profiles.FALSE_MAKERS[family], 10, rng)
    items = [(draft.theorem(f"t{i}", rng).negation(), draft.counter_proof()) for i, draft in enumerate(drafts)]
    assert all(result.proved for result in lean_check.check(items))


@pytest.mark.lean
def test_simulated_rewriting_is_what_lean_does():
    """For random equations and lemmas, the simulation of `rw` gives Lean's goal (shown by `trace_state`)."""
    rng = random.Random(13)
    cases = []
    while len(cases) < 30:
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
    assert right >= 28  # Lean unifies numerals a little more freely than the simulation


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


def test_normal_forms_ignore_names_order_and_where_premises_stand():
    first = Theorem("t", "(p q r : Prop) (h : p → q) (k : q → r)", "p → r")
    second = Theorem("u", "(C A B : Prop) (e : B → C) (h1 : A → B) (x : A)", "C")
    assert normal_form(first) == normal_form(second) and skeleton(first) == skeleton(second)
    other = Theorem("v", "(p q r : Prop) (h : p → q) (k : r → q)", "p → r")
    assert normal_form(first) != normal_form(other) and skeleton(first) == skeleton(other)
