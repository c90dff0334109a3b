"""The loss against autograd, its metrics against counting, and what a stage is said to cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from node.data.errors import NotFinite
from node.model.config import ModelConfig
from node.model.optimizer import OptimizerSettings
from node.model.transformer import Transformer, expected_value
from node.training import objective
from node.training.documents import Document
from node.training.estimate import flops_per_token
from node.training.loader import PackedBatch, collate
from node.training.objective import CALIBRATION_BINS, Objective, Totals, calibration, log_probabilities, report, two_hot
from node.training.settings import LossSettings, RateSettings
from node.training.trainer import RankDevice, StepSettings, Trainer, WeightAverage, put, weights_of
from tests.node.model.tiny import tiny_model
from tests.node.training.small import SHAPE


def documents(weights: Sequence[float] = (1.0,) * 7) -> list[Document]:
    generator = torch.Generator().manual_seed(3)
    found = []
    for number, weight in enumerate(weights):
        tokens = tuple(torch.randint(5, 300, (6 + 3 * number,), generator=generator).tolist())
        value = float(number % 4) if number % 3 else None
        found.append(Document(tokens, 3 + number, value, 10, weight=weight))
    return found


def by_autograd(
    states: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, weights: torch.Tensor, softcap: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    logits = states @ weight.T
    if softcap:
        logits = softcap * torch.tanh(logits / softcap)
    nats = F.cross_entropy(logits, targets, reduction="none")
    return (nats * weights).sum(), nats.detach(), logits.argmax(-1) == targets


@pytest.mark.parametrize("softcap", [0.0, 2.0])
def test_cross_entropy_in_blocks_equals_autograd(softcap: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "BLOCK_BYTES", 4 * 50 * 16)  # blocks of 16 positions, the last one smaller
    generator = torch.Generator().manual_seed(0)
    targets = torch.randint(0, 50, (37,), generator=generator)
    weights = torch.rand(37, generator=generator)
    parts = []
    for function in (objective.linear_cross_entropy, by_autograd):
        states = torch.randn(37, 8, generator=torch.Generator().manual_seed(1), requires_grad=True)
        matrix = torch.randn(50, 8, generator=torch.Generator().manual_seed(2), requires_grad=True)
        total, losses, right = function(states, matrix, targets, weights, softcap)
        (3 * total).backward()
        parts.append((total, losses, right.float(), states.grad, matrix.grad))
    for ours, theirs in zip(*parts, strict=True):
        assert ours is not None and theirs is not None
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_the_loss_of_a_packed_batch_is_that_of_its_documents() -> None:
    model = tiny_model(context=256)
    rows = documents()
    batch = collate([tuple(rows)], 128)
    settings = LossSettings(value_weight=0.5)
    objective = Objective(model, settings)
    tokens = sum(len(each.tokens) - each.prompt for each in rows)
    values = [each for each in rows if each.remaining_steps is not None]
    loss, sums = objective(batch, Totals(tokens, len(values)))
    metrics = report(sums, settings)
    nats, value_nats, errors, whole = 0.0, 0.0, 0.0, 0
    for each in rows:
        single = collate([(each,)], len(each.tokens))
        logits, value = model(single.tokens, single.policy_at, single.value_at)
        nats += float(F.cross_entropy(logits, single.targets, reduction="sum").detach())
        if each.remaining_steps is not None:
            value_nats += float(F.cross_entropy(value, torch.tensor([int(each.remaining_steps)])).detach())
            errors += float((-expected_value(value) - each.remaining_steps).abs().detach())
            whole += bool((logits.argmax(-1) == single.targets).all())
    assert float(loss.detach()) == pytest.approx(nats / tokens + 0.5 * value_nats / len(values), rel=1e-4)
    assert metrics["loss"] == pytest.approx(float(loss.detach()), rel=1e-5)
    assert metrics["bits_per_byte"] == pytest.approx(nats / math.log(2) / 70, rel=1e-4)
    assert metrics["value_error"] == pytest.approx(errors / len(values), rel=1e-4)
    assert metrics["tactic_accuracy"] == pytest.approx(whole / len(values))


def test_calibration_is_the_gap_between_confidence_and_hits() -> None:
    sure, unsure = torch.tensor([20.0, 0.0, 0.0]), torch.tensor([0.1, 0.0, 0.0])
    logits = torch.stack([sure, sure, sure, unsure])
    bins = calibration(logits, torch.tensor([0.0, 1.0, 1.0, 0.0]))
    assert bins[:, 0].sum() == 4 and bins[CALIBRATION_BINS - 1].tolist() == pytest.approx([3, 3, 1], abs=1e-3)
    gap = float((bins[:, 1] - bins[:, 2]).abs().sum()) / 4
    assert gap == pytest.approx((2 + 1 - float(unsure.softmax(-1)[0])) / 4, abs=1e-3)


def steps(settings: StepSettings, micro: int) -> tuple[list[float], dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    model = Transformer(SHAPE)
    model.reset(torch.Generator().manual_seed(0))
    trainer = Trainer(model, settings, RankDevice(torch.device("cpu"), bf16=False))
    rows = [(each,) for each in documents()[:6]]
    made = [collate(rows[start : start + micro], 32) for start in range(0, 6, micro)]
    return [trainer.step(made)["loss"] for _ in range(3)], model.state_dict()


def test_accumulated_and_recomputed_steps_are_the_same_steps() -> None:
    settings = StepSettings(OptimizerSettings(warmup=1))
    losses, weights = steps(settings, micro=6)
    assert losses[2] < losses[0]
    for other in (steps(settings, micro=2), steps(replace(settings, checkpoint_activations=True), micro=6)):
        assert other[0] == pytest.approx(losses, rel=1e-4) and other[1].keys() == weights.keys()
        assert all(torch.allclose(other[1][name], weights[name], atol=2e-3) for name in weights)


def test_two_hot_targets_have_their_mean_at_the_number_of_steps() -> None:
    targets = two_hot(torch.tensor([0.0, 2.0, 2.25, 7.0, 99.0]), 8)
    assert targets.sum(-1).tolist() == [1.0] * 5
    assert (targets @ torch.arange(8.0)).tolist() == pytest.approx([0, 2, 2.25, 7, 7])
    assert targets[2].nonzero()[:, 0].tolist() == [2, 3]


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_a_gradient_that_is_not_finite_stops_the_step_and_changes_nothing(number: float) -> None:
    trainer = Trainer(tiny_model(context=64), StepSettings(), RankDevice(torch.device("cpu"), bf16=False))
    batches: list[PackedBatch] = [collate([(each,) for each in documents()[:3]], 32)]
    trainer.step(batches)
    before = {name: value.clone() for name, value in trainer.model.state_dict().items()}
    # The loss stays finite: only the gradient shows the overflow.
    hook = trainer.model.blocks[0].feed_forward.up.weight.register_hook(lambda gradient: gradient * number)
    with pytest.raises(NotFinite):
        trainer.step(batches)
    assert trainer.step_number == 1
    assert all(torch.equal(value, before[name]) for name, value in trainer.model.state_dict().items())
    hook.remove()
    assert math.isfinite(trainer.step(batches)["loss"]) and trainer.step_number == 2


def test_rates_rise_stay_and_fall() -> None:
    rates = RateSettings(decay=0.5, floor=0.1)
    factors = [rates.factor(step, 100) for step in range(100)]
    assert factors == sorted(factors, reverse=True) and factors[:50] == [1.0] * 50
    assert factors[74] == pytest.approx(0.51) and factors[99] == 0.1


def test_operations_are_counted_as_torch_counts_them() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    shape = ModelConfig(vocab_size=500, depth=3, width=64, heads=4, kv_heads=2, hidden=128, context=64)
    model = Transformer(shape)
    tokens = torch.randint(5, 500, (2, 64))
    with FlopCounterMode(display=False) as counter:
        policy, value = model(tokens, torch.arange(128), torch.arange(0))
        (policy.sum() + value.sum()).backward()
    # Torch counts attention on some devices only, and there also the pairs behind the causal mask.
    counts = {str(name): count for name, count in counter.get_flop_counts()["Global"].items()}
    products = sum(count for name, count in counts.items() if "attention" not in name)
    assert flops_per_token(shape, 0) == pytest.approx(products / 128, rel=0.01)
    assert flops_per_token(shape, 64) - flops_per_token(shape, 0) == 12 * 64 * 32 * 3


WEIGHTS = (0.001, 2.5, 1.0, 0.02, 7.0)


def trainer() -> Trainer:
    return Trainer(tiny_model(context=128), StepSettings(), RankDevice(torch.device("cpu"), bf16=False))


def loss_and_gradient(batches: list[PackedBatch], of: Trainer) -> tuple[float, torch.Tensor]:
    """Of one step's batches, without the update."""
    totals = of._totals(batches)
    loss = sum((of.objective(batch, totals)[0] for batch in batches), torch.zeros(()))
    of.model.zero_grad()
    loss.backward()
    gradients = [each.grad.flatten() for each in of.model.parameters() if each.grad is not None]
    return float(loss.detach()), torch.cat(gradients)


