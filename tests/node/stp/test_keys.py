"""Statements that are equal up to white space and bound names have one key, and others have others."""

import random
import re

import pytest

from common.lean import Theorem
from node.bank.bank import load_statements
from node.stp.data.statements import bound_names, key


def _key(statement: tuple[str, str], header: str = "") -> str:
    return key(Theorem("t", *statement, header))


EQUAL = [
    (("(n : Nat)", "n + 0 = n"), ("(m: Nat)", "m+0\n = m")),
    (("", "(∀ x, p x) ∧ (∀ x, q x)"), ("", "(∀ x, p x) ∧ (∀ y, q y)")),
    (("(p : Nat → Prop)", "(∃ x, p x) → ∃ y, p y"), ("(q : Nat → Prop)", "(∃ z, q z) → ∃ z, q z")),
    (("{α : Type} [h : Foo α]", "∀ (x : α), x = x"), ("{β : Type} [i : Foo β]", "∀ (y : β), y = y")),
    (("(h : ∃ x, p x) (x : Nat)", "x = x"), ("(h : ∃ y, p y) (z : Nat)", "z = z")),
    (("(n : Nat)", "¬p n∧∃!x,x=n"), ("(n : Nat)", "¬ p n ∧ ∃! y , y = n")),
    (("(f : Nat → Nat)", "(fun x => f x) = f"), ("(g : Nat → Nat)", "(fun y => g y) = g")),
    (("(h : a = b)", "h.symm = h.symm"), ("(k : a = b)", "k.symm = k.symm")),
]

DIFFERENT = [
    (("(a b : Nat)", "a = b"), ("(a b : Nat)", "b = a")),
    (("", "∀ x y, r x y"), ("", "∀ x y, r y x")),
    (("(x : Nat)", "∃ y, y = x"), ("(x : Nat)", "∃ y, y = y")),
    (("(n : Nat)", "n = 1"), ("(n : Int)", "n = 1")),
    (("", "f x = 1"), ("", "f y = 1")),
    (("", "fx = 1"), ("", "f x = 1")),
    (("{n : Nat}", "n = n"), ("(n : Nat)", "n = n")),
    (("(n : Nat)", "n = 1"), ("(n : Nat)", "n = 11")),
    (("(x : Nat)", "(∀ x, p x) → p x"), ("(x : Nat)", "(∀ y, p x) → p x")),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_white_space_and_bound_names_do_not_count(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert _key(one) == _key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_everything_else_counts(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert _key(one) != _key(other)


def test_headers_count_but_for_white_space_and_names_of_theorems_do_not() -> None:
    one = ("", "p")
    assert _key(one, "open  Nat\n") == _key(one, "open Nat") != _key(one, "open Int")
    assert key(Theorem("a", *one)) == key(Theorem("b", *one))


def test_renaming_and_spacing_a_statement_of_the_bank_keeps_its_key() -> None:
    rng = random.Random(0)
    theorems = [each.theorem for each in load_statements("test")]
    for theorem in rng.sample(theorems, 150):
        names = sorted(bound_names(theorem.binders, theorem.conclusion))
        fresh = dict(zip(names, rng.sample([f"new{number}" for number in range(99)], len(names)), strict=True))
        changed = [
            re.sub(r"(?<![\w.])[^\W\d][\w']*", lambda match, new=fresh: new.get(match.group(), match.group()), text)  # type: ignore[misc]
            for text in (theorem.binders, theorem.conclusion)
        ]
        spaced = [text.replace(" ", "  ").replace("(", "( ").replace(")", " \n)") for text in changed]
        assert key(Theorem("t", *spaced)) == key(theorem), theorem


def test_the_bank_s_statements_do_not_share_keys() -> None:
    theorems = [each.theorem for split in ("valid", "test") for each in load_statements(split)]
    assert len({key(theorem) for theorem in theorems}) == len(theorems)
