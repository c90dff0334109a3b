"""Tactics with the names that a file declares."""

import pytest

from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.premises import PremisePolicy, Premises, candidates, explicit_arguments

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


def test_a_predicate_of_the_file_is_taken_apart_and_built():
    found = proposed("α : Type\nas : List α\nh : Palindrome as\n⊢ Palindrome as.reverse")
    assert "constructor" in found and "apply Palindrome.sandwich" in found
    induction = "induction h with | nil => ?_ | single a => ?_ | sandwich a a_1 ih => ?_"
    assert induction in found


def test_outside_of_the_namespace_names_are_longer():
    assert "unfold A.double" in proposed("n : Nat\n⊢ 0 < A.double n", FILE + "end A\n")


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


async def test_a_file_that_declares_nothing_gives_no_advice():
    advice = await PremisePolicy(Premises.of("open Nat\n")).advise("⊢ True", 6, 0)
    assert advice.proposals == [] and advice.exhausted
