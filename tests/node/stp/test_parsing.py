"""Which outputs of the conjecturer are statements, and what becomes of each."""

import random
import re

import pytest

from common.lean import Context, Theorem
from node.bank.bank import load_statements
from node.lean.text.script import below
from node.stp.data.statements import NotAStatement, bound_names, key, sift, statement_of
from node.stp.records import Fate, Seed
from tests.node.stp.examples import COMM, EASY, output, seed_of

THEOREM = Theorem("conjecture_1_0", "(n : Nat)", "n = n")


@pytest.mark.parametrize(
    "output",
    [
        "example (n : Nat) : n = n",
        "theorem easy (n : Nat) : n = n",
        "lemma x (n : Nat) : n = n := by",
        "\ntheorem x (n : Nat) : n = n\n</hard theorem>\n```",
        "theorem x (n : Nat) : n = n := by\n  rfl\n\ntheorem y : False := by",
        "theorem x (n : Nat) : n = n := by sorry",
    ],
)
def test_a_statement_is_read_under_our_name_and_what_stands_behind_it_is_cut(output: str) -> None:
    assert statement_of(output, name="conjecture_1_0", header="") == THEOREM


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "empty"),
        ("  \n</hard theorem>", "empty"),
        ("theorem", "begins|name"),
        ("theorem X", "colon"),
        ("theorem X :", "no conclusion"),
        ("theorem X : False", "without assumptions"),
        ("theorem X : ¬ (True)", "without assumptions"),
        ("theorem X (n : Nat) : True", "nothing to prove"),
        ("theorem X : ¬ False", "nothing to prove"),
        ("theorem X (h : sorry) : 1 = 2", "sorry"),
        ("theorem X : sorryAx Prop", "sorryAx"),
        ("axiom X : 1 = 2", "begins with `axiom`, but a conjecture is a single theorem"),
        ("notation x => y\ntheorem X : x = x", "begins with `notation`"),
        ("open Nat in theorem X : 1 = 1", "begins with `open`"),
        ("open Nat\ntheorem X : 1 = 1", "begins with `open`"),
        ("@[simp] theorem X : 1 = 1", "begins with `@"),
        ("set_option x true in theorem X : 1 = 1", "begins with `set_option`"),
        ("theorem X : 1 = 1\ntheorem Y : 2 = 2", "`theorem` has no place"),
        ("theorem X : 1 = 1\nopen Nat", "`open` has no place"),
        ("theorem X : 1 = 1\nlocal notation y => z", "`local` has no place"),
        ("theorem X (h : 1 = 1 : 2 = 2", "never closed"),
        ("theorem X) : 2 = 2", "unbalanced|closes what"),
        ("theorem X.{u} (α : Type u) : 2 = 2", "universes"),
        ("theorem X : 2 = 2 -- easy", "a comment"),
        ("<lemma>\ntheorem X : 1 = 1", "prompt"),
        ("theorem X : 1 = 1\n<easy theorem>", "prompt"),
        ("the sum : 1 = 1", "begins with 'the sum"),
    ],
)
def test_what_is_no_statement_of_ours_is_refused_in_words(output: str, reason: str) -> None:
    with pytest.raises(NotAStatement, match=reason):
        statement_of(output, name="c", header="")


def test_false_may_follow_from_what_is_assumed_and_values_of_let_are_no_proofs() -> None:
    assert statement_of("theorem X (h : 1 = 2) : False", name="c", header="").conclusion == "False"
    assert statement_of("theorem X : let x := 2; x = 2", name="c", header="").conclusion == "let x := 2; x = 2"


def test_every_output_gets_a_fate() -> None:
    outputs = [
        (seed_of(), output("example (n : Nat) : n = 1")),
        (seed_of(), output("example (n : Nat) : n = 1 ∧", complete=False)),
        (seed_of(), output("example : False")),
        (seed_of(), output("example (k : Nat) :  k=1")),
        (seed_of(), output("theorem easy (x y : Nat) : x + y = y + x")),
        (seed_of(), output("theorem easy (x y : Nat) : x + y = y + (x + 0)")),
        (seed_of(), output("example (n : Nat) : n = 3")),
    ]
    known = {key(EASY), key(Theorem("test_1", "(z : Nat)", "z = 3"))}
    found = sift(outputs, known, limit=10, round_=4)
    fates = [Fate.NEW, Fate.CUT, Fate.REFUSED, Fate.KNOWN, Fate.KNOWN, Fate.NEW, Fate.KNOWN]
    assert [each.fate for each in found] == fates
    assert [each.name for each in found] == [f"conjecture_4_{number}" for number in range(7)]
    assert all(bool(each.reason) == (each.fate != Fate.NEW) for each in found)
    assert "own seed" in found[4].reason and "cut off" in found[1].reason
    assert [each.output for each in found] == [written.text for _, written in outputs]
    # Named like its seed, but stating something else, it is a conjecture like any other, under our name.
    assert found[5].theorem == Theorem("conjecture_4_5", "(x y : Nat)", "x + y = y + (x + 0)")


@pytest.mark.parametrize("limit", [0, 1, 7, 20, 30])
def test_there_are_no_more_new_conjectures_than_the_limit_and_the_others_are_drawn_by_the_seed(limit: int) -> None:
    outputs = [(seed_of(), output(f"example (n : Nat) : n = {number}")) for number in range(20)]
    found = sift(outputs, (), limit, round_=1, rng_seed=3)
    new = [each for each in found if each.fate == Fate.NEW]
    surplus = [each for each in found if each.fate == Fate.SURPLUS]
    assert (len(new), len(surplus)) == (min(limit, 20), max(0, 20 - limit))
    assert found == sift(outputs, (), limit, round_=1, rng_seed=3)
    assert all(each.theorem is not None and each.reason for each in surplus)
    # Which are taken hangs on what they say, and not on their order.
    backwards = sift(outputs[::-1], (), limit, round_=1, rng_seed=3)
    assert {each.output for each in backwards if each.fate == Fate.NEW} == {each.output for each in new}
    other = [sift(outputs, (), limit, round_=1, rng_seed=seed) for seed in range(4, 8)]
    assert any(found != each for each in other) == (0 < limit < 20)


def test_a_conjecture_has_its_seed_s_environment() -> None:
    with_header = Theorem("easy", "", "x = x", "open Nat")
    placed = below(Context.of("def x := 1\n"), Theorem("easy", "", "x = x"))
    (first,) = sift([(Seed(with_header, "rfl", COMM), output("example : x = 1"))], (), 1, round_=1)
    (second,) = sift([(Seed(placed, "rfl", COMM), output("example : x = 1"))], (), 1, round_=1)
    assert first.theorem is not None and first.theorem.header == "open Nat"
    assert second.theorem is not None and second.theorem.place is not None
    assert second.theorem.place.context == placed.place.context  # type: ignore[union-attr]
    (again,) = sift([(Seed(placed, "rfl", COMM), output("example : x  = x"))], {key(placed)}, 1, round_=1)
    assert again.fate == Fate.KNOWN


# --- statements that are equal up to white space and bound names have one key, and others have others -----------------
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
