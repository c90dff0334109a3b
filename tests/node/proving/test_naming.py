"""Names of hypotheses: which are chosen, where they are written, and that Lean accepts the renamed proof."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest

from common.lean import Outcome, ProofTree, Step
from node.lean.opened import OpenedLean
from node.lean.text.script import indented, proof_lines
from node.lean.text.statement import parse_statement
from node.prover.policies.goal_tactics import read_goal
from node.proving.finishing import choose, named, proof_name, split
from tests.node.play.opened import environment_of, verified

ONE = ((0,),)
TWO = ((0,), (1,))


def chain(*tactics: str) -> ProofTree:
    tree = ProofTree(tactics[-1])
    for tactic in reversed(tactics[:-1]):
        tree = ProofTree(tactic, ONE, (tree,))
    return tree


async def renamed(lean: OpenedLean, statement: str, tree: ProofTree) -> list[str]:
    theorem = parse_statement(statement)
    lines = proof_lines(await named(tree, environment_of(lean, theorem), time.monotonic() + 60), "")
    assert (await verified(lean, theorem, indented(lines))).accepted
    return lines


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        ("p", "hp"),
        ("¬q", "hnq"),
        ("p → q", "hpq"),
        ("P x", "hx"),
        ("a ≤ b", "hab"),
        ("m = 2 * k", "hm"),
        ("p ∧ q", ""),
        ("∀ (x : α), P x", ""),
    ],
)
def test_a_proof_is_named_after_what_it_proves(type_: str, name: str) -> None:
    assert proof_name(type_) == name


def test_names_that_are_taken_are_not_given_again() -> None:
    goal = read_goal("p q : Prop\nhp : q\nh_1 : p\nh_2 : p ∧ q\nh_3 : q ∧ p\nn' : Nat\n⊢ q")
    assert choose(["h_1", "h_2", "h_3", "n'"], [goal], {}) == {"h_1": "h", "h_2": "h₁", "h_3": "h₂", "n'": "n"}


def test_branches_that_do_not_see_each_other_may_use_the_same_name() -> None:
    goals = [read_goal("p q : Prop\nh_1 : p ∧ q\n⊢ q"), read_goal("p q : Prop\nh_2 : q ∧ p\n⊢ q")]
    assert choose(["h_1", "h_2"], goals, {}) == {"h_1": "h", "h_2": "h"}


@pytest.mark.parametrize(
    ("tactic", "names"),
    [
        ("intro x h_1", ["x", "h_1"]),
        ("obtain ⟨k, rfl⟩ := h", ["k"]),
        ("rcases h with h_1 | ⟨h_2, _⟩", ["h_1", "h_2"]),
        ("induction n with | zero => ?_ | succ n' ih_1 => ?_", ["n'", "ih_1"]),
        ("have h_1 := f x", ["h_1"]),
        ("rcases h with h_1 | h_2 <;> simp_all", ["h_1", "h_2"]),
        ("refine Classical.byContradiction fun h_1 => ?_", ["h_1"]),
    ],
)
def test_new_names_are_found(tactic: str, names: list[str]) -> None:
    parts = split(tactic)
    assert parts is not None and parts.names == names
    assert parts.written(lambda text: text, {}) == tactic


def test_a_tactic_of_another_form_is_left_alone() -> None:
    assert split("simp only [h_1]") is None and split("exact fun h => h") is None


async def test_hypotheses_are_named_in_the_whole_proof(opened_lean: OpenedLean) -> None:
    tree = chain("intro h", "obtain ⟨h_1, h_1_2⟩ := h", "exact ⟨h_1_2, h_1⟩")
    lines = await renamed(opened_lean, "theorem t (p q : Prop) : p ∧ q → q ∧ p", tree)
    assert lines == ["intro h", "obtain ⟨hp, hq⟩ := h", "exact ⟨hq, hp⟩"]


async def test_a_name_that_is_used_and_bound_in_one_line_is_told_apart(opened_lean: OpenedLean) -> None:
    tree = chain("have h := h 3", "have h_1 := h", "exact h_1")
    lines = await renamed(opened_lean, "theorem t (P : Nat → Prop) (h : ∀ n, P n) : P 3", tree)
    assert lines == ["have h := h 3", "have h₁ := h", "exact h₁"]


async def test_cases_are_named_in_each_branch(opened_lean: OpenedLean) -> None:
    tree = ProofTree("rcases h with h_1 | h_2", TWO, (chain("right", "exact h_1"), chain("left", "exact h_2")))
    lines = await renamed(opened_lean, "theorem t (p q : Prop) (h : p ∨ q) : q ∨ p", tree)
    assert lines == ["rcases h with hp | hq", "· right", "  exact hp", "· left", "  exact hq"]


async def test_induction_takes_up_the_variables_own_name(opened_lean: OpenedLean) -> None:
    zero, succ = chain("simp"), chain("rw [← Nat.add_assoc, ih_1]")
    tree = ProofTree("induction n with | zero => ?_ | succ n' ih_1 => ?_", TWO, (zero, succ))
    lines = await renamed(opened_lean, "theorem t (n : Nat) : 0 + n = n", tree)
    assert lines[0] == "induction n with | zero => ?_ | succ n ih => ?_" and "ih]" in lines[-1]


async def test_truth_tables_say_of_what(opened_lean: OpenedLean) -> None:
    tree = ProofTree("by_cases h : p <;> by_cases h_1 : q <;> simp_all")
    lines = await renamed(opened_lean, "theorem t (p q : Prop) : ((p → q) → p) → p", tree)
    assert lines == ["by_cases hp : p <;> by_cases hq : q <;> simp_all"]


async def test_where_lean_does_not_accept_new_names_the_old_ones_stay(opened_lean: OpenedLean) -> None:
    # `hp` is the best name for `h_1`, but inside the function it means something else.
    tree = chain("intro h_1", "exact (fun hp => h_1) hq")
    lines = await renamed(opened_lean, "theorem t (p q : Prop) (hq : q) : p → p", tree)
    assert lines == ["intro h_1", "exact (fun hp => h_1) hq"]


class Silent:
    """An environment that must not be asked."""

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        raise AssertionError("time is over")


async def test_late_nothing_is_renamed() -> None:
    tree = chain("intro h_1", "exact h_1")
    assert await named(tree, Silent(), time.monotonic()) == tree
