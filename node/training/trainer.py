"""The training step (forward, backward, update, over all ranks) and evaluation, for the stages and for reinforcement
learning. It does not use files, data formats or clocks."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint as recomputed

from common.life import faults
from node.data.errors import NotFinite
from node.model.optimizer import Optimizer, OptimizerSettings
from node.model.ranks import data_parallel
from node.model.transformer import Transformer
from node.training.device import RankDevice
from node.training.objective import CALIBRATION_BINS, SUMS, LossSettings, Objective, Totals, log_probabilities, report
from node.training.packing import PackedBatch


@dataclass(frozen=True)
class StepSettings:
    """What a step does, wherever it runs."""

    optimizer: OptimizerSettings = field(default_factory=OptimizerSettings)
    """Learning rates before `factor`, clipping, warm-up."""
    loss: LossSettings = field(default_factory=LossSettings)
    """What the loss is made of."""
    compile: bool = False
    """Compile the network with torch.compile."""
    checkpoint_activations: bool = False
    """Keep no activations inside blocks and compute them again: less memory, a third more work."""


class Trainer:
    """The network and its optimizer, on one rank of a group."""

    def __init__(self, model: Transformer, settings: StepSettings, device: RankDevice) -> None:
        self.settings, self.device = settings, device
        self.model = model.to(device.device).train()
        self.optimizer = Optimizer(self.model, settings.optimizer)
        self.step_number = 0
        prepare(self.model, compiled=settings.compile, thrifty=settings.checkpoint_activations)
        self.objective: nn.Module = Objective(self.model, settings.loss)
        if device.ranks > 1:
            self.objective = data_parallel(self.objective)

    def step(self, batches: Sequence[PackedBatch], factor: float = 1.0) -> dict[str, float]:
        """One update from this rank's micro-batches (at least one); the mean gradient is that of all ranks' batches as
        one. `factor` scales the learning rates.

        Returns the metrics of all batches before the update, and the gradient's norm before clipping. Raises NotFinite
        on every rank when loss or gradient is not a finite number; then nothing has changed.
        """
        totals = self._totals(batches)
        summed = self._empty()
        for number, batch in enumerate(batches):
            with self._synchronised(number == len(batches) - 1):
                with self.device.precision():
                    loss, sums = self.objective(batch.to(self.device.device), totals)
                loss.backward()
            summed += sums
        faults.reach(f"trainer-{self.device.rank}:in-step")
        metrics = report(self.device.total(summed), self.settings.loss)
        norm = self.optimizer.clip()
        if not (math.isfinite(metrics["loss"]) and math.isfinite(norm)):
            self.optimizer.zero_grad()
            raise NotFinite(
                f"step {self.step_number + 1}: the loss is {metrics['loss']:g}, the gradient's norm {norm:g}"
            )
        self.optimizer.update(factor)
        self.step_number += 1
        return {**metrics, "gradient_norm": norm}

    @torch.no_grad()
    def evaluate(self, batches: Sequence[PackedBatch]) -> dict[str, float]:
        """Metrics of all ranks' batches, without an update. A rank may have none."""
        self.model.eval()
        summed = self._empty()
        objective = self.objective.module if isinstance(self.objective, DistributedDataParallel) else self.objective
        for batch in batches:
            with self.device.precision():
                summed += objective(batch.to(self.device.device), Totals(1.0, 1.0))[1]
        self.model.train()
        return report(self.device.total(summed), self.settings.loss)

    @torch.no_grad()
    def log_probabilities(self, batches: Sequence[PackedBatch]) -> list[float]:
        """Log-probability, in nats, of the predicted tokens of each document of this rank's batches, in order."""
        self.model.eval()
        found: list[float] = []
        for batch in batches:
            with self.device.precision():
                found += log_probabilities(self.model, batch.to(self.device.device)).tolist()
        self.model.train()
        return found

    def _totals(self, batches: Sequence[PackedBatch]) -> Totals:
        counts = [
            sum(batch.weight for batch in batches),
            sum(batch.value_at.numel() for batch in batches),
            sum(batch.after_at.numel() for batch in batches),
        ]
        everywhere = self.device.total(torch.tensor(counts, dtype=torch.float64, device=self.device.device))
        # DistributedDataParallel averages over ranks, so the totals that divide the sums are those of one rank's share.
        tokens, values, after = (everywhere / self.device.ranks).tolist()
        return Totals(tokens or 1.0 / self.device.ranks, values, after)

    def _empty(self) -> Tensor:
        return torch.zeros(len(SUMS) + 3 * CALIBRATION_BINS, dtype=torch.float64, device=self.device.device)

    def _synchronised(self, last: bool) -> contextlib.AbstractContextManager[None]:
        """Gradients are averaged over the ranks with the last micro-batch only."""
        if isinstance(self.objective, DistributedDataParallel) and not last:
            return self.objective.no_sync()
        return contextlib.nullcontext()


def prepare(model: Transformer, *, compiled: bool, thrifty: bool) -> None:
    """Compile the network, or let blocks forget their activations, without a change to names in its state."""
    if thrifty:
        for block in model.blocks:
            plain: Any = block.forward
            block.forward = functools.partial(recomputed, plain, use_reentrant=False)
    if compiled:
        model.hidden = torch.compile(model.hidden)  # type: ignore[method-assign]
