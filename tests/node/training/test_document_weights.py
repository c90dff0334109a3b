"""Weights of documents in the loss: a weighted mean over tokens, and what is reported knows nothing of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
import torch

from node.model.optimizer import OptimizerSettings
from node.training.documents import Document
from node.training.loader import PackedBatch, collate
from node.training.objective import Objective, Totals, log_probabilities, report
from node.training.settings import LossSettings
from node.training.trainer import RankDevice, StepSettings, Trainer
from tests.node.model.tiny import tiny_model

torch.set_num_threads(1)

WEIGHTS = (0.001, 2.5, 1.0, 0.02, 7.0)


def documents(weights: tuple[float, ...] = WEIGHTS) -> list[Document]:
    generator = torch.Generator().manual_seed(3)
    found = []
    for number, weight in enumerate(weights):
        tokens = tuple(torch.randint(5, 300, (6 + 3 * number,), generator=generator).tolist())
        value = float(number) if number == 2 else None
        found.append(Document(tokens, 3 + number, value, 10, weight=weight))
    return found


def trainer(device: RankDevice | None = None) -> Trainer:
    settings = StepSettings(OptimizerSettings(warmup=1))
    return Trainer(tiny_model(context=128), settings, device or RankDevice(torch.device("cpu"), bf16=False))


def loss_and_gradient(batches: list[PackedBatch], of: Trainer) -> tuple[float, torch.Tensor]:
    """Of one step's batches, without the update."""
    totals = of._totals(batches)
    loss = torch.zeros(())
    for batch in batches:
        loss = loss + of.objective(batch, totals)[0]
    of.model.zero_grad()
    loss.backward()
    return float(loss.detach()), torch.cat(
        [each.grad.flatten() for each in of.model.parameters() if each.grad is not None]
    )


def expected(rows: list[Document]) -> float:
    """The weighted mean, from each document's own log-probability."""
    found = log_probabilities(tiny_model(context=128), collate([(row,) for row in rows], 64)).tolist()
    weighed = sum(row.weight * -nats for row, nats in zip(rows, found, strict=True))
    return weighed / sum(row.weight * row.predicted for row in rows)


def test_the_loss_is_the_weighted_mean_over_tokens_however_rows_are_packed_and_cut_into_batches() -> None:
    rows = [replace(row, remaining_steps=None) for row in documents()]
    whole, gradient = loss_and_gradient([collate([tuple(rows)], 128)], trainer())
    assert whole == pytest.approx(expected(rows), rel=1e-5)
    parts = [collate([(row,)], 64) for row in rows]
    split, other = loss_and_gradient(parts, trainer())
    assert split == pytest.approx(whole, rel=1e-5) and torch.allclose(gradient, other, atol=1e-5)


@dataclass(frozen=True)
class OneOfTwo(RankDevice):
    """A rank whose sums over both ranks are known beforehand."""

    other: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def total(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor + torch.tensor(self.other, dtype=tensor.dtype)


def test_the_mean_over_ranks_is_the_weighted_mean_over_all_their_tokens() -> None:
    rows = [replace(row, remaining_steps=None) for row in documents()]
    shares = [collate([tuple(rows[:2])], 64), collate([tuple(rows[2:])], 64)]
    losses = []
    for mine, other in (shares, reversed(shares)):
        one = trainer()  # made alone: two ranks would look for each other
        one.device = OneOfTwo(torch.device("cpu"), bf16=False, ranks=2, other=(other.weight, 0.0, 0.0))
        losses.append(loss_and_gradient([mine], one)[0])
    assert sum(losses) / 2 == pytest.approx(expected(rows), rel=1e-5)


def test_what_is_reported_knows_no_weights() -> None:
    settings = LossSettings()
    found = []
    for weights in (WEIGHTS, (1.0,) * 5):
        batch = collate([tuple(documents(weights))], 128)
        found.append(
            report(Objective(tiny_model(context=128), settings)(batch, Totals(batch.weight, 1.0))[1], settings)
        )
    assert found[0] == found[1] and found[0]["value_loss"] > 0
