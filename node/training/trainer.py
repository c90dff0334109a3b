"""One rank's steps: forward, backward, update; evaluation. Knows no files, no data formats and no clock."""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint as recomputed

from common import faults
from node.model.optimizer import Optimizer, OptimizerSettings
from node.model.ranks import data_parallel
from node.model.transformer import Transformer
from node.training.errors import NotFinite
from node.training.machine import RankDevice
from node.training.objective import CALIBRATION_BINS, SUMS, Objective, Totals, report
from node.training.packing import PackedBatch
from node.training.settings import RateSettings, StageSettings


class Trainer:
    """The network and its optimizer."""

    def __init__(self, model: Transformer, settings: StageSettings, machine: RankDevice) -> None:
        self.settings, self.machine = settings, machine
        self.model = model.to(machine.device).train()
        self.optimizer = Optimizer(self.model, optimizer_settings(settings.rates))
        self.step_number = 0
        prepare(self.model, compiled=settings.compile, thrifty=settings.checkpoint_activations)
        self.objective: nn.Module = Objective(self.model, settings.value_weight, settings.value_targets)
        if machine.ranks > 1:
            self.objective = data_parallel(self.objective)

    def step(self, batches: Sequence[PackedBatch]) -> dict[str, float]:
        """One update from this rank's micro-batches; the mean gradient is that of all ranks' batches as one.

        Returns the metrics of all of them, before the update. Raises NotFinite, and then nothing has changed.
        """
        totals = self._totals(batches)
        summed = self._empty()
        for number, batch in enumerate(batches):
            with self._synchronised(number == len(batches) - 1):
                with self.machine.precision():
                    loss, sums = self.objective(batch.to(self.machine.device), totals)
                loss.backward()
            summed += sums
        faults.reach(f"training-{self.machine.rank}:in-step")
        metrics = report(self.machine.total(summed), self.settings.value_weight)
        norm = self.optimizer.clip()
        if not (math.isfinite(metrics["loss"]) and math.isfinite(norm)):
            self.optimizer.zero_grad()
            raise NotFinite(
                f"step {self.step_number + 1}: the loss is {metrics['loss']:g}, the gradient's norm {norm:g}"
            )
        self.optimizer.update(self.settings.rates.factor(self.step_number, self.settings.steps))
        self.step_number += 1
        return {**metrics, "gradient_norm": norm}

    @torch.no_grad()
    def evaluate(self, batches: Sequence[PackedBatch]) -> dict[str, float]:
        """Metrics of all ranks' batches, without an update."""
        self.model.eval()
        summed = self._empty()
        for batch in batches:
            with self.machine.precision():
                inner = self.objective.module if self.machine.ranks > 1 else self.objective
                assert isinstance(inner, nn.Module)
                summed += inner(batch.to(self.machine.device), Totals(1.0, 1.0))[1]
        self.model.train()
        return report(self.machine.total(summed), self.settings.value_weight)

    def _totals(self, batches: Sequence[PackedBatch]) -> Totals:
        counts = [sum(batch.targets.numel() for batch in batches), sum(len(batch.value_at) for batch in batches)]
        total = self.machine.total(torch.tensor(counts, dtype=torch.float64, device=self.machine.device)).tolist()
        # DistributedDataParallel averages over ranks, so the totals that divide the sums are those of one rank's share.
        return Totals(max(1.0, total[0]) / self.machine.ranks, total[1] / self.machine.ranks)

    def _empty(self) -> Tensor:
        return torch.zeros(len(SUMS) + 3 * CALIBRATION_BINS, dtype=torch.float64, device=self.machine.device)

    def _synchronised(self, last: bool) -> contextlib.AbstractContextManager[None]:
        """Gradients are averaged over the ranks with the last micro-batch only."""
        if isinstance(self.objective, DistributedDataParallel) and not last:
            return self.objective.no_sync()
        return contextlib.nullcontext()


def optimizer_settings(rates: RateSettings) -> OptimizerSettings:
    return OptimizerSettings(
        matrix_rate=rates.matrix_rate,
        rate=rates.rate,
        momentum=rates.momentum,
        weight_decay=rates.weight_decay,
        clip=rates.clip,
        warmup=rates.warmup,
    )


def prepare(model: Transformer, *, compiled: bool, thrifty: bool) -> None:
    """Compile the network, or let blocks forget their activations, without a change to names in its state."""
    if thrifty:
        for block in model.blocks:
            plain: Any = block.forward
            block.forward = functools.partial(recomputed, plain, use_reentrant=False)
    if compiled:
        model.hidden = torch.compile(model.hidden, dynamic=False)  # type: ignore[method-assign]
