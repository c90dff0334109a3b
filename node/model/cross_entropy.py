"""Cross-entropy over a large vocabulary without storing all logits: (N, vocabulary) numbers never exist at once.

The forward pass also computes the gradient, one block of positions at a time, while the block's logits are in the
cache. It needs the same three matrix products as autograd, without autograd's passes over memory. This is the idea of
Liger's and Apple's kernels (arXiv 2410.10989 and 2411.09009), in plain torch.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

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


def reference(
    states: Tensor, weight: Tensor, targets: Tensor, weights: Tensor, softcap: float = 0.0
) -> tuple[Tensor, Tensor, Tensor]:
    """The same computation with autograd, for tests and comparisons."""
    logits = (states @ weight.T).float()
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    losses = F.cross_entropy(logits, targets, reduction="none")
    return (losses * weights).sum(), losses.detach(), logits.argmax(-1) == targets
