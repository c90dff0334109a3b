"""Tracing a file with real Lean: the records of each construct, and how it is split."""

import asyncio
import multiprocessing

import pytest

from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.session import plan, run_all
from node.lean.trace.sources import Group
from node.lean.trace.tracing import TraceFailed, Tracer

pytestmark = pytest.mark.lean


def tactics(theorems, name, block=0):
    return [step.tactic for step in theorems[name].blocks[block].steps]


def test_every_block_of_an_accepted_theorem_is_split_and_checked(theorems):
    blocks = {name: block for name, theorem in theorems.items() for block in theorem.blocks}
    assert len(blocks) >= 18
    assert {name: block.problem or block.unsplit for name, block in blocks.items() if not block.split} == {}


def test_proofs_that_cannot_be_checked_in_their_split_form_stay_whole_and_say_why(tmp_path, monkeypatch):
    real = Tracer._elaborate

    async def only_the_original(self, source, *options, **more):
        if "set_option trace.Elab.info" in source.text:  # the copy with the split proof
            raise TraceFailed("not done after 1 s")
        return await real(self, source, *options, **more)

    monkeypatch.setattr(Tracer, "_elaborate", only_the_original)
    text = "theorem a (n m : Nat) (h : n = m) : n + 0 = m := by\n  rw [Nat.add_zero, h]\n"
    [theorem] = asyncio.run(Tracer(LeanToolchain.pocket(), tmp_path).trace(text, "a.lean")).theorems
    [block] = theorem.blocks
    assert not block.split and "not done after 1 s" in block.unsplit
    assert [step.tactic for step in block.steps] == ["rw [Nat.add_zero, h]"]


ATOMIC = r"""
pair: constructor ¦ exact hp ¦ assumption
rewritten: rw [Nat.add_zero] ¦ rw [h] ¦ rw [h2]
closed_early: have h3 : n = n + 0 := ?_ ¦ refine ⟨?_, trivial⟩ ¦ rewrite [h3] ¦ rw [Nat.add_zero] ¦ assumption
  ¦ rw [Nat.add_zero n]
cases_by_name: induction n with | zero => ?_ | succ k ih => ?_ ¦ rfl ¦ have h : 0 + k = k := ?_ ¦ rw [Nat.add_succ]
  ¦ rw [h] ¦ exact ih
cases_in_order: rcases h with hp | hq | hr ¦ right ¦ right ¦ exact hp ¦ right ¦ left ¦ assumption ¦ exact Or.inl hr
renamed: cases h ¦ rename_i x ¦ exact Or.inr x ¦ rename_i y ¦ exact Or.inl y
wildcard: cases h with | inl hp => ?_ | _ hq => ?_ ¦ right ¦ exact hp ¦ exact Or.inl hq
combined: refine ⟨?_, ?_, ?_⟩ ¦ first | assumption | skip ¦ first | assumption | skip ¦ first | assumption | skip
each_goal: constructor ¦ assumption ¦ assumption
chain: calc a = b := ?_\n  _ = c := ?_ ¦ exact h ¦ rw [h2]
claimed: suffices h : q from ?_ ¦ exact ⟨h, hp⟩ ¦ exact hpq hp
shared: apply Exists.intro ¦ rfl
witness_first: apply Exists.intro ¦ case w => exact 3 ¦ rfl
turned: constructor ¦ exact hp ¦ exact hq
Inner.uses_fact: rw [fact (s + 0)] ¦ rw [fact]
after_the_wrong_ones: intros ¦ rfl
"""
"""The steps of theorems in `examples.lean`, between bars; `\\n` in them is a line break."""


def test_composed_tactics_become_atomic_steps(theorems):
    for line in ATOMIC.strip().replace("\n  ¦", " ¦").split("\n"):
        name, _, steps = line.partition(": ")
        assert tactics(theorems, name) == steps.replace("\\n", "\n").split(" ¦ "), name


def test_steps_have_their_state_the_goals_after_and_the_steps_that_remain(theorems):
    first, *rest = theorems["pair"].blocks[0].steps
    assert first.state == "p q : Prop\nhp : p\nhq : q\n⊢ p ∧ q"
    assert first.after == ("case left\np q : Prop\nhp : p\nhq : q\n⊢ p", "case right\np q : Prop\nhp : p\nhq : q\n⊢ q")
    assert (first.layout, first.remaining_steps, first.parent) == (((0,), (1,)), 2, -1)
    assert [(step.parent, step.branch, step.remaining_steps) for step in rest] == [(0, 0, 1), (0, 1, 1)]
    depths = [step.remaining_steps for step in theorems["cases_by_name"].blocks[0].steps]
    assert depths == [4, 1, 3, 2, 1, 1]


def test_premises_have_full_names_and_belong_to_their_step(theorems):
    named = {step.tactic: [each.full_name for each in step.premises] for step in theorems["rewritten"].blocks[0].steps}
    assert named == {"rw [Nat.add_zero]": ["Nat.add_zero"], "rw [h]": [], "rw [h2]": []}
    uses = theorems["Inner.uses_fact"].blocks[0].steps
    assert [[each.full_name for each in step.premises] for step in uses] == [["Inner.fact"], ["Inner.fact"]]
    induction = theorems["cases_by_name"].blocks[0].steps[0]
    assert [each.full_name for each in induction.premises] == ["Nat.zero", "Nat.succ"]


def test_an_error_belongs_to_its_theorem_alone(theorems):
    assert "unsolved goals" in theorems["wrong"].error and theorems["wrong"].blocks == ()
    assert theorems["unfinished"].error == "it uses `sorry`"
    assert theorems["after_the_wrong_ones"].error == "" and theorems[""].kind == "example"


def test_a_file_that_cannot_be_elaborated_says_why(tmp_path):
    traced = asyncio.run(Tracer(LeanToolchain.pocket(), tmp_path).trace("import Nowhere\n", "a.lean"))
    assert traced.theorems == () and "line 1" in traced.error and "Nowhere" in traced.error


def test_a_module_is_traced_as_the_same_text_without_that_word(tmp_path):
    text = (
        "@[expose] def next (n : Nat) : Nat := n + 1\n"
        "private theorem next_eq (n : Nat) : next n = n + 1 := by\n  unfold next\n  rfl\n"
        "theorem a (n m : Nat) (h : n = m) : next n = m + 1 := by\n  rw [next_eq, h]\n"
    )
    plain, module = (
        asyncio.run(Tracer(LeanToolchain.pocket(), tmp_path).trace(start + text, "a.lean")).theorems
        for start in ("\n\n", "module\npublic section\n")
    )
    assert [theorem.name for theorem in module] == ["next_eq", "a"]
    for one, other in zip(plain, module, strict=True):
        steps, same = (
            [(step.tactic, step.state, step.after) for block in each.blocks for step in block.steps]
            for each in (one, other)
        )
        assert steps == same
        assert all(block.split for block in other.blocks)


def test_no_more_files_are_traced_at_once_than_is_said(tmp_path):
    files = [tmp_path / f"{name}.lean" for name in "abc"]  # none of them is there
    works = plan(Group(tmp_path, tuple(files), lake=False), Tracer(LeanToolchain.pocket(), tmp_path), tmp_path)
    at_work, errors = [], []

    def report(work, traced, stored):
        at_work.append(len(multiprocessing.active_children()))
        errors.append(traced.error)

    run_all(works, 1, report)
    assert at_work == [1, 1, 1] and all(error.startswith("cannot be read") for error in errors)
