"""Which states have one canonical key, and the names that answer to each other."""

import pytest

from node.lean.text.canonical import Merging, canonical

SAME: dict[str, tuple[str, str, dict[str, str]]] = {
    "a hypothesis of another name": ("p : Prop\nh : p\n⊢ p", "p : Prop\nk : p\n⊢ p", {"p": "p", "h": "k"}),
    "names swapped": ("p q : Prop\nh : p ∧ q\n⊢ q", "q p : Prop\nh : q ∧ p\n⊢ p", {"p": "q", "q": "p", "h": "h"}),
    "a projection": ("n : Nat × Nat\n⊢ n.1 = Nat.succ 0", "k : Nat × Nat\n⊢ k.1 = Nat.succ 0", {"n": "k"}),
    "bound variables": ("n : Nat\n⊢ ∀ (x : Nat), x ≤ n", "m : Nat\n⊢ ∀ (k : Nat), k ≤ m", {"n": "m"}),
    "an inaccessible name": ("n✝ : Nat\nh : n✝ = 0\n⊢ True", "k✝ : Nat\nh : k✝ = 0\n⊢ True", {"n✝": "k✝", "h": "h"}),
    "a value": ("n : Nat := 5\n⊢ n = 5", "k : Nat := 5\n⊢ k = 5", {"n": "k"}),
    "several goals": ("a : Nat\n⊢ ?m.1 = a\n\na : Nat\n⊢ Nat", "b : Nat\n⊢ ?m.1 = b\n\nb : Nat\n⊢ Nat", {"a": "b"}),
}

SAME_BUT_FOR_ORDER: dict[str, tuple[str, str, dict[str, str]]] = {
    "hypotheses": ("p q : Prop\nh : p\nk : q\n⊢ p", "q p : Prop\nk : q\nh : p\n⊢ p", {"p": "p", "h": "h", "k": "k"}),
    "symmetry": ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "p q : Prop\nk : q ∧ p\n⊢ p ∧ q", {"p": "q", "q": "p", "h": "k"}),
    "found by their use alone": (
        "p q r : Prop\na : p → q\nb : q → r\n⊢ False",
        "p q r : Prop\nb : r → p\na : p → q\n⊢ False",
        {},
    ),
}

DIFFERENT: dict[str, tuple[str, str]] = {
    "a hypothesis used otherwise": ("p q : Prop\nh : p\n⊢ p", "p q : Prop\nh : q\n⊢ p"),
    "a name that can be written": ("h : True\n⊢ p", "h✝ : True\n⊢ p"),
    "order of names that cannot be written": ("a✝¹ : p\na✝ : q\n⊢ p ∧ q", "a✝¹ : q\na✝ : p\n⊢ p ∧ q"),
    "what shadows a name": ("b✝ : r\nk : p\nb : q\n⊢ r", "b✝ : r\nb : p\nh : q\n⊢ r"),
    "what `have` brings in": ("this : p\n⊢ p", "h : p\n⊢ p"),
    "a global name": ("n : Nat\n⊢ n = foo", "n : Nat\n⊢ n = bar"),
    "the field of a name": ("x : T\nl : T\n⊢ x.l = 0", "x : T\nk : T\n⊢ x.k = 0"),
    "elided terms": ("h : p\n⊢ f ⋯ = 0", "k : p\n⊢ f ⋯ = 0"),
    "strings": ('h : s = "h"\n⊢ True', 'k : s = "k"\n⊢ True'),
    "names in guillemets": ("«a b» : p\n⊢ p", "«a c» : p\n⊢ p"),
    "ranges": ("a b : Nat\n⊢ ∫ x in 0..a, x = b", "b a : Nat\n⊢ ∫ x in 0..b, x = a"),
    "a name that is a field, too": ("fst : Nat\n⊢ { fst := fst } = x", "fs : Nat\n⊢ { fs := fs } = x"),
    "factorials, which are names of their own": ("n m : Nat\nh : n < m\n⊢ n! = 1", "m n : Nat\nh : m < n\n⊢ n! = 1"),
    "bound variables that are used otherwise": ("⊢ ∀ (x y : Nat), x < y", "⊢ ∀ (x y : Nat), y < x"),
    "what may be bound or not": ("⊢ ∀ x > c, P x", "⊢ ∀ x > d, P x"),
    "lines that are no hypotheses": ("| f x\nh : p\n⊢ p", "| f x\nk : p\n⊢ p"),
    "goals that are no goals": ("s1", "s2"),
}


def answers(first: str, second: str, merging: Merging) -> dict[str, str] | None:
    """The names of the first state that answer to those of the second; None: these are different states."""
    one, other = canonical(first, merging), canonical(second, merging)
    if one is None or other is None or one.key != other.key:
        return None
    return dict(zip(one.names, other.names, strict=True))


@pytest.mark.parametrize("case", SAME)
def test_states_that_differ_in_names_are_equal(case: str) -> None:
    first, second, names = SAME[case]
    for merging in ("names", "names-and-order"):
        assert answers(first, second, merging) == names
    assert canonical(first, "text") is None


@pytest.mark.parametrize("case", SAME_BUT_FOR_ORDER)
def test_states_that_differ_in_order_are_equal_by_option(case: str) -> None:
    first, second, names = SAME_BUT_FOR_ORDER[case]
    assert answers(first, second, "names") is None
    found = answers(first, second, "names-and-order")
    assert found is not None and names.items() <= found.items()


@pytest.mark.parametrize("case", DIFFERENT)
def test_other_states_are_not(case: str) -> None:
    first, second = DIFFERENT[case]
    for merging in ("names", "names-and-order"):
        assert answers(first, second, merging) is None


def test_goals_of_one_state_keep_the_order_of_their_hypotheses() -> None:
    first = "h : p\nk : q\n⊢ ?m.1 = 0\n\n⊢ Nat"
    second = "k : q\nh : p\n⊢ ?m.1 = 0\n\n⊢ Nat"
    assert answers(first, second, "names-and-order") is None
    assert answers(first, first, "names-and-order") == {"h": "h", "k": "k"}


@pytest.mark.parametrize("merging", ["names", "names-and-order"])
def test_a_bound_name_that_is_called_like_its_hypothesis_makes_no_circle(merging: Merging) -> None:
    first = canonical("α : Type\nR : α → Prop\nu : ∃ u, R u\n⊢ False", merging)
    second = canonical("β : Type\nS : β → Prop\nv : ∃ v, S v\n⊢ False", merging)
    assert first is not None and second is not None and first.key == second.key
    assert dict(zip(first.names, second.names, strict=True)) == {"α": "β", "R": "S", "u": "v"}
