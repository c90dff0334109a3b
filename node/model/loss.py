"""The training loss: cross-entropy of the tactic, and a little of the value (AlphaProof, learner)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    value_targets: Literal["one-hot", "two-hot"] = "one-hot"
    """What the value is trained on: the nearest bin, or the two bins around a number of steps that is no whole one,
    such that their mean is that number."""
    after_weight: float = 0.0
    """Weight of predicting the state after the tactic, in batches that hold it; 0: it is not computed."""


def value_targets(remaining_steps: Tensor, bins: int) -> Tensor:
    """One-hot bins as class indices: b for b steps, the last bin for that many or more."""
    if remaining_steps.is_floating_point():
        remaining_steps = remaining_steps.round().long()
    return remaining_steps.clamp(0, bins - 1)


def two_hot(remaining_steps: Tensor, bins: int) -> Tensor:
    """Probabilities (..., bins): s steps are 1 - (s - b) in bin b = floor(s) and s - b in the next one, so that their
    mean is s (the two-hot encoding of MuZero, arXiv 1911.08265, appendix F, without its rescaling)."""
    steps = remaining_steps.float().clamp(0, bins - 1)
    low = steps.floor()
    share = (steps - low)[..., None]
    first = F.one_hot(low.long(), bins)
    second = F.one_hot((low.long() + 1).clamp_max(bins - 1), bins)
    return first * (1 - share) + second * share


def value_loss(logits: Tensor, remaining_steps: Tensor, kind: str) -> Tensor:
    """Cross-entropy of value logits (M, bins), summed over the M states."""
    bins = logits.shape[-1]
    if kind == "two-hot":
        return F.cross_entropy(logits, two_hot(remaining_steps, bins), reduction="sum")
    return F.cross_entropy(logits, value_targets(remaining_steps, bins), reduction="sum")


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
    tokens right), value_error (mean |V - target| in steps), tokens, states, and after_loss (nats per token of the
    state after the tactic) where `after_weight` is set and the batch has such tokens. Sums behind these means are over
    this batch alone.
    """
    settings = settings or LossSettings()
    policy_at, count = batch.policy_at, batch.targets.numel()
    if settings.after_weight > 0 and batch.after_at is not None:
        policy_at = torch.cat([policy_at, batch.after_at])
    logits, value_logits = model(batch.tokens, policy_at, batch.value_at)
    tokens, states = max(1, count), max(1, batch.remaining_steps.numel())
    policy_logits = logits[:count]
    policy_sum = F.cross_entropy(policy_logits, batch.targets, reduction="sum")
    value_sum = value_loss(value_logits, batch.remaining_steps, settings.value_targets)
    loss = policy_sum / (policy_total or tokens) + settings.value_weight * value_sum / (value_total or states)
    extra: dict[str, Tensor] = {}
    if settings.after_weight > 0:
        after = _after_loss(logits[count:], batch)
        # A share of the step as large as this batch's share of the step's tactics.
        loss = loss + settings.after_weight * after * (tokens / (policy_total or tokens))
        extra = {"after_loss": after.detach(), "after_tokens": torch.tensor(float(logits[count:].shape[0]))}
    with torch.no_grad():
        right = (policy_logits.argmax(-1) == batch.targets).float()
        row = batch.policy_at // batch.tokens.shape[1]
        steps = batch.remaining_steps.clamp(0, value_logits.shape[-1] - 1)
        wrong = torch.zeros(states, device=right.device).index_add_(0, row, 1 - right)
        metrics = {
            "loss": (policy_sum / tokens + settings.value_weight * value_sum / states).detach()
            + settings.after_weight * extra.get("after_loss", 0.0),
            "policy_loss": (policy_sum / tokens).detach(),
            "value_loss": (value_sum / states).detach(),
            "token_accuracy": right.mean(),
            "tactic_accuracy": (wrong == 0).float().mean(),
            "value_error": (expected_value(value_logits) + steps).abs().mean(),
            "tokens": torch.tensor(float(tokens), device=right.device),
            "states": torch.tensor(float(states), device=right.device),
            **extra,
        }
    return loss, metrics


def _after_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Mean cross-entropy of the tokens of the states after; 0 for a batch without any."""
    if batch.after_targets is None:
        return torch.zeros((), device=batch.tokens.device)
    return F.cross_entropy(logits, batch.after_targets)


def merge_metrics(parts: list[dict[str, float]], settings: LossSettings | None = None) -> dict[str, float]:
    """Metrics of several batches as if they were one: token means weighted by tokens, state means by states, counts
    summed; `settings` are those of the loss."""
    tokens, states = sum(part["tokens"] for part in parts), sum(part["states"] for part in parts)
    merged = {"tokens": tokens, "states": states}
    if "after_loss" in parts[0]:
        merged["after_tokens"] = sum(part["after_tokens"] for part in parts)
        total = sum(part["after_loss"] * part["after_tokens"] for part in parts)
        merged["after_loss"] = total / max(1.0, merged["after_tokens"])
    for key in parts[0]:
        if key in ("policy_loss", "token_accuracy"):
            merged[key] = sum(part[key] * part["tokens"] for part in parts) / tokens
        elif key not in merged:
            merged[key] = sum(part[key] * part["states"] for part in parts) / states
    settings = settings or LossSettings()
    merged["loss"] = merged["policy_loss"] + settings.value_weight * merged["value_loss"]
    merged["loss"] += settings.after_weight * merged.get("after_loss", 0.0)
    return merged


@torch.inference_mode()
def evaluate_loss(model: nn.Module, batches: list[Batch], settings: LossSettings | None = None) -> dict[str, float]:
    """`forward_loss`'s metrics over all batches, without gradients."""
    parts = []
    for batch in batches:
        _, metrics = forward_loss(model, batch, settings)
        parts.append({key: float(value) for key, value in metrics.items()})
    return merge_metrics(parts, settings)
