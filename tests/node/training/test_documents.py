"""Transitions as tokens: what is predicted, what is shortened, and what the state after a tactic is called."""

from __future__ import annotations

import torch

from common.protocol.attempts import Transition
from node.model.names import canonical
from node.model.tokenizer import EOS, TACTIC
from node.training.documents import Encoder, Room, transition_document
from node.training.loader import collate, pack
from node.training.settings import DataSettings
from tests.node.model.tiny import tiny_tokenizer

TRANSITIONS = [
    Transition("\n".join([*(f"h{index} : p" for index in range(size)), "⊢ q"]), "exact " + "h" * (size % 5 + 1), size)
    for size in range(1, 40)
]


def test_predicted_positions_are_the_tactic_and_its_end() -> None:
    tokenizer = tiny_tokenizer()
    documents = [each for row in TRANSITIONS if (each := transition_document(tokenizer, row, Room(200)))]
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


def test_no_document_is_cut_without_its_end_token() -> None:
    """Tactics of 1 to 60 tokens and states of any length: whole with the end, or left out and counted."""
    tokenizer = tiny_tokenizer()
    rows = [{"state": "h : p\n" * (n % 7) + "⊢ q", "tactic": "]" * n, "remaining_steps": 1} for n in range(1, 60)]
    for options in ({}, {"transitions_as_text": True}, {"canonical_names": False}, {"state_after": True}):
        encoder = Encoder(tokenizer, "transitions", DataSettings(held_out=0, **options), Room(80, 30), 0)
        documents = [each for row in rows for each in encoder.documents(row | {"state_after": "⊢ p"}, "all", 0)]
        tactics = [each.tokens[each.tokens.index(TACTIC) + 1 :] for each in documents]
        assert [tokens.index(EOS) for tokens in tactics] == list(range(1, 30))
        assert max(len(each.tokens) for each in documents) <= 80
        assert (encoder.made, encoder.left_out) == (29, 30)
    # The state keeps half of a short row, whatever the network's limit.
    assert transition_document(tokenizer, Transition("h : p\n⊢ q", "]" * 20, 3), Room(40)) is None
    document = transition_document(tokenizer, Transition("h : p\n" * 30 + "⊢ q", "]" * 19, 3), Room(40))
    assert document is not None and len(document.tokens) == 40 and document.predicted == 20
    assert "⊢ q" in tokenizer.decode(document.tokens[: document.prompt])


def after_texts(row: dict[str, object], **options: bool) -> list[str]:
    """The states after that a row's documents end with, as text."""
    tokenizer = tiny_tokenizer()
    encoder = Encoder(tokenizer, "transitions", DataSettings(held_out=0, state_after=True, **options), Room(200), 0)
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