def expected(rows: list[Document]) -> float:
    """The weighted mean, from each document's own log-probability."""
    found = log_probabilities(tiny_model(context=128), collate([(row,) for row in rows], 64)).tolist()
    weighed = sum(row.weight * -nats for row, nats in zip(rows, found, strict=True))
    return weighed / sum(row.weight * row.predicted for row in rows)


def test_the_loss_is_the_weighted_mean_over_tokens_however_rows_are_packed_and_reports_know_no_weights() -> None:
    rows = [replace(row, remaining_steps=None) for row in documents(WEIGHTS)]
    whole, gradient = loss_and_gradient([collate([tuple(rows)], 128)], trainer())
    assert whole == pytest.approx(expected(rows), rel=1e-5)
    split, other = loss_and_gradient([collate([(row,)], 64) for row in rows], trainer())
    assert split == pytest.approx(whole, rel=1e-5) and torch.allclose(gradient, other, atol=1e-5)
    settings, found = LossSettings(), []
    for weights in (WEIGHTS, (1.0,) * 5):
        batch = collate([tuple(documents(weights))], 128)
        _, sums = Objective(tiny_model(context=128), settings)(batch, Totals(batch.weight, 1.0))
        found.append(report(sums, settings))
    assert found[0] == found[1] and found[0]["value_loss"] > 0


