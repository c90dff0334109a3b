"""What the network reads before it writes a conjecture."""

from __future__ import annotations

import functools

import pytest

from node.model.prompt import conjecture_prompt, conjecture_prompt_tokens
from node.model.tokenizer import BOS, TACTIC, TEXT, Tokenizer
from tests.node.model.tiny import TEXTS

LEMMA = "theorem And.comm {a b : Prop} :\n  a ∧ b ↔ b ∧ a"
STATEMENT = "theorem swap (p q : Prop) : p ∧ q → q ∧ p"
PROOF = "  intro h\n  exact And.comm.mp h\n"


@functools.cache
def tokenizer() -> Tokenizer:
    return Tokenizer.train(TEXTS * 20, 400, roles=True)


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
        (
            "theorem List.map_id.{u} (l : List α) : l.map id = l",
            "theorem List.map_id.{u} (v0 : List α) : v0.map id = v0",
        ),
    ],
)
def test_a_lemma_keeps_its_name(lemma: str, shown: str) -> None:
    assert conjecture_prompt(lemma, STATEMENT, PROOF).startswith(f"<lemma>\n{shown}\n</lemma>\n")


def test_a_prompt_is_framed_and_never_cut() -> None:
    marks, prompt = tokenizer(), conjecture_prompt(LEMMA, STATEMENT, PROOF)
    tokens = conjecture_prompt_tokens(marks, prompt, 1000)
    assert tokens is not None and (tokens[0], tokens[1], tokens[-1]) == (BOS, TEXT, TACTIC)
    assert marks.decode(tokens) == prompt
    assert conjecture_prompt_tokens(marks, prompt, len(tokens)) == tokens
    assert conjecture_prompt_tokens(marks, prompt, len(tokens) - 1) is None
