import random

import pytest
import torch

from common.messages import Transition
from node.model.batches import Example, collate, encode_transition, encode_transitions, group_by_length, make_batches
from node.model.names import canonical
from node.model.tokenizer import EOS, PAD, TACTIC
from tests.node.model.tiny import tiny_tokenizer

TRANSITIONS = [
    Transition("\n".join([*(f"h{index} : p" for index in range(size)), "⊢ q"]), "exact " + "h" * (size % 5 + 1), size)
    for size in range(1, 40)
]


def test_supervised_positions_predict_the_tactic_and_its_end() -> None:
    tokenizer = tiny_tokenizer()
    batch = collate(encode_transitions(tokenizer, TRANSITIONS, 200))
    flat = batch.tokens.flatten()
    assert torch.equal(flat[batch.policy_at + 1], batch.targets)
    assert torch.equal(flat[batch.value_at], torch.full_like(batch.value_at, TACTIC))
    rows = batch.policy_at // batch.tokens.shape[1]
    for row, transition in enumerate(TRANSITIONS):
        targets = batch.targets[rows == row].tolist()
        assert targets[-1] == EOS
        assert tokenizer.decode(targets) == canonical(transition)[1]
    assert batch.remaining_steps.tolist() == [transition.remaining_steps for transition in TRANSITIONS]


def test_batches_hold_every_example_once_within_the_budget() -> None:
    examples = encode_transitions(tiny_tokenizer(), TRANSITIONS, 200)
    random.Random(0).shuffle(examples)
    batches = make_batches(examples, 600)
    rows = [tuple(token for token in row if token != PAD) for batch in batches for row in batch.tokens.tolist()]
    assert sorted(rows) == sorted(example.tokens for example in examples)
    assert len(batches) > 1 and all(batch.tokens.numel() <= 600 for batch in batches)


def test_bucketing_leaves_little_padding() -> None:
    lengths = [random.Random(seed).randint(20, 200) for seed in range(400)]
    groups = group_by_length(lengths, 4096)
    padded = sum(len(group) * max(lengths[index] for index in group) for group in groups)
    assert padded < 1.1 * sum(lengths)
    assert sorted(index for group in groups for index in group) == list(range(400))


def test_an_example_longer_than_the_budget_is_alone() -> None:
    groups = group_by_length([10, 900, 20, 30], 100)
    assert groups[0] == [1]


def test_a_long_tactic_is_cut_and_leaves_room_for_the_state() -> None:
    tokenizer = tiny_tokenizer()
    example = encode_transition(tokenizer, Transition("h : p\n⊢ q", "simp " * 200, 3), 80, tactic_limit=64)
    assert len(example.tokens) <= 80 and example.targets == 40
    assert "⊢ q" in tokenizer.decode(example.tokens[: example.prompt])


def test_a_batch_says_how_much_of_it_is_padding() -> None:
    batch = collate([Example((1, 2, 3, 9, 4), 3, 1), Example((1, 2, 3), 2, 1)])
    assert batch.padding == pytest.approx(0.2)
    assert torch.equal(batch.to("cpu").tokens, batch.tokens)
