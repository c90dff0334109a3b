"""Targets of the value, and the auxiliary loss on the state that a tactic leads to."""

import pytest
import torch

from node.model.batches import Example, after_tokens, collate
from node.model.loss import LossSettings, evaluate_loss, forward_loss, two_hot, value_loss
from node.model.tokenizer import EOS, STATE
from tests.node.model.tiny import tiny_model, tiny_tokenizer


def example(prompt: int, tactic: int, steps: float = 3, after: int = 0) -> Example:
    ids = torch.randint(5, 300, (prompt + tactic + after,), generator=torch.Generator().manual_seed(prompt)).tolist()
    return Example(tuple(ids[: prompt + tactic]), prompt, steps, tuple(ids[prompt + tactic :]))


def test_two_hot_targets_have_their_mean_at_the_number_of_steps() -> None:
    steps = torch.tensor([0.0, 2.0, 2.25, 7.0, 99.0])
    targets = two_hot(steps, 8)
    assert targets.sum(-1).tolist() == [1.0] * 5
    assert (targets @ torch.arange(8.0)).tolist() == pytest.approx([0, 2, 2.25, 7, 7])
    assert targets[2].nonzero()[:, 0].tolist() == [2, 3]


def test_both_kinds_of_targets_agree_on_whole_numbers_of_steps() -> None:
    logits = torch.randn(4, 64, generator=torch.Generator().manual_seed(0))
    steps = torch.tensor([0, 5, 63, 70])
    one, two = (value_loss(logits, steps, kind) for kind in ("one-hot", "two-hot"))
    assert float(one) == pytest.approx(float(two), rel=1e-6)


def test_means_of_steps_are_trained_on_as_they_are() -> None:
    model, batch = tiny_model(), collate([example(5, 3, 2.5), example(7, 2, 4)])
    assert batch.remaining_steps.tolist() == [2.5, 4.0]
    one = evaluate_loss(model, [batch])
    two = evaluate_loss(model, [batch], LossSettings(value_targets="two-hot"))
    assert one["value_loss"] != pytest.approx(two["value_loss"], abs=1e-6)
    assert one["policy_loss"] == two["policy_loss"]


def test_the_state_after_is_supervised_past_its_mark_and_changes_nothing_before_it() -> None:
    model = tiny_model()
    pair = [example(6, 4, after=5), example(9, 2)]
    bare = [Example(one.tokens, one.prompt, one.remaining_steps) for one in pair]
    batch = collate(pair)
    assert batch.after_at is not None and batch.after_targets is not None
    assert batch.after_at.tolist() == [10, 11, 12, 13]
    assert tuple(batch.after_targets.tolist()) == pair[0].after[1:]
    without = evaluate_loss(model, [collate(bare)])
    ignored = evaluate_loss(model, [batch])
    assert ignored == pytest.approx(without, rel=1e-5)
    settings = LossSettings(after_weight=0.5)
    used = evaluate_loss(model, [batch], settings)
    assert used["after_tokens"] == 4
    assert used["loss"] == pytest.approx(without["loss"] + 0.5 * used["after_loss"], rel=1e-5)


def test_batches_with_and_without_states_after_add_up() -> None:
    model, settings = tiny_model(), LossSettings(after_weight=0.5)
    examples = [example(6, 4, after=5), example(8, 3, after=3), example(9, 2)]
    together = evaluate_loss(model, [collate(examples)], settings)
    apart = evaluate_loss(model, [collate([one]) for one in examples], settings)
    assert together == pytest.approx(apart, rel=1e-4)


def gradient_norm(settings: LossSettings) -> float:
    model = tiny_model()
    loss, _ = forward_loss(model, collate([example(6, 4, after=5)]), settings)
    loss.backward()
    gradient = model.blocks[0].attention.query.weight.grad
    assert gradient is not None
    return float(gradient.norm())


def test_the_auxiliary_loss_has_gradients() -> None:
    assert gradient_norm(LossSettings()) != pytest.approx(gradient_norm(LossSettings(after_weight=1.0)), rel=1e-3)


def test_tokens_of_the_state_after_keep_their_frame_when_they_are_cut() -> None:
    tokens = after_tokens(tiny_tokenizer(), "p q : Prop\n⊢ q ∧ p", 6)
    assert len(tokens) == 6 and tokens[0] == STATE and tokens[-1] == EOS
