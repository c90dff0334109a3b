"""A rank's part of the training: steps, losses, files. Knows torch, and nothing of pipes, brokers or clocks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from common import faults
from node.learner.replay.segments import SegmentReader
from node.learner.trainer.messages import Picks, RankConfig
from node.model import checkpoint, weights
from node.model.batches import Batch, Example, encode_transition, make_batches
from node.model.loss import LossSettings, forward_loss, merge_metrics
from node.model.optimizer import Optimizer, OptimizerSettings
from node.model.ranks import data_parallel

CACHED_EXAMPLES = 50_000
"""Encoded transitions kept: some 100 MB at most. Encoding takes about 30 µs, so the rest is encoded when
needed."""


class NotFinite(ArithmeticError):
    """The loss is not a number any more: the step was not taken."""


class Training:
    """The network, its optimizer and its data, on one rank of a group."""

    def __init__(self, config: RankConfig) -> None:
        self.config = config
        self.device = torch.device(f"cuda:{config.rank}" if config.device == "cuda" else config.device)
        loaded = checkpoint.load(Path(config.checkpoint))
        self.tokenizer, self.step_number, self.run_config = loaded.tokenizer, loaded.step, loaded.config
        self.model = loaded.model.to(self.device).train()
        self.module: nn.Module = self.model
        if config.ranks > 1:
            self.module = data_parallel(self.model)
        self.loss = LossSettings(config.value_weight)
        settings = OptimizerSettings(matrix_rate=config.matrix_rate, rate=config.rate, warmup=config.warmup)
        self.optimizer = Optimizer(self.model, settings)
        if loaded.optimizer is not None:
            self.optimizer.load_state_dict(loaded.optimizer)
        self._readers: dict[str, SegmentReader] = {}
        self._examples: dict[tuple[str, int], Example] = {}

    # --- data -------------------------------------------------------------------------------------------------------

    def examples(self, picks: Picks) -> list[Example]:
        """The picked transitions as tokens, longest first, so that ranks get equal shares of long and short ones."""
        found = [self._example(base, position) for base, positions in picks for position in positions]
        return sorted(found, key=lambda example: -len(example.tokens))

    def _example(self, base: str, position: int) -> Example:
        example = self._examples.get((base, position))
        if example is None:
            reader = self._readers.setdefault(base, SegmentReader(Path(base)))
            example = encode_transition(self.tokenizer, reader.read(position), self.model.config.context)
            if len(self._examples) >= CACHED_EXAMPLES:
                self._examples.clear()
            self._examples[base, position] = example
        return example

    def _mine(self, examples: list[Example]) -> list[Batch]:
        """This rank's micro-batches. Raises ValueError for fewer examples than ranks."""
        if len(examples) < self.config.ranks:
            raise ValueError(
                f"a batch of {len(examples)} transitions cannot be divided among {self.config.ranks} ranks"
            )
        return make_batches(examples[self.config.rank :: self.config.ranks], self.config.token_budget)

    # --- steps ------------------------------------------------------------------------------------------------------

    def step(self, picks: Picks, factor: float) -> dict[str, float]:
        """One optimizer step on all picked transitions, over all ranks; the mean gradient is that of one large batch.

        Returns the metrics of the whole batch, before the step. Raises NotFinite, and then nothing has changed.
        """
        examples = self.examples(picks)
        # DistributedDataParallel averages over ranks, so the totals that divide the sums are those of one rank's share.
        policy_total = sum(example.targets for example in examples) / self.config.ranks
        value_total = len(examples) / self.config.ranks
        parts = []
        batches = self._mine(examples)
        for number, batch in enumerate(batches):
            last = number == len(batches) - 1
            with self._synchronised(last):
                loss, metrics = forward_loss(
                    self.module, batch.to(self.device), self.loss, policy_total=policy_total, value_total=value_total
                )
                loss.backward()
            parts.append({key: float(value) for key, value in metrics.items()})
        faults.reach(f"trainer-{self.config.rank}:in-step")
        merged = self._all_ranks(parts)
        if not math.isfinite(merged["loss"]):
            self.optimizer.zero_grad()
            raise NotFinite(f"the loss is {merged['loss']} at step {self.step_number + 1}")
        merged["gradient_norm"] = self.optimizer.step(factor)
        self.step_number += 1
        return merged

    def _synchronised(self, last: bool) -> contextlib.AbstractContextManager[None]:
        """Gradients are averaged over the ranks with the last micro-batch only."""
        if isinstance(self.module, DistributedDataParallel) and not last:
            return self.module.no_sync()
        return contextlib.nullcontext()

    @torch.inference_mode()
    def evaluate(self, picks: Picks) -> dict[str, float]:
        """Metrics of the picked transitions, over all ranks."""
        self.model.eval()
        parts = []
        for batch in self._mine(self.examples(picks)):
            _, metrics = forward_loss(self.model, batch.to(self.device), self.loss)
            parts.append({key: float(value) for key, value in metrics.items()})
        self.model.train()
        return self._all_ranks(parts)

    def _all_ranks(self, parts: Iterable[dict[str, float]]) -> dict[str, float]:
        """Metrics of all ranks' batches as if they were one."""
        merged = merge_metrics(list(parts), self.loss)
        if self.config.ranks == 1:
            return merged
        found: list[dict[str, float]] = [{}] * self.config.ranks
        dist.all_gather_object(found, merged)
        return merge_metrics(found, self.loss)

    # --- files ------------------------------------------------------------------------------------------------------

    def save(self, directory: Path) -> None:
        """Write a checkpoint (rank 0). Raises OSError."""
        checkpoint.save(
            directory,
            self.model,
            self.tokenizer,
            step=self.step_number,
            optimizer=self.optimizer.state_dict(),
            config=self.run_config,
        )

    def write_weights(self, path: Path, information: dict[str, str]) -> str:
        """Write a weights file (rank 0); returns its digest. Raises OSError."""
        return weights.write(path, self.model, self.tokenizer, information)
