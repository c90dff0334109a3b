"""The training loss: cross-entropy of the tactic, and a little of the value (AlphaProof, learner)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from node.model.batches import Batch
from node.model.transformer import expected_value

VALUE_WEIGHT = 0.001
"""Weight of the value loss (AlphaProof's pseudocode)."""


@dataclass(frozen=True)
class LossSettings:
    """What the loss is made of."""

    value_weight: float = VALUE_WEIGHT
    """Weight of the value's cross-entropy beside the policy's."""


def value_targets(remaining_steps: Tensor, bins: int) -> Tensor:
    """One-hot bins as class indices: b for b steps, the last bin for that many or more."""
    return remaining_steps.clamp(0, bins - 1)


def forward_loss(
    model: nn.Module,
    batch: Batch,
    settings: LossSettings | None = None,
    *,
    policy_total: float | None = None,
    value_total: float | None = None,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss of one (micro-)batch and what to report of it, all as detached scalars on the model's device.

    `model` is a Transformer or a DistributedDataParallel around one. Means are over the batch's own tokens and
    states, unless the totals of a larger step are given: then the losses of its micro-batches add up to the loss of
    the step.

    Metrics: loss, policy_loss (nats per token), value_loss (nats per state), token_accuracy, tactic_accuracy (all
    tokens right), value_error (mean |V - target| in steps), tokens, states. Sums behind these means are over this
    batch alone.
    """
    settings = settings or LossSettings()
    policy_logits, value_logits = model(batch.tokens, batch.policy_at, batch.value_at)
    policy_sum = F.cross_entropy(policy_logits, batch.targets, reduction="sum")
    bins = value_targets(batch.remaining_steps, value_logits.shape[-1])
    value_sum = F.cross_entropy(value_logits, bins, reduction="sum")
    tokens, states = max(1, batch.targets.numel()), max(1, bins.numel())
    loss = policy_sum / (policy_total or tokens) + settings.value_weight * value_sum / (value_total or states)
    with torch.no_grad():
        right = (policy_logits.argmax(-1) == batch.targets).float()
        row = batch.policy_at // batch.tokens.shape[1]
        wrong = torch.zeros(states, device=right.device).index_add_(0, row, 1 - right)
        metrics = {
            "loss": (policy_sum / tokens + settings.value_weight * value_sum / states).detach(),
            "policy_loss": (policy_sum / tokens).detach(),
            "value_loss": (value_sum / states).detach(),
            "token_accuracy": right.mean(),
            "tactic_accuracy": (wrong == 0).float().mean(),
            "value_error": (expected_value(value_logits) + bins).abs().mean(),
            "tokens": torch.tensor(float(tokens), device=right.device),
            "states": torch.tensor(float(states), device=right.device),
        }
    return loss, metrics


def merge_metrics(parts: list[dict[str, float]], settings: LossSettings | None = None) -> dict[str, float]:
    """Metrics of several batches as if they were one: token means weighted by tokens, state means by states, counts
    summed; `settings` are those of the loss."""
    tokens, states = sum(part["tokens"] for part in parts), sum(part["states"] for part in parts)
    merged = {"tokens": tokens, "states": states}
    for key in parts[0]:
        if key in ("policy_loss", "token_accuracy"):
            merged[key] = sum(part[key] * part["tokens"] for part in parts) / tokens
        elif key not in merged:
            merged[key] = sum(part[key] * part["states"] for part in parts) / states
    weight = (settings or LossSettings()).value_weight
    merged["loss"] = merged["policy_loss"] + weight * merged["value_loss"]
    return merged


@torch.inference_mode()
def evaluate_loss(model: nn.Module, batches: list[Batch], settings: LossSettings | None = None) -> dict[str, float]:
    """`forward_loss`'s metrics over all batches, without gradients."""
    parts = []
    for batch in batches:
        _, metrics = forward_loss(model, batch, settings)
        parts.append({key: float(value) for key, value in metrics.items()})
    return merge_metrics(parts, settings)
