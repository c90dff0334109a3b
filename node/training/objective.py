"""The loss of a packed batch, computed at predicted positions only, and the sums for all reported figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from node.model.transformer import Transformer, expected_value
from node.training.loader import PackedBatch
from node.training.settings import LossSettings, ValueTargets

# --- cross-entropy without storing all logits -------------------------------------------------------------------------
# (N, vocabulary) numbers never exist at once. The forward pass also computes the gradient, one block of positions at a
# time, while the block's logits are in the cache. It needs the same three matrix products as autograd, without
# autograd's passes over memory. This is the idea of Liger's and Apple's kernels (arXiv 2410.10989 and 2411.09009), in
# plain torch.

BLOCK_BYTES = 1 << 25
"""Bytes of a block's logits on a CPU: 166 positions with a vocabulary of 50,441. Products over 128 positions already
reach 67 GFLOP/s per core, and over 512 positions 75 (LOG.md). Larger blocks mostly take more memory."""

BLOCK_BYTES_CUDA = 1 << 29
"""Bytes of a block's logits on a GPU, where only the size of the products matters: half a GiB."""


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, weights: Tensor, softcap: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        needs_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        count, vocabulary = states.shape[0], weight.shape[0]
        limit = BLOCK_BYTES_CUDA if states.is_cuda else BLOCK_BYTES
        block = max(16, limit // (4 * vocabulary))
        losses = torch.empty(count, dtype=torch.float32, device=states.device)
        right = torch.empty(count, dtype=torch.bool, device=states.device)
        grad_states = torch.empty_like(states) if needs_gradient else None
        grad_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device) if needs_gradient else None
        factor = weight.to(states.dtype)
        # On a CPU, products with a contiguous transposed copy are half as fast again as with a transposed view.
        matrix = factor.T if states.is_cuda else factor.T.contiguous()
        memory = torch.empty(min(block, count), vocabulary, dtype=states.dtype, device=states.device)
        for start in range(0, count, block):
            part = slice(start, min(start + block, count))
            x, y, scale = states[part], targets[part, None], weights[part, None]
            logits = torch.mm(x, matrix, out=memory[: x.shape[0]]).float()
            slope = None
            if softcap:
                logits.div_(softcap).tanh_()
                slope = 1 - logits.square() if needs_gradient else None
                logits.mul_(softcap)
            top = logits.amax(dim=1)
            at = logits.gather(1, y)[:, 0] - top
            right[part] = at >= 0
            # In place on a CPU: softmax works on one row at a time in the core's cache, and the logits are not reused.
            shares = logits.softmax(1) if logits.is_cuda else torch.softmax(logits, 1, out=logits)
            losses[part] = -shares.amax(dim=1).log() - at
            if grad_states is None or grad_weight is None:
                continue
            shares.scatter_add_(1, y, torch.full_like(scale, -1.0))
            if slope is not None:
                shares.mul_(slope)
            grad = shares.to(states.dtype)
            grad_states[part] = (grad @ factor) * scale
            if grad.dtype == torch.float32:
                grad_weight.addmm_(grad.T, x * scale)
            else:
                grad_weight += grad.T @ (x * scale).to(grad.dtype)
        ctx.save_for_backward(grad_states, grad_weight)
        ctx.kinds = states.dtype, weight.dtype
        ctx.mark_non_differentiable(losses, right)
        return (losses * weights).sum(), losses, right

    @staticmethod
    def backward(ctx: Any, grad: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        grad_states, grad_weight = ctx.saved_tensors
        states, weight = ctx.kinds
        return (grad_states * grad).to(states), grad_weight.mul_(grad).to(weight), None, None, None


def linear_cross_entropy(
    states: Tensor, weight: Tensor, targets: Tensor, weights: Tensor, softcap: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """Σ weights · cross-entropy of `softcap`ped logits `states @ weight.T`, differentiable once in states and weight.

    states (N, width), weight (vocabulary, width), targets (N,) int64, weights (N,) float32. Returns the sum, each
    position's cross-entropy (N,) in nats, and whether its target is the likeliest (N,); the last two without gradients.
    """
    return _LinearCrossEntropy.apply(states, weight, targets, weights, softcap)


# --- the loss of a batch ----------------------------------------------------------------------------------------------

CALIBRATION_BINS = 10
"""Bins of confidence in the calibration error (Guo et al., arXiv 1706.04599, use 15 for far more samples)."""

SUMS = (
    "nats",
    "tokens",
    "right",
    "characters",
    "value_nats",
    "values",
    "value_error",
    "value_bias",
    "tactics",
    "first_right",
    "tactic_right",
)
"""The sums of a batch. After them come (samples, confidence, right) of each calibration bin."""


@dataclass(frozen=True)
class Totals:
    """Divisors that turn the sums of a whole step, on one rank's share, into means."""

    tokens: float
    """Sum of the weights of the predicted tokens."""
    values: float


def value_bins(remaining_steps: Tensor, bins: int) -> Tensor:
    """(M,) int64: bin b for b steps (rounded), the last bin for that many or more."""
    return remaining_steps.round().long().clamp(0, bins - 1)


def two_hot(remaining_steps: Tensor, bins: int) -> Tensor:
    """Probabilities (..., bins): s steps are 1 - (s - b) in bin b = floor(s) and s - b in the next one, so that their
    mean is s (the two-hot encoding of MuZero, arXiv 1911.08265, appendix F, without its rescaling)."""
    steps = remaining_steps.float().clamp(0, bins - 1)
    low = steps.floor()
    share = (steps - low)[..., None]
    first = F.one_hot(low.long(), bins)
    second = F.one_hot((low.long() + 1).clamp_max(bins - 1), bins)
    return first * (1 - share) + second * share


def value_loss(logits: Tensor, remaining_steps: Tensor, targets: ValueTargets) -> Tensor:
    """Cross-entropy of value logits (M, bins) in nats, summed over the M states."""
    bins = logits.shape[-1]
    if targets == "two-hot":
        return F.cross_entropy(logits, two_hot(remaining_steps, bins), reduction="sum")
    return F.cross_entropy(logits, value_bins(remaining_steps, bins), reduction="sum")


class Objective(nn.Module):
    """The network with its loss, as one module for DistributedDataParallel to wrap."""

    def __init__(self, model: Transformer, settings: LossSettings) -> None:
        super().__init__()
        self.model = model
        self.settings = settings

    def forward(self, batch: PackedBatch, totals: Totals) -> tuple[Tensor, Tensor]:
        """This micro-batch's part of the step's loss, and its unweighted sums: float64
        (len(SUMS) + 3 · CALIBRATION_BINS,)."""
        states = self.model.hidden(batch.tokens, documents=batch.documents).flatten(0, 1)
        if batch.weights is None:
            weights = torch.full(batch.targets.shape, 1 / totals.tokens, device=states.device)
        else:
            weights = batch.weights / totals.tokens
        predicted = states.index_select(0, batch.policy_at)
        matrix = self.model.policy.weight
        loss, nats, right = linear_cross_entropy(
            predicted.to(_dtype(predicted)), matrix, batch.targets, weights, self.model.config.softcap
        )
        logits = self.model.value(states.index_select(0, batch.value_at)).float()
        value = value_loss(logits, batch.remaining_steps, self.settings.value_targets)
        # A stage without values still gives the head's weights a gradient (of zero), which the ranks wait for.
        loss = loss + self.settings.value_weight * value / max(1.0, totals.values)
        return loss, sums(batch, nats, right, logits, value)


@torch.no_grad()
def log_probabilities(model: Transformer, batch: PackedBatch) -> Tensor:
    """(count,) float32: the log-probability in nats of the predicted tokens of each document, including its end."""
    states = model.hidden(batch.tokens, documents=batch.documents).flatten(0, 1)
    predicted = states.index_select(0, batch.policy_at)
    weights = torch.zeros(batch.targets.shape, device=states.device)
    _, nats, _ = linear_cross_entropy(
        predicted.to(_dtype(predicted)), model.policy.weight, batch.targets, weights, model.config.softcap
    )
    return -torch.zeros(batch.count, device=states.device).index_add_(0, batch.owner, nats.float())


def _dtype(states: Tensor) -> torch.dtype:
    """The dtype of autocast, which is not applied inside custom autograd functions."""
    kind = states.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype


@torch.no_grad()
def sums(batch: PackedBatch, nats: Tensor, right: Tensor, logits: Tensor, value: Tensor) -> Tensor:
    """SUMS and calibration of a batch, float64 on its device. `nats` and `right` (N,) by token."""
    device = nats.device
    # 1. Wrong tokens of each document, and which token begins one: tactics are right as a whole or not at all.
    wrong = torch.zeros(batch.count, device=device).index_add_(0, batch.owner, (~right).float())
    first = torch.ones_like(batch.owner, dtype=torch.bool)
    first[1:] = batch.owner[1:] != batch.owner[:-1]
    # 2. A value belongs to a state with a tactic, so that the documents that have one are the tactics.
    of_tactic = torch.zeros(batch.count, dtype=torch.bool, device=device)
    of_tactic[batch.valued] = True
    steps = batch.remaining_steps.clamp(0, logits.shape[-1] - 1)
    # 3. Predicted minus actual steps, both positive numbers: a value is minus the steps that remain.
    difference = -expected_value(logits) - steps
    numbers = [
        nats.double().sum(),
        batch.targets.numel(),
        right.sum(),
        batch.characters,
        value.detach(),
        steps.numel(),
        difference.abs().sum(),
        difference.sum(),
        of_tactic.sum(),
        (first & right & of_tactic[batch.owner]).sum(),
        ((wrong == 0) & of_tactic).sum(),
    ]
    # 4. In float64, because float32 cannot count single tokens beyond 2**24. One tensor, so that ranks add theirs in
    # one go.
    plain = torch.stack([torch.as_tensor(number, dtype=torch.float64, device=device) for number in numbers])
    return torch.cat([plain, calibration(logits, steps).flatten()])


def calibration(logits: Tensor, steps: Tensor) -> Tensor:
    """(CALIBRATION_BINS, 3) float64: samples, summed confidence and hits of the likeliest value bin, by confidence."""
    confidence, bin = logits.softmax(-1).max(-1)
    hit = (bin == steps.round().long()).double()
    place = (confidence.nan_to_num() * CALIBRATION_BINS).long().clamp_max(CALIBRATION_BINS - 1)
    columns = torch.stack([torch.ones_like(hit), confidence.double(), hit], dim=1)
    return torch.zeros(CALIBRATION_BINS, 3, dtype=torch.float64, device=logits.device).index_add_(0, place, columns)


def report(total: Tensor, settings: LossSettings) -> dict[str, float]:
    """Computes means from sums over all batches and ranks.

    loss, policy_loss (nats a token), bits_per_byte (of predicted text), token_accuracy; where there are values, also
    value_loss (nats), value_error (mean |V - target|, steps), value_bias (predicted minus actual steps), first_token
    and tactic_accuracy (all its tokens right, greedily), value_calibration (expected calibration error of the likeliest
    bin, arXiv 1706.04599, equation 3).
    """
    found = dict(zip(SUMS, total.tolist(), strict=False))
    # 1. The policy. Nothing measured yet: 0, not a division by it.
    tokens, values, tactics = max(1.0, found["tokens"]), found["values"], found["tactics"]
    result = {
        "policy_loss": found["nats"] / tokens,
        "bits_per_byte": found["nats"] / math.log(2) / max(1.0, found["characters"]),
        "token_accuracy": found["right"] / tokens,
        "tokens": found["tokens"],
    }
    result["loss"] = result["policy_loss"]
    # 2. Data without values has no measures of them, rather than zeros that look perfect.
    if values:
        result["value_loss"] = found["value_nats"] / values
        result["loss"] += settings.value_weight * result["value_loss"]
        result["value_error"] = found["value_error"] / values
        result["value_bias"] = found["value_bias"] / values
        result["first_token_accuracy"] = found["first_right"] / max(1.0, tactics)
        result["tactic_accuracy"] = found["tactic_right"] / max(1.0, tactics)
        # Each bin has its number, its confidence and its hits: the error is weighted by the number.
        bins = total[len(SUMS) :].reshape(CALIBRATION_BINS, 3)
        result["value_calibration"] = float((bins[:, 1] - bins[:, 2]).abs().sum()) / values
    return result
