"""Transitions as tokens: what is predicted, what is shortened, and what the state after a tactic is called."""

from __future__ import annotations

import torch

from common.protocol.attempts import Transition
from node.model.names import canonical
from node.model.tokenizer import EOS, TACTIC
from node.training.documents import MOST_TACTIC_TOKENS, Encoder, transition_document
from node.training.loader import collate, pack
from node.training.settings import DataSettings
from tests.node.model.tiny import tiny_tokenizer

TRANSITIONS = [
    Transition("\n".join([*(f"h{index} : p" for index in range(size)), "⊢ q"]), "exact " + "h" * (size % 5 + 1), size)
    for size in range(1, 40)
]


def test_predicted_positions_are_the_tactic_and_its_end() -> None:
    tokenizer = tiny_tokenizer()
    documents = [transition_document(tokenizer, transition, 200) for transition in TRANSITIONS]
    batch = collate(pack(documents, 256), 256)
    flat = batch.tokens.flatten()
    assert torch.equal(flat[batch.policy_at + 1], batch.targets)
    assert torch.equal(flat[batch.value_at], torch.full_like(batch.value_at, TACTIC))
    predicted = {
        (tokenizer.decode(batch.targets[batch.owner == number].tolist()), float(batch.remaining_steps[number]))
        for number in range(batch.count)
    }
    assert predicted == {(canonical(each)[1], float(each.remaining_steps)) for each in TRANSITIONS}
    assert all(int(batch.targets[batch.owner == number][-1]) == EOS for number in range(batch.count))


def test_a_long_tactic_is_cut_and_leaves_room_for_the_state() -> None:
    tokenizer = tiny_tokenizer()
    transition = Transition("h : p\n⊢ q", "simp " * 200, 3)
    document = transition_document(tokenizer, transition, 80)
    assert len(document.tokens) <= 80 and document.predicted == 40
    assert "⊢ q" in tokenizer.decode(document.tokens[: document.prompt])
    assert transition_document(tokenizer, transition, 400).predicted == MOST_TACTIC_TOKENS


def after_texts(row: dict[str, object], **options: bool) -> list[str]:
    """The states after that a row's documents end with, as text."""
    tokenizer = tiny_tokenizer()
    encoder = Encoder(tokenizer, "transitions", DataSettings(held_out=0, state_after=True, **options), 200, 0)
    return [
        tokenizer.decode(each.tokens[-each.after :]) if each.after else "" for each in encoder.documents(row, "all", 0)
    ]


def test_the_state_after_has_the_names_of_the_state_before_and_of_the_tactic() -> None:
    row = {"state": "p q : Prop\n⊢ p → q", "tactic": "intro h", "remaining_steps": 2}
    printed = "case a\np q : Prop\nh : p\n⊢ q"
    assert after_texts({**row, "state_after": printed}) == ["v0 v1 : Prop\nv2 : v0\n⊢ v1"]
    assert after_texts({**row, "state_after": printed}, canonical_names=False) == ["p q : Prop\nh : p\n⊢ q"]
    assert after_texts({**row, "state_after": "no goals"}) == ["no goals"]
    assert after_texts(row) == [""]
