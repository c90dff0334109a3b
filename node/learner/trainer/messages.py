"""What the agent and the trainer's ranks say to each other: one JSON line each way, over the ranks' standard
streams."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from node.learner.replay.replay import Ref

Picks = list[tuple[str, list[int]]]
"""Transitions by segment: (path of the segment, positions in it)."""


class RankConfig(msgspec.Struct, frozen=True):
    """All that a rank needs to start."""

    rank: int
    ranks: int
    rendezvous: str
    """A file on this machine through which the ranks find each other; new for every start."""
    checkpoint: str
    device: str
    threads: int
    token_budget: int
    matrix_rate: float
    rate: float
    warmup: int
    value_weight: float
    timeout: float


class CreateConfig(msgspec.Struct, frozen=True):
    """A fresh network: its tokenizer is trained on the transitions, its weights are drawn from the seed."""

    checkpoint: str
    """Where to write it."""
    model: dict[str, int | float | bool]
    seed: int
    picks: Picks


class RankCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """What every rank is told at the same time."""

    op: str
    """`step`, `evaluate`, `checkpoint` or `weights`."""
    id: int
    picks: Picks = []
    factor: float = 1.0
    """Of the learning rates."""
    path: str = ""
    information: dict[str, str] = {}


class RankAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """A rank's answer. `error` not empty: the command failed, and the group must be started again."""

    id: int
    step: int
    metrics: dict[str, float] = {}
    digest: str = ""
    error: str = ""
    errno: int = 0
    """Of the file system, when the command was to write a file and could not."""


def by_segment(refs: Iterable[Ref]) -> Picks:
    """References grouped by segment, in order of first appearance."""
    groups: dict[str, list[int]] = {}
    for base, position in refs:
        groups.setdefault(base, []).append(position)
    return list(groups.items())
