"""The moving average of a network's weights: it is published, while training continues with the latest weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """Exponential moving average of the parameters (Polyak and Juditsky, SIAM J. Control Optim. 30, 1992, average all;
    Tarvainen and Valpola, arXiv 1703.01780, exponentially). A few large steps hardly move it, many carry it along."""

    def __init__(self, model: nn.Module, steps: float) -> None:
        """Begin with the current weights. `steps`: time constant of the average in steps; at least 1."""
        self._share = 1.0 / max(1.0, steps)
        self._mean = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Add the weights after a step to the average."""
        for name, parameter in model.named_parameters():
            self._mean[name].lerp_(parameter, self._share)

    @contextmanager
    def acting(self, model: nn.Module) -> Iterator[None]:
        """Put the average into the network for as long as the block lasts."""
        latest = weights_of(model)
        put(model, self._mean)
        try:
            yield
        finally:
            put(model, latest)


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A copy of the parameters, by name."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@torch.no_grad()
def put(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give a network these parameters. Raises KeyError where one is missing."""
    for name, parameter in model.named_parameters():
        parameter.copy_(weights[name])
