"""Messages between the learner and the first rank of its trainer: JSON lines over the rank's standard streams. The
first rank passes commands on to the other ranks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from common.records.transitions import Ref
from node.training.settings import LossSettings

RANK_MODULE = "node.learner.trainer.rank"
"""The module of a rank, which a process runs."""

Picks = list[tuple[str, list[int]]]
"""Transitions by file: (its path, their numbers there)."""


class ComputeConfig(msgspec.Struct, frozen=True):
    """Where and how a rank computes; it needs this before it joins the other ranks (`node.training.trainer`)."""

    device: str = "auto"
    bf16: str = "auto"
    threads: int = 0
    timeout: float = 120.0
    seed: int = 0


class StartConfig(msgspec.Struct, frozen=True):
    """What all ranks train. It is the first line that the first rank reads."""

    checkpoint: str
    """Folder on the learner's machine; ranks of other machines get its files from the first rank."""
    compile: bool
    token_budget: int
    matrix_rate: float
    rate: float
    warmup: int
    loss: LossSettings = LossSettings()
    average_steps: float = 0.0
    """Steps of the moving average of the weights that is published; 0: publish the latest weights."""


class CreateConfig(msgspec.Struct, frozen=True):
    """A fresh network: its tokenizer is trained on the transitions, its weights are drawn from the seed."""

    checkpoint: str
    """Where to write it."""
    model: dict[str, int | float | bool]
    seed: int
    picks: Picks


Operation = Literal["step", "evaluate", "log-probabilities", "checkpoint", "weights", "restore"]


class RankCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command to the trainer."""

    op: Operation
    id: int
    picks: Picks = []
    factor: float = 1.0
    """Factor of the learning rates."""
    average: bool = False
    """For `step`: add the weights after it to the moving average, and publish the average from now on."""
    path: str = ""
    information: dict[str, str] = {}
    alone: bool = False
    """Nothing else works on this machine: a CPU's ranks use all of its cores."""


class RankAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first rank's answer. If `error` is not empty, the command failed, and the group must be restarted."""

    id: int
    step: int
    metrics: dict[str, float] = {}
    values: list[float | None] = []
    """For `log-probabilities`: one value for each transition, in the order of the picks; null for those left out."""
    digest: str = ""
    error: str = ""
    errno: int = 0
    """The file system's error number, if the command could not write its file."""
    gpus: list[str] = []
    """At the start: ids of the GPUs of all ranks; empty on CPUs."""
    left_out: int = 0
    """Transitions that were asked for since the start and left out, because their tactic is too long."""


def by_file(refs: Iterable[Ref]) -> Picks:
    """References grouped by file, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for file, number in refs:
        groups.setdefault(file, []).append(number)
    return list(groups.items())
