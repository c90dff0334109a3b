import math

import pytest
import torch
import torch.nn.functional as F

from common.messages import Transition
from node.model.batches import collate, encode_transitions, make_batches
from node.model.loss import LossSettings, evaluate_loss, forward_loss, merge_metrics, value_targets
from tests.node.model.tiny import tiny_model, tiny_tokenizer

EXAMPLES = encode_transitions(
    tiny_tokenizer(),
    [Transition(f"h : p{index * 7919}\n⊢ q", "exact " + "ab" * index, index * 20 + 1) for index in range(6)],
    150,
)


@torch.no_grad()
def dense_losses(model: torch.nn.Module) -> tuple[float, float, int]:
    """Policy and value sums from logits at every position, one sequence at a time."""
    policy_sum = value_sum = 0.0
    tokens = 0
    for example in EXAMPLES:
        sequence = torch.tensor([example.tokens])
        everywhere = torch.arange(sequence.shape[1])
        policy, value = model(sequence, everywhere, everywhere)
        for place in range(example.prompt - 1, len(example.tokens) - 1):
            policy_sum -= float(policy[place].log_softmax(-1)[example.tokens[place + 1]])
            tokens += 1
        value_sum -= float(value[example.prompt - 1].log_softmax(-1)[min(example.remaining_steps, 63)])
    return policy_sum, value_sum, tokens


def test_the_loss_is_the_cross_entropy_of_tactic_tokens_and_a_little_of_the_value() -> None:
    model = tiny_model()
    policy_sum, value_sum, tokens = dense_losses(model)
    loss, metrics = forward_loss(model, collate(EXAMPLES), LossSettings(value_weight=0.25))
    expected = policy_sum / tokens + 0.25 * value_sum / len(EXAMPLES)
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-4)
    assert float(metrics["policy_loss"]) == pytest.approx(policy_sum / tokens, rel=1e-4)
    assert float(metrics["value_loss"]) == pytest.approx(value_sum / len(EXAMPLES), rel=1e-4)
    assert int(metrics["tokens"]) == tokens


def test_micro_batches_add_up_to_the_step() -> None:
    model = tiny_model().train()
    whole = collate(EXAMPLES)
    forward_loss(model, whole)[0].backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    total = 0.0
    parts = make_batches(EXAMPLES, 60)
    for part in parts:
        loss, _ = forward_loss(model, part, policy_total=whole.targets.numel(), value_total=len(EXAMPLES))
        loss.backward()
        total += float(loss.detach())
    assert len(parts) > 1
    assert total == pytest.approx(float(forward_loss(model, whole)[0].detach()), rel=1e-5)
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        assert torch.allclose(parameter.grad, gradient, atol=1e-5)


def test_metrics_of_parts_merge_to_those_of_the_whole() -> None:
    model = tiny_model()
    whole = evaluate_loss(model, [collate(EXAMPLES)])
    parts = evaluate_loss(model, make_batches(EXAMPLES, 60))
    assert parts.keys() == whole.keys()
    assert parts == pytest.approx(whole, rel=1e-4, abs=1e-5)


def test_merging_weights_tokens_and_states() -> None:
    first = {"policy_loss": 1.0, "value_loss": 2.0, "tokens": 1.0, "states": 3.0}
    second = {"policy_loss": 5.0, "value_loss": 6.0, "tokens": 3.0, "states": 1.0}
    merged = merge_metrics([first, second], LossSettings(value_weight=0.5))
    assert merged == {"policy_loss": 4.0, "value_loss": 3.0, "loss": 5.5, "tokens": 4.0, "states": 4.0}


def test_steps_beyond_the_last_bin_are_in_it() -> None:
    assert value_targets(torch.tensor([0, 1, 63, 64, 1000]), 64).tolist() == [0, 1, 63, 63, 63]


def test_accuracy_is_one_when_every_token_is_likeliest() -> None:
    batch = collate(EXAMPLES)

    class Oracle(torch.nn.Module):
        def forward(self, tokens: torch.Tensor, policy_at: torch.Tensor, value_at: torch.Tensor) -> tuple:
            steps = value_targets(batch.remaining_steps, 64)
            return 50.0 * F.one_hot(batch.targets, 400).float(), 50.0 * F.one_hot(steps, 64).float()

    _, metrics = forward_loss(Oracle(), batch)
    assert float(metrics["token_accuracy"]) == float(metrics["tactic_accuracy"]) == 1.0
    assert float(metrics["value_error"]) == pytest.approx(0.0, abs=1e-4)
    assert math.isclose(float(metrics["loss"]), 0.0, abs_tol=1e-4)
