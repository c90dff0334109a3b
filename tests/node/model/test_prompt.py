"""What the network reads before it writes a tactic, a proof or a conjecture, and the names in it."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from node.bank.bank import load_proofs
from node.model.names import IDENTIFIER, Names, StatementNames
from node.model.prompt import (
    FRAME,
    conjecture_prompt,
    conjecture_prompt_tokens,
    prompt_tokens,
    proof_prompt_tokens,
    tactic_tokens,
    unnamed,
)
from node.model.tokenizer import BOS, EOS, LEAN, STATE, TACTIC, TEXT, Tokenizer
from tests.node.model.tiny import role_tokenizer, tiny_tokenizer

HYPOTHESES = [f"h{index} : p ∧ q" for index in range(30)]
GOAL = "⊢ q ∧ p"


def shown(state: str, limit: int) -> str:
    return tiny_tokenizer().decode(prompt_tokens(tiny_tokenizer(), state, limit))


def test_a_prompt_is_the_state_in_its_frame() -> None:
    tokenizer = tiny_tokenizer()
    prompt = prompt_tokens(tokenizer, GOAL, 100)
    assert prompt == [BOS, STATE, *tokenizer.encode(GOAL), TACTIC]
    assert len(prompt) == len(tokenizer.encode(GOAL)) + FRAME
    assert tactic_tokens(tokenizer, "simp") == [*tokenizer.encode("simp"), EOS]


@pytest.mark.parametrize("limit", [20, 50, 90, 150])
def test_a_long_state_loses_its_first_hypotheses_and_keeps_its_goal(limit: int) -> None:
    state = "\n".join([*HYPOTHESES, GOAL])
    text = shown(state, limit)
    assert state.endswith(text) and text.endswith(GOAL)
    assert text.split("\n")[0] in [*HYPOTHESES, GOAL], "hypotheses go whole"
    assert len(prompt_tokens(tiny_tokenizer(), state, limit)) <= limit


def test_every_goal_is_kept_one_that_is_too_long_keeps_its_end_and_hypotheses_go_as_a_whole() -> None:
    state = "\n\n".join("\n".join([*HYPOTHESES[:8], f"⊢ p{index}"]) for index in range(3))
    text = shown(state, 60)
    assert [line for line in text.split("\n") if line.startswith("⊢")] == ["⊢ p0", "⊢ p1", "⊢ p2"]
    assert len(text) < len(state)
    long = "h : p ∧\n    q ∧\n    q"
    state = "\n".join([long, *HYPOTHESES[:5], GOAL])
    limit = len(tiny_tokenizer().encode(state)) + FRAME - 1
    assert shown(state, limit) == "\n".join([*HYPOTHESES[:5], GOAL])
    state = "h : p\n⊢ " + " ∧ ".join(f"p{index}" for index in range(100))
    text = shown(state, 40)
    assert state.endswith(text) and text.endswith("p99")
    assert len(prompt_tokens(tiny_tokenizer(), state, 40)) == 40


@pytest.mark.parametrize(
    ("statement", "without"),
    [
        ("theorem t (p q : Prop) : p ∧ q", "example (p q : Prop) : p ∧ q"),
        ("theorem Nat.foo'.{u, v} {α : Type u} : α", "example {α : Type u} : α"),
        ("lemma «a b».c (x : Nat) : x = x", "example (x : Nat) : x = x"),
        ("theorem t {α} (a : α) : a = a", "example {α} (a : α) : a = a"),
        ("example : 1 = 1", "example : 1 = 1"),
        ("theorem x: 1 = 1", "example : 1 = 1"),
        ("∀ n : Nat, n = n", "example : ∀ n : Nat, n = n"),
    ],
)
def test_a_statement_is_read_without_its_name(statement: str, without: str) -> None:
    assert unnamed(statement) == without


LEMMA = "theorem And.comm {a b : Prop} :\n  a ∧ b ↔ b ∧ a"
STATEMENT = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
PROOF = "  intro h\n  exact And.comm.mp h\n"


def test_the_prompt_has_lemma_and_easy_theorem_with_names_of_their_own_whatever_authors_call_them() -> None:
    prompt = conjecture_prompt(LEMMA, STATEMENT, PROOF)
    assert prompt == (
        "<lemma>\ntheorem And.comm {v0 v1 : Prop} : v0 ∧ v1 ↔ v1 ∧ v0\n</lemma>\n"
        "<easy theorem>\nexample (v0 v1 : Prop) : v0 ∧ v1 → v1 ∧ v0 := by\n"
        "intro v2\nexact And.comm.mp v2\n</easy theorem>\n<hard theorem>\n"
    )
    other = "example (a b : Prop) : a ∧ b → b ∧ a", "intro ab\nexact And.comm.mp ab"
    assert conjecture_prompt("theorem And.comm {x y : Prop} : x ∧ y ↔ y ∧ x", *other) == prompt
    canonical = "example (v0 v1 : Prop) : v0 ∧ v1 → v1 ∧ v0", "intro v2\nexact And.comm.mp v2"
    assert conjecture_prompt(LEMMA, *canonical) == prompt


@pytest.mark.parametrize(
    ("lemma", "shown"),
    [
        ("theorem true : True", "theorem true : True"),
        ("theorem p (p : Prop) : p → p", "theorem p (v0 : Prop) : v0 → v0"),
        ("theorem List.id.{u} (l : List α) : l.map id = l", "theorem List.id.{u} (v0 : List α) : v0.map id = v0"),
    ],
)
def test_a_lemma_keeps_its_name(lemma: str, shown: str) -> None:
    assert conjecture_prompt(lemma, STATEMENT, PROOF).startswith(f"<lemma>\n{shown}\n</lemma>\n")


@pytest.mark.parametrize(
    ("read", "mark", "prompt"),
    [
        (proof_prompt_tokens, LEAN, "example (p q : Prop) : p ∧ q"),
        (conjecture_prompt_tokens, TEXT, conjecture_prompt(LEMMA, STATEMENT, PROOF)),
    ],
)
def test_statements_and_what_conjectures_are_made_of_are_framed_and_never_cut(
    read: Callable[[Tokenizer, str, int], list[int] | None], mark: int, prompt: str
) -> None:
    marks = role_tokenizer(400)
    tokens = read(marks, prompt, 1000)
    assert tokens is not None and (tokens[0], tokens[1], tokens[-1]) == (BOS, mark, TACTIC)
    assert marks.decode(tokens) == prompt and read(marks, prompt, len(tokens)) == tokens
    assert read(marks, prompt, len(tokens) - 1) is None


# --- names ------------------------------------------------------------------------------------------------------------
NAMED = "p q : Prop\nh1 : p ∧ q\nhx : ∀ (x : Nat), f x = x\n⊢ ∃ y, q ∧ h1.symm = Nat.add_comm"


def test_names_are_numbered_in_order_of_appearance() -> None:
    hypotheses = "v0 v1 : Prop\nv2 : v0 ∧ v1\nv3 : ∀ (v4 : Nat), f v4 = v4"
    assert Names(NAMED).state == f"{hypotheses}\n⊢ ∃ v5, v1 ∧ v2.symm = Nat.add_comm"


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
    assert Names(NAMED).hide(tactic) == hidden


def test_new_names_of_the_network_are_free_in_the_state_and_canonical_ones_in_it_keep_apart() -> None:
    names = Names("v1 v0 : Prop\nv5 : v1\n⊢ v0")
    assert names.state == "v0 v1 : Prop\nv2 : v0\n⊢ v1" and names.show("exact v2") == "exact v5"
    assert names.show("intro v3 v5 v7") == "intro v3 v6 v7"
    assert names.show("have v5 : v1 := v5") == "have v6 : v0 := v6"
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
        assert names.hide(names.show(hidden)) == hidden and StatementNames(names.state).state == names.state


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
