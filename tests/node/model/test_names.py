import pytest
from hypothesis import given, settings, strategies as st

from node.bank.bank import load_proofs
from node.model.names import IDENTIFIER, Names, StatementNames

STATE = "p q : Prop\nh1 : p ∧ q\nhx : ∀ (x : Nat), f x = x\n⊢ ∃ y, q ∧ h1.symm = Nat.add_comm"


def test_names_are_numbered_in_order_of_appearance() -> None:
    hypotheses = "v0 v1 : Prop\nv2 : v0 ∧ v1\nv3 : ∀ (v4 : Nat), f v4 = v4"
    assert Names(STATE).state == f"{hypotheses}\n⊢ ∃ v5, v1 ∧ v2.symm = Nat.add_comm"


@pytest.mark.parametrize(
    ("tactic", "hidden"),
    [
        ("exact h1", "exact v2"),
        ("rcases h1 with ⟨h2, h3⟩", "rcases v2 with ⟨v6, v7⟩"),
        ("rw [← hx, Nat.add_comm] at h1", "rw [← v3, Nat.add_comm] at v2"),
        ("induction q with | zero => ?_ | succ n ih => ?_", "induction v1 with | zero => ?_ | succ v6 v7 => ?_"),
        ("refine ⟨_, by decide⟩", "refine ⟨_, by decide⟩"),
        ("exact ?w", "exact ?w"),
    ],
)
def test_tactics_use_the_names_of_the_state_and_number_new_ones(tactic: str, hidden: str) -> None:
    assert Names(STATE).hide(tactic) == hidden


def test_new_names_of_the_network_are_free_in_the_state() -> None:
    names = Names("v1 v0 : Prop\nv5 : v1\n⊢ v0")
    assert names.state == "v0 v1 : Prop\nv2 : v0\n⊢ v1"
    assert names.show("exact v2") == "exact v5"
    assert names.show("intro v3 v5 v7") == "intro v3 v6 v7"
    assert names.show("have v5 : v1 := v5") == "have v6 : v0 := v6"


def test_a_name_that_looks_canonical_keeps_apart_from_the_others() -> None:
    names = Names("a : Nat\n⊢ v0 a = v1")
    assert len({match.group() for match in IDENTIFIER.finditer(names.state)} - {"Nat"}) == 3
    assert names.show(names.hide("exact v0 a")) == "exact v0 a"


def test_a_statement_binds_names_in_all_of_its_brackets() -> None:
    statement = "example {α : Type} [i : Inhabited α] (x y : α) (hx : (2 : Nat) = 2) : (x : α) = y ∧ ∀ z, z = hx"
    names = StatementNames(statement)
    assert names.state == (
        "example {v0 : Type} [v1 : Inhabited v0] (v2 v3 : v0) (v4 : (2 : Nat) = 2) : (v2 : v0) = v3 ∧ ∀ v5, v5 = v4"
    )
    proof = "constructor\n· rw [hx]\n· intro h\n  use h"
    assert names.hide(proof) == "constructor\n· rw [v4]\n· intro v6\n  use v6"
    assert names.show("exact v4 v6") == "exact hx v6"


@pytest.mark.slow
@pytest.mark.compute
def test_every_proof_of_the_bank_survives_the_round_trip() -> None:
    for proof in load_proofs()[::300]:
        names = StatementNames(proof.theorem.signature)
        hidden = names.hide(proof.script)
        assert names.hide(names.show(hidden)) == hidden
        assert StatementNames(names.state).state == names.state


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(["a", "b", "v0", "v1", "v2", "h", "h1", "x'"]), min_size=1, max_size=6),
    st.text("abv012hx' ⊢:,\n", max_size=30),
)
def test_renaming_is_injective(hypotheses: list[str], goal: str) -> None:
    state = "".join(f"{name} : Nat\n" for name in hypotheses) + "⊢ " + goal
    names = Names(state)
    before = [match.group() for match in IDENTIFIER.finditer(state)]
    after = [match.group() for match in IDENTIFIER.finditer(names.state)]
    assert len(before) == len(after)
    assert len(set(before)) == len(set(after)) == len(set(zip(before, after, strict=True)))
