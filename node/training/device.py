"""The device, the precision and the process group of one rank, for the stages and for reinforcement learning."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Protocol

import torch
import torch.distributed as dist

from common.sizing import read_machine
from node.data.errors import InputError
from node.training.launch import RENDEZVOUS


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


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware computes in bfloat16; a CPU that has to emulate it is many times slower (LOG.md)."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


@contextmanager
def started(settings: ComputeSettings) -> Iterator[RankDevice]:
    """This rank's device, with the process group joined; left at the end. Raises InputError."""
    rank, ranks, local = ranks_from_environment()
    device = choose_device(settings, local)
    if device.type == "cuda":
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    else:
        here = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
        torch.set_num_threads(settings.threads or max(1, read_machine().cores // here))
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
