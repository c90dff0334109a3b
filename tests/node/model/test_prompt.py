"""What the network reads before it writes a tactic, a proof or a conjecture."""

from collections.abc import Callable

import pytest

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


def test_every_goal_of_a_state_is_kept() -> None:
    state = "\n\n".join("\n".join([*HYPOTHESES[:8], f"⊢ p{index}"]) for index in range(3))
    text = shown(state, 60)
    assert [line for line in text.split("\n") if line.startswith("⊢")] == ["⊢ p0", "⊢ p1", "⊢ p2"]
    assert len(text) < len(state)


def test_a_hypothesis_over_several_lines_goes_as_a_whole() -> None:
    long = "h : p ∧\n    q ∧\n    q"
    state = "\n".join([long, *HYPOTHESES[:5], GOAL])
    limit = len(tiny_tokenizer().encode(state)) + FRAME - 1
    assert shown(state, limit) == "\n".join([*HYPOTHESES[:5], GOAL])


def test_a_goal_that_is_too_long_alone_keeps_its_end() -> None:
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


def test_the_prompt_has_lemma_and_easy_theorem_with_names_of_their_own() -> None:
    assert conjecture_prompt(LEMMA, STATEMENT, PROOF) == (
        "<lemma>\ntheorem And.comm {v0 v1 : Prop} : v0 ∧ v1 ↔ v1 ∧ v0\n</lemma>\n"
        "<easy theorem>\nexample (v0 v1 : Prop) : v0 ∧ v1 → v1 ∧ v0 := by\n"
        "intro v2\nexact And.comm.mp v2\n</easy theorem>\n<hard theorem>\n"
    )
    as_written = conjecture_prompt(LEMMA, STATEMENT, PROOF, canonical=False)
    assert "example (p q : Prop) : p ∧ q → q ∧ p := by\nintro h\nexact And.comm.mp h\n" in as_written


def test_what_authors_call_things_and_how_they_lay_them_out_changes_nothing() -> None:
    prompt = conjecture_prompt(LEMMA, STATEMENT, PROOF)
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
    assert marks.decode(tokens) == prompt
    assert read(marks, prompt, len(tokens)) == tokens
    assert read(marks, prompt, len(tokens) - 1) is None
