"""The optimizer: Muon for the matrices inside the blocks, AdamW for embeddings, heads and gains, with gradient clipping
and a learning-rate schedule.

torch.optim.Muon is not used, because it orthogonalizes one matrix at a time in bfloat16, which many CPUs only emulate.
It takes 883 ms a step for the demo's 24 matrices on one core. The version here takes 41 ms, with same-shaped matrices
in one batch and float32 on CPU (LOG.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic iteration (Jordan et al., "Muon", 2024): steep at zero, five steps suffice."""
NEWTON_SCHULZ_STEPS = 5
RMS_MATCH = 0.2
"""Scale that gives Muon's update the root mean square of a typical AdamW update (arXiv 2502.16982, equation 4)."""


@dataclass(frozen=True)
class OptimizerSettings:
    """Learning rates and schedule."""

    matrix_rate: float = 0.01
    """Learning rate of Muon (update scaled to AdamW's size)."""
    rate: float = 0.003
    """Learning rate of AdamW: embedding, policy and value heads, gains."""
    momentum: float = 0.95
    """Muon's (Nesterov) momentum."""
    weight_decay: float = 0.01
    """Decoupled weight decay of the matrices; embeddings, heads and gains have none."""
    clip: float = 1.0
    """Maximum norm of the whole gradient; larger gradients are scaled down."""
    warmup: int = 20
    """Steps over which the learning rates rise linearly."""


def orthogonalize(update: Tensor) -> Tensor:
    """Nearest semi-orthogonal matrices of a batch (N, rows, columns), by Newton-Schulz: singular values end near 1."""
    a, b, c = NEWTON_SCHULZ
    x = update.bfloat16() if update.is_cuda else update.float()
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.mT
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(NEWTON_SCHULZ_STEPS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if tall else x).to(update.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum orthogonalized by Newton-Schulz (Jordan et al., 2024), scaled to AdamW's size: 0.2 * sqrt(max(rows,
    columns)).

    All parameters must be matrices. Matrices of equal shape are updated as one batch.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """One update of every parameter that has a gradient."""
        for group in self.param_groups:
            by_shape: dict[tuple[int, ...], list[Tensor]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(tuple(parameter.shape), []).append(parameter)
            for parameters in by_shape.values():
                self._update(group, parameters)

    def _update(self, group: dict[str, Any], parameters: list[Tensor]) -> None:
        momentum = group["momentum"]
        directions = []
        for parameter in parameters:
            gradient = parameter.grad
            assert gradient is not None  # `step` passes only parameters with a gradient
            state = self.state[parameter]
            buffer = state.setdefault("momentum_buffer", torch.zeros_like(parameter))
            buffer.lerp_(gradient, 1 - momentum)
            directions.append(gradient.lerp(buffer, momentum))
        updates = orthogonalize(torch.stack(directions)).unbind(0)
        scale = RMS_MATCH * math.sqrt(max(parameters[0].shape))
        for parameter, update in zip(parameters, updates, strict=True):
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(update, alpha=-group["lr"] * scale)


class Optimizer:
    """Both optimizers behind one step, with clipping and warm-up."""

    def __init__(self, model: nn.Module, settings: OptimizerSettings | None = None) -> None:
        self.settings = settings or OptimizerSettings()
        matrices, others = split_parameters(model)
        self.parameters = matrices + others
        self.muon = Muon(matrices, self.settings.matrix_rate, self.settings.momentum, self.settings.weight_decay)
        self.adamw = torch.optim.AdamW(
            others, lr=self.settings.rate, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.0, fused=True
        )
        self.steps = 0

    def clip(self) -> float:
        """Scale the gradient down to the maximum norm; returns its norm before that."""
        return float(nn.utils.clip_grad_norm_(self.parameters, self.settings.clip))

    def update(self, factor: float = 1.0) -> None:
        """Update the parameters and clear the gradients. `factor` scales the learning rates (decay)."""
        self.steps += 1
        factor *= min(1.0, self.steps / max(1, self.settings.warmup))
        self._set_rates(self.muon, self.settings.matrix_rate * factor)
        self._set_rates(self.adamw, self.settings.rate * factor)
        self.muon.step()
        self.adamw.step()
        self.zero_grad()

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    @staticmethod
    def _set_rates(optimizer: torch.optim.Optimizer, rate: float) -> None:
        for group in optimizer.param_groups:
            group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "muon": self.muon.state_dict(), "adamw": self.adamw.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state. Raises KeyError or ValueError if it belongs to another network."""
        self.muon.load_state_dict(state["muon"])
        self.adamw.load_state_dict(state["adamw"])
        self.steps = int(state["steps"])


def split_parameters(model: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """(matrices inside the blocks, all other parameters): the first for Muon, the second for AdamW."""
    matrices: list[Tensor] = []
    others: list[Tensor] = []
    for name, parameter in model.named_parameters():
        (matrices if "blocks." in name and parameter.ndim == 2 else others).append(parameter)
    return matrices, others
