"""Which states have one canonical key, and the names that answer to each other."""

from __future__ import annotations

import pytest

from node.lean.text.canonical import Merging, canonical
from tests.node.prover.logic import DIFFERENT, SAME, SAME_BUT_FOR_ORDER


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
