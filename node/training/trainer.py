"""The training step (forward, backward, update, over all ranks) and evaluation, for the stages and for reinforcement
learning; and what a rank has: device, precision, process group, and the moving average of the weights.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint as recomputed

from common.life import faults
from node.data.errors import InputError, NotFinite
from node.model.optimizer import Optimizer, OptimizerSettings
from node.model.transformer import Transformer, has_bf16
from node.training.launch import RENDEZVOUS, threads_per_rank
from node.training.loader import PackedBatch
from node.training.objective import CALIBRATION_BINS, SUMS, Objective, Totals, log_probabilities, report
from node.training.settings import LossSettings


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
        ]
        everywhere = self.device.total(torch.tensor(counts, dtype=torch.float64, device=self.device.device))
        # DistributedDataParallel averages over ranks, so the totals that divide the sums are those of one rank's share.
        tokens, values = (everywhere / self.device.ranks).tolist()
        return Totals(tokens or 1.0 / self.device.ranks, values)

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


# --- device, precision and process group of one rank ------------------------------------------------------------------


class ComputeSettings(Protocol):
    """Where and how a rank computes. StageSettings and the learner's ranks have these fields."""

    @property
    def device(self) -> str:
        """`auto` (a GPU if there is one), `cpu` or `cuda`."""

    @property
    def bf16(self) -> str:
        """`auto` (where the hardware computes in bfloat16), `on` or `off`."""

    @property
    def threads(self) -> int:
        """Of a CPU; 0: all cores divided among the ranks of this machine."""

    @property
    def timeout(self) -> float:
        """Seconds that ranks wait for each other."""

    @property
    def seed(self) -> int:
        """Of torch's generators."""


@dataclass(frozen=True)
class RankDevice:
    """Where this rank computes."""

    device: torch.device
    bf16: bool
    rank: int = 0
    ranks: int = 1
    control: Any = None
    """The process group (gloo) over which ranks exchange bytes: on a GPU, waiting for them must not take the GPU."""

    @property
    def first(self) -> bool:
        return self.rank == 0

    def precision(self) -> torch.autocast:
        """A context in which matrix products are computed in bfloat16, if `bf16` says so."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16)

    def total(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all ranks."""
        if self.ranks > 1:
            dist.all_reduce(values)
        return values

    def broadcast(self, payload: bytes = b"") -> bytes:
        """Bytes of the first rank, on every rank."""
        if self.ranks == 1:
            return payload
        size = torch.tensor([len(payload)])
        dist.broadcast(size, 0, group=self.control)
        content = torch.frombuffer(bytearray(payload), dtype=torch.uint8) if payload else torch.empty(0)
        if not self.first:
            content = torch.empty(int(size), dtype=torch.uint8)
        if int(size):
            dist.broadcast(content, 0, group=self.control)
        return content.numpy().tobytes() if int(size) else b""

    def gather(self, value: object) -> list[object]:
        """Every rank's value."""
        values: list[object] = [value]
        if self.ranks > 1:
            values = [None] * self.ranks
            dist.all_gather_object(values, value)
        return values


def ranks_from_environment() -> tuple[int, int, int]:
    """(rank, ranks, rank on this machine), as torchrun and `launch` set them; alone without them."""
    number = os.environ.get
    return int(number("RANK", 0)), int(number("WORLD_SIZE", 1)), int(number("LOCAL_RANK", 0))


def choose_device(settings: ComputeSettings, local_rank: int = 0) -> torch.device:
    """The device of a rank. Raises InputError if the GPU does not exist."""
    has_gpu = torch.cuda.is_available()
    if settings.device == "cuda" and not has_gpu:
        raise InputError("device is `cuda`, and torch sees no GPU; use --device cpu, or `./start setup gpu`")
    if settings.device == "cpu" or not has_gpu:
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise InputError(f"there are {torch.cuda.device_count()} GPUs, and a rank {local_rank}: fewer --ranks")
    return torch.device("cuda", local_rank)


def share_cores(threads: int) -> None:
    """Compute with so many threads from now on; 0: this rank's share of the cores."""
    here = int(os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("WORLD_SIZE") or 1)
    wanted = threads_per_rank(threads, here)
    if torch.get_num_threads() != wanted:
        torch.set_num_threads(wanted)


@contextmanager
def started(settings: ComputeSettings) -> Iterator[RankDevice]:
    """This rank's device, with the process group joined; left at the end. Raises InputError."""
    rank, ranks, local = ranks_from_environment()
    device = choose_device(settings, local)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    else:
        share_cores(settings.threads)
    torch.manual_seed(settings.seed)
    if settings.bf16 == "on" and not has_bf16(device):
        raise InputError(f"bf16 is `on`, and {device} does not compute in it; leave it at `auto`")
    bf16 = settings.bf16 != "off" and has_bf16(device)
    control = _join(settings, device, rank, ranks) if ranks > 1 else None
    try:
        yield RankDevice(device, bf16, rank, ranks, control)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _join(settings: ComputeSettings, device: torch.device, rank: int, ranks: int) -> Any:
    """Join the other ranks: through the file of `launch` when all are on this machine, else as torchrun's environment
    says. Returns the control group."""
    file = os.environ.get(RENDEZVOUS)
    if file:
        # All ranks are on this machine: gloo must not pick an address of another interface.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        init_method=f"file://{file}" if file else "env://",
        rank=rank,
        world_size=ranks,
        timeout=timedelta(seconds=settings.timeout),
    )
    if device.type == "cpu":
        return dist.group.WORLD
    return dist.new_group(backend="gloo", timeout=timedelta(seconds=settings.timeout))


# --- the moving average of the weights --------------------------------------------------------------------------------


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


def data_parallel(module: nn.Module) -> DistributedDataParallel:
    """Wrap `module` so that its gradients are averaged over the ranks.

    Buffers are not broadcast with every forward pass, because they are constants that are equal on every rank. torch
    2.13 renames the option for that and warns about the old name, which earlier versions need.
    """
    new = "forward_sync_buffers" in inspect.signature(DistributedDataParallel.__init__).parameters
    name = "forward_sync_buffers" if new else "broadcast_buffers"
    options: dict[str, bool] = {name: False}
    return DistributedDataParallel(module, **options)  # type: ignore[arg-type]
