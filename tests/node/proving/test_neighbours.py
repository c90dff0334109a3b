"""Tactics from a file's own definitions and theorems."""

import pytest

from common.places import Context, Place
from node.proving.neighbours import neighbour_tactics

CONTEXT = """\
-- def comment := 1
def outside : Nat := 0
namespace Foo
def double (n : Nat) : Nat := n + n
private theorem double_two : double 2 = 4 := rfl
theorem other : 1 = 1 := rfl
end Foo
namespace Bar
section
@[simp] def triple (n : Nat) : Nat := n + n + n
end
"""


def tactics(goal: str, context: str = CONTEXT) -> list[str]:
    return neighbour_tactics(Place(Context.of(context), "theorem t : P := ", "\n"), goal)


def test_definitions_that_a_goal_mentions_are_tried_with_the_theorems_about_them():
    found = tactics("n : Nat\n⊢ Foo.double n = n + n")
    assert "simp [Foo.double]" in found and "exact Foo.double_two .." in found
    assert "induction n <;> simp_all [Foo.double, Foo.double_two]" in found
    assert any(tactic.startswith("fun_induction Foo.double n") for tactic in found)
    assert not any("other" in tactic or "comment" in tactic for tactic in found)


def test_names_are_written_as_the_namespace_at_the_gap_has_them():
    assert "simp [triple]" in tactics("n : Nat\n⊢ triple n = 3 * n")


def test_behind_notation_the_nearest_definitions_are_tried():
    assert "simp [triple, Foo.double, outside]" in tactics("n : Nat\n⊢ n ⊞ n = n")


@pytest.mark.parametrize("context", ["", "-- nothing\n", "variable (p : Prop)\n"])
def test_a_file_without_names_offers_nothing(context):
    assert tactics("⊢ p ∨ ¬p", context) == []


def test_a_long_file_gives_a_short_list():
    pair = "def f{0} (n : Nat) : Nat := n\ntheorem t{0} : f{0} 0 = 0 := rfl\n"
    context = "".join(pair.format(number) for number in range(500))
    goal = "n : Nat\n⊢ " + " = ".join(f"f{number} n" for number in range(500))
    assert 0 < len(tactics(goal, context)) < 80
