"""Tactics with the names that a file declares."""

import pytest

from common.lean import Context, Place, Theorem
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.premises import (
    Premises,
    candidates,
    explicit_arguments,
    for_people,
    premises_of,
    with_premises,
)
from tests.node.prover.toys import Says

FILE = """\
namespace A
inductive Palindrome : List α → Prop where
  | nil : Palindrome []
  | single : (a : α) → Palindrome [a]
  | sandwich : (a : α) → Palindrome as → Palindrome ([a] ++ as ++ [a])
def double (n : Nat) : Nat := n + n
theorem double_pos (n : Nat) (h : 0 < n) : 0 < double n := sorry
theorem unrelated (p : Prop) : p → p := id
theorem rev (h : Palindrome as) : Palindrome as.reverse := sorry
"""


def proposed(state: str, text: str = FILE) -> list[str]:
    return candidates(read_goal(state), Premises.of(text))


def test_definitions_of_the_goal_are_unfolded_and_its_lemmas_applied():
    found = proposed("n : Nat\n⊢ 0 < double n")
    assert found[0] == "simp [double]"
    assert {
        "unfold double",
        "exact double_pos ..",
        "apply double_pos",
        "induction n <;> simp_all [double, double_pos]",
    } <= {*found}
    assert "exact unrelated .." not in found


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        (": Palindrome []", []),
        (": (a : α) → Palindrome as → Palindrome ([a] ++ as)", ["a", "a"]),
        ("(l : Tree α) {x : α} (a b : α) : Tree α", ["l", "a", "b"]),
        (": {a : α} → [Inhabited α] → P a → Q", ["a"]),
        ("", []),
    ],
)
def test_explicit_arguments_are_counted(signature, names):
    assert [each.name for each in explicit_arguments(signature)] == names


CONTEXT = Context.of("def double (n : Nat) : Nat := n + n\ntheorem double_zero : double 0 = 0 := rfl\n")
PLACED = Theorem("t", "", "?", place=Place(CONTEXT, "theorem t (n : Nat) : double n = n + n := by\n  ", "\n"))
ALONE = Theorem("t", "(n : Nat)", "n = n")
STATE = "n : Nat\n⊢ double n = n + n"
NETWORK = Says("from the network")


async def tactics(policy, state: str = STATE) -> list[str]:
    return [proposal.tactic for proposal in (await policy.advise(state, 6, 0)).proposals]


async def test_a_network_is_joined_by_the_list_and_its_value_counts():
    policy = for_people(NETWORK, ALONE)
    assert {"from the network", "rfl"} <= {*await tactics(policy)}
    assert (await policy.advise(STATE, 6, 0)).value == -3.0


async def test_at_a_place_in_a_file_its_own_names_join():
    assert {"from the network", "rfl", "simp [double]", "unfold double"} <= {
        *await tactics(for_people(NETWORK, PLACED))
    }
    known = with_premises(NETWORK, PLACED, has_values=True, unknown=lambda tactic: tactic.startswith("unfold"))
    assert "simp [double]" in await tactics(known) and "unfold double" not in await tactics(known)


async def test_a_theorem_that_stands_by_itself_has_no_premises():
    assert premises_of(ALONE) is None
    assert await tactics(with_premises(NETWORK, ALONE, has_values=True)) == ["from the network"]
