"""The moving average of weights: what it is after some steps, and that the network trains on with the latest ones."""

import pytest
import torch
from torch import nn

from node.training.trainer import WeightAverage, put, weights_of


def moved(model: nn.Module, by: float) -> None:
    """Add to every weight."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(by)


def test_it_moves_a_part_of_the_way_with_every_step():
    model = nn.Linear(1, 1)
    put(model, {"weight": torch.zeros(1, 1), "bias": torch.zeros(1)})
    average = WeightAverage(model, 4)
    for _ in range(2):
        moved(model, 1.0)
        average.update(model)
    with average.acting(model):
        # 1/4 of 1, then 3/4 of that and 1/4 of 2
        assert model.weight.item() == pytest.approx(0.25 * 0.75 + 0.5)
    assert model.weight.item() == 2.0


def test_an_error_while_it_acts_leaves_the_latest_weights():
    model = nn.Linear(2, 2)
    average = WeightAverage(model, 10)
    moved(model, 1.0)
    latest = weights_of(model)
    with pytest.raises(OSError), average.acting(model):
        raise OSError("disk full")
    assert all(torch.equal(parameter, latest[name]) for name, parameter in model.named_parameters())