@dataclass(frozen=True)
class OneOfTwo(RankDevice):
    """A rank whose sums over both ranks are known beforehand."""

    other: tuple[float, float] = (0.0, 0.0)

    def total(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor + torch.tensor(self.other, dtype=tensor.dtype)


def test_the_mean_over_ranks_is_the_weighted_mean_over_all_their_tokens() -> None:
    rows = [replace(row, remaining_steps=None) for row in documents(WEIGHTS)]
    shares = [collate([tuple(rows[:2])], 64), collate([tuple(rows[2:])], 64)]
    losses = []
    for mine, other in (shares, reversed(shares)):
        one = trainer()  # made alone: two ranks would look for each other
        one.device = OneOfTwo(torch.device("cpu"), bf16=False, ranks=2, other=(other.weight, 0.0))
        losses.append(loss_and_gradient([mine], one)[0])
    assert sum(losses) / 2 == pytest.approx(expected(rows), rel=1e-5)


def moved(model: nn.Module, by: float) -> None:
    """Add to every weight."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(by)


def test_an_average_moves_a_part_of_the_way_with_every_step_and_an_error_while_it_acts_leaves_the_latest_weights():
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
    latest = weights_of(model)
    with pytest.raises(OSError), average.acting(model):
        raise OSError("disk full")
    assert all(torch.equal(parameter, latest[name]) for name, parameter in model.named_parameters())
