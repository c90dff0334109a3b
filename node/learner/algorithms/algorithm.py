"""What a learning algorithm decides. Everything else - dispatching, verifying, recording, batches, steps - is the
learner's, and the same for all.

A learner asks four questions:

    choose    which theorem next, to prove or to disprove it, with which budget?
    attempt   what are provers asked: how to search, what to explore, how to sample?
    examples  which transitions of a verified proof become training data, with which weights?
    loss      which losses count, with which weights?

Decisions are pure: they follow from the settings, the seed, the attempt's number and what is known about the theorems.
So a learner that starts again decides the same.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from common.protocol.attempts import Method, Purpose, Transition
from common.records.rows import Standing
from common.settings import Sampling
from node.learner.algorithms import ALGORITHMS
from node.training.settings import LossSettings

if TYPE_CHECKING:
    from node.learner.choosing.matchmaker import Matchmaker
    from node.learner.settings import LearnerSettings


@dataclass(frozen=True)
class Choice:
    """The next attempt."""

    theorem_id: str
    disproof: bool
    simulations: int
    explore: int = 0
    """Number of tactics from the prover's fixed list that join each expansion."""


@dataclass(frozen=True)
class Asked:
    """What provers are asked to do in an attempt (the fields of `Attempt`)."""

    method: Method
    samples: int
    """K: tactics sampled per expansion."""
    explore: int = 0
    sampling: Sampling | None = None
    """Temperature and the like; None: as the prover is configured."""


@dataclass(frozen=True)
class Found:
    """A verified proof of a train statement, or of its negation."""

    transitions: Sequence[Transition]
    standing: Standing
    """What was known about the theorem before this proof."""
    disproof: bool


class Algorithm(ABC):
    """A learning algorithm with its parameters, which are settings of the learner."""

    def __init__(self, settings: LearnerSettings) -> None:
        self.settings = settings

    @abstractmethod
    def choose(self, theorems: Matchmaker, number: int) -> Choice | None:
        """The attempt with this number; None if no theorem can be attempted now. Changes no state."""

    @abstractmethod
    def attempt(self, purpose: Purpose, explore: int) -> Asked:
        """What provers are asked, in attempts to train (`explore`: as chosen) and in evaluations (0)."""

    @abstractmethod
    def examples(self, found: Found) -> Sequence[float]:
        """For each transition of a proof, how often training draws it, relative to others; 0: it is recorded and does
        not train."""

    @abstractmethod
    def loss(self) -> LossSettings:
        """The weights of the losses. They are the same for the whole run."""


def named(settings: LearnerSettings) -> Algorithm:
    """The algorithm that the settings name."""
    module, name = ALGORITHMS[settings.algorithm_name()].split(":")
    made = getattr(importlib.import_module(module), name)(settings)
    return cast(Algorithm, made)
