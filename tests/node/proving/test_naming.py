"""Names of hypotheses: which are chosen, where they are written, and that Lean accepts the renamed proof."""

import time

import pytest

from common.lean import ProofTree
from node.lean.opened import OpenedLean
from node.lean.text.script import indented, proof_lines
from node.lean.text.statement import parse_statement
from node.proving.finishing import named, proof_name, split
from tests.node.play.opened import environment_of, verified
from tests.node.proving.local import chain


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


async def test_a_name_that_is_used_and_bound_in_one_line_is_told_apart(opened_lean: OpenedLean) -> None:
    tree = chain("have h := h 3", "have h_1 := h", "exact h_1")
    lines = await renamed(opened_lean, "theorem t (P : Nat → Prop) (h : ∀ n, P n) : P 3", tree)
    assert lines == ["have h := h 3", "have h₁ := h", "exact h₁"]


async def test_where_lean_does_not_accept_new_names_the_old_ones_stay(opened_lean: OpenedLean) -> None:
    # `hp` is the best name for `h_1`, but inside the function it means something else.
    tree = chain("intro h_1", "exact (fun hp => h_1) hq")
    lines = await renamed(opened_lean, "theorem t (p q : Prop) (hq : q) : p → p", tree)
    assert lines == ["intro h_1", "exact (fun hp => h_1) hq"]
