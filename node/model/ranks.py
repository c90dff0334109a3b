"""Wraps a network in DistributedDataParallel, with the arguments of each supported torch version."""

from __future__ import annotations

import inspect

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def data_parallel(module: nn.Module) -> DistributedDataParallel:
    """Wrap `module` so that its gradients are averaged over the ranks.

    Buffers are not broadcast with every forward pass, because they are constants that are equal on every rank. torch
    2.13 renames the option for that and warns about the old name, which earlier versions need.
    """
    new = "forward_sync_buffers" in inspect.signature(DistributedDataParallel.__init__).parameters
    name = "forward_sync_buffers" if new else "broadcast_buffers"
    options: dict[str, bool] = {name: False}
    return DistributedDataParallel(module, **options)  # type: ignore[arg-type]
