"""A network over ranks, with a process group of its own."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from node.training.trainer import data_parallel
from tests.node.model.tiny import tiny_model


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process group of one rank."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'rendezvous'}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


def test_torch_has_nothing_to_say_about_it_and_buffers_are_not_sent_around(alone: None) -> None:
    model = tiny_model()
    assert list(model.buffers())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrapped = data_parallel(model)
        wrapped(torch.full((2, 9), 7), torch.arange(18), torch.arange(0))
    assert wrapped.broadcast_buffers is False
    assert wrapped.module is model
