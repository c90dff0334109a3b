"""A network on several ranks: DistributedDataParallel as every torch that we support wants to be asked for it."""

from __future__ import annotations

import inspect

from torch import nn
from torch.nn.parallel import DistributedDataParallel


def data_parallel(module: nn.Module) -> DistributedDataParallel:
    """`module` with its gradients averaged over the ranks.

    Buffers are not sent around with every forward pass: the network's are constants that every rank computes alike.
    torch 2.13 has a new name for that, and warns of the old one, which is the only one before.
    """
    new = "forward_sync_buffers" in inspect.signature(DistributedDataParallel.__init__).parameters
    name = "forward_sync_buffers" if new else "broadcast_buffers"
    options: dict[str, bool] = {name: False}
    return DistributedDataParallel(module, **options)  # type: ignore[arg-type]
