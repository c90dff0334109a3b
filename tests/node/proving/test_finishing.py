"""Shorter proofs of the same theorem, and names of hypotheses: which variants there are, what Lean makes of them."""

import asyncio
import time
from collections.abc import Sequence

import pytest

from common.lean import Outcome, OutcomeKind, ProofTree, Step
from node.lean.opened import OpenedLean
from node.lean.text.script import indented, proof_lines
from node.lean.text.statement import parse_statement
from node.proving.finishing import folded, named, proof_name, shortened, split, variants_of
from tests.node.play.opened import environment_of, verified
from tests.node.proving.local import ONE, chain

CLOSING = ("rfl", "assumption", "simp", "omega", "simp_all")
TWO = ((0,), (1,))


def both(tactic: str, first: ProofTree, second: ProofTree) -> ProofTree:
    return ProofTree(tactic, TWO, (first, second))


async def short(lean: OpenedLean, *cases: tuple[str, ProofTree, Sequence[str]]) -> list[list[str]]:
    """The lines of the shortened proofs of statements, each with its closing tactics. Lean accepts them."""
    theorems = [parse_statement(f"theorem t {statement}") for statement, _, _ in cases]
    results = [
        await shortened(tree, environment_of(lean, theorem), closing, time.monotonic() + 60)
        for theorem, (_, tree, closing) in zip(theorems, cases, strict=True)
    ]
    verdicts = await asyncio.gather(*(verified(lean, *each) for each in zip(theorems, results, strict=True)))
    assert all(verdict.accepted for verdict in verdicts)
    return [proof_lines(result, "") for result in results]


@pytest.mark.parametrize(
    ("tree", "variant"),
    [
        (chain("intro h", "intro x", "simp"), "intro h x\nsimp"),
        (chain("skip", "simp"), "simp"),
        (chain("left", "exact h"), "exact Or.inl h"),
        (chain("right", "exact f h"), "exact Or.inr (f h)"),
        (chain("refine ⟨n, ?_⟩", "omega"), "exact ⟨n, by omega⟩"),
        (chain("refine ⟨n, ?_⟩", "exact h n"), "exact ⟨n, h n⟩"),
        (chain("apply f", "exact h"), "exact f h"),
        (chain("have h_1 := f x", "exact g h_1 y"), "exact g (f x) y"),
        (both("constructor", ProofTree("exact a"), ProofTree("exact b")), "exact ⟨a, b⟩"),
        (both("cases n with | zero => ?_ | succ n => ?_", chain("simp"), chain("simp")), "cases n <;> simp"),
        (chain("simp", "exact f h"), "simpa using f h"),
        (chain("simp [p] at h", "exact h"), "simpa [p] using h"),
        (chain("simp [p, q] at h", "omega"), "simp only [p, q] at h\nomega"),
        (chain("simp_all [p]", "omega"), "simp_all only [p]\nomega"),
        (chain("simp_all [p, q]; simp [p]"), "simp_all only [p, q]; simp [p]"),
    ],
)
def test_steps_are_written_as_one(tree: ProofTree, variant: str) -> None:
    assert variant in [each.block for each in variants_of(tree, ())]


async def test_steps_that_are_not_needed_are_dropped_and_what_does_the_same_replaces_a_simplification(
    opened_lean: OpenedLean,
) -> None:
    unneeded = chain("intro h", "have h_1 := h", "obtain ⟨hp, hq⟩ := h", "exact ⟨hq, hp⟩")
    product = "(a b c d : Nat) (h : a * b + a * c = d) : a * (b + c) = d"
    found = await short(
        opened_lean,
        ("(p q : Prop) : p ∧ q → q ∧ p", unneeded, ()),
        ("(n m : Nat) (h : n = m) : 0 + n = m", chain("simp", "exact h"), ()),
        ("(n m : Nat) (h : 0 + n = m) : n = m", chain("simp at h", "exact h"), ()),
        (product, chain("simp [Nat.mul_add]", "rw [h]"), ()),
        ("(n m : Nat) (h : n = m) : 0 + n = m", chain("simp", "exact h"), ("simp <;> assumption", "omega")),
    )
    assert found == [
        ["intro h", "obtain ⟨hp, hq⟩ := h", "exact ⟨hq, hp⟩"],
        ["simpa using h"],
        ["simpa using h"],
        ["simp only [Nat.mul_add]", "rw [h]"],
        ["omega"],
    ]


class Refuses:
    """An environment in which nothing works, and that counts what it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        self.asked += 1
        return dict.fromkeys(tactics, Outcome(OutcomeKind.ERROR))


async def test_what_lean_does_not_accept_changes_nothing_and_late_nothing_is_tried() -> None:
    tree, refuses = chain("intro h", "exact h"), Refuses()
    assert await shortened(tree, refuses, CLOSING, time.monotonic() + 60) == tree and refuses.asked == 1
    assert await shortened(tree, refuses, CLOSING, time.monotonic()) == tree and refuses.asked == 1


def test_the_cases_of_an_induction_are_laid_out() -> None:
    head = "induction n with | zero => ?_ | succ n ih => ?_"
    tree = ProofTree("intro n", ONE, (both(head, chain("rfl"), chain("rw [ih]", "simp")),))
    cases = ["induction n with", "| zero => rfl", "| succ n ih =>", "  rw [ih]", "  simp"]
    assert proof_lines(folded(tree), "") == ["intro n", *cases]


# --- names ------------------------------------------------------------------------------------------------------------
async def renamed(lean: OpenedLean, statement: str, tree: ProofTree) -> list[str]:
    theorem = parse_statement(statement)
    lines = proof_lines(await named(tree, environment_of(lean, theorem), time.monotonic() + 60), "")
    assert (await verified(lean, theorem, indented(lines))).accepted
    return lines


@pytest.mark.parametrize(
    ("type_", "name"),
    [
        *[("p", "hp"), ("¬q", "hnq"), ("p → q", "hpq"), ("P x", "hx"), ("a ≤ b", "hab"), ("m = 2 * k", "hm")],
        *[("p ∧ q", ""), ("∀ (x : α), P x", "")],
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


async def test_a_name_used_and_bound_in_one_line_is_told_apart_and_where_lean_refuses_new_names_the_old_ones_stay(
    opened_lean: OpenedLean,
) -> None:
    tree = chain("have h := h 3", "have h_1 := h", "exact h_1")
    lines = await renamed(opened_lean, "theorem t (P : Nat → Prop) (h : ∀ n, P n) : P 3", tree)
    assert lines == ["have h := h 3", "have h₁ := h", "exact h₁"]
    # `hp` is the best name for `h_1`, but inside the function it means something else.
    kept = ["intro h_1", "exact (fun hp => h_1) hq"]
    assert await renamed(opened_lean, "theorem t (p q : Prop) (hq : q) : p → p", chain(*kept)) == kept
