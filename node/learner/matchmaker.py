"""The matchmaker: which theorem to attempt next, to prove or to disprove, and with how many simulations.

Pure: it takes what was dispatched and what came back, and says what to do. Its choices derive from (run seed, attempt
number) and the outcomes so far, never from a clock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from common.attempts import AttemptOutcome
from common.limits import Factor, Growth, Natural, Positive, Share
from common.seeds import derive_seed
from node.learner.store.records import Match
from node.learner.sum_tree import SumTree


@dataclass
class MatchmakerSettings:
    """Which theorems to attempt, and how hard (AlphaProof, Nature 2025, the matchmaker of the pseudocode)."""

    disprove_chance: Share = 0.5
    """Chance that an attempt on an undecided theorem tries to disprove it."""
    explore_chance: Share = 0.0
    """Chance that an attempt explores: candidates of the prover's fixed list join the policy's samples."""
    explore_candidates: Natural = 8
    """How many, at every expansion of an attempt that explores."""
    budget: Positive = 250
    """Simulations of the first attempt."""
    growth: Growth = 1.17
    """The budget is multiplied by this for every failure."""
    budget_limit: Positive = 16_000
    """Largest budget (of reimplementations; the paper gives none)."""
    trust: Natural = 8
    """Attempts after which an undecided theorem counts as hard."""
    streak: Positive = 12
    """A theorem whose last so many attempts all proved it counts as learned."""
    hard_weight: Factor = 0.1
    """Weight of a theorem that is undecided after many attempts."""
    learned_weight: Factor = 1e-3
    """Weight of a learned theorem."""


@dataclass(frozen=True)
class Choice:
    """What to attempt."""

    theorem_id: str
    disproof: bool
    simulations: int
    explore: int = 0
    """Candidates of the prover's fixed list that join each expansion."""


@dataclass(slots=True)
class Standing:
    """What is known about one theorem."""

    attempts: int = 0
    """Attempts with a result."""
    failures: int = 0
    proved: bool = False
    disproved: bool = False
    refused: bool = False
    """Lean does not accept the statement."""
    outstanding: int = 0
    in_a_row: int = 0
    """Of the latest attempts to prove it, those that did, since the last one that did not."""


class Matchmaker:
    """Chooses among theorems. One attempt per theorem is outstanding at a time."""

    def __init__(
        self,
        theorem_ids: Sequence[str],
        settings: MatchmakerSettings,
        seed: int,
        factors: Sequence[float] | None = None,
    ) -> None:
        """`factors`: of each theorem's weight, for mixtures of banks; 1 for all where there are none."""
        self.settings = settings
        self.seed = seed
        self._ids = list(theorem_ids)
        self._index = {theorem_id: index for index, theorem_id in enumerate(self._ids)}
        self._standings = [Standing() for _ in self._ids]
        self._factors = array("d", factors if factors is not None else [1.0] * len(self._ids))
        if len(self._factors) != len(self._ids):
            raise ValueError(f"{len(self._factors)} factors for {len(self._ids)} theorems")
        self._weights = SumTree(self._factors)

    def restore(self, history: Iterable[Match]) -> None:
        """Take in what an earlier process dispatched and recorded (`Store.history`)."""
        for match in history:
            self.dispatched(match.theorem_id)
            if match.outcome is not None:
                self.recorded(match.theorem_id, match.disproof, match.outcome)

    def choose(self, number: int) -> Choice | None:
        """The attempt with this number; None when nothing is left to attempt now. Changes nothing."""
        if self._weights.total <= 0:
            return None
        generator = np.random.default_rng(derive_seed(self.seed, "match", number))
        index = self._weights.find(generator.random() * self._weights.total)
        standing = self._standings[index]
        undecided = not (standing.proved or standing.disproved)
        disproof = undecided and generator.random() < self.settings.disprove_chance
        explores = generator.random() < self.settings.explore_chance
        explore = self.settings.explore_candidates if explores else 0
        return Choice(self._ids[index], bool(disproof), budget(standing, self.settings), explore)

    def dispatched(self, theorem_id: str) -> None:
        """An attempt on the theorem is outstanding."""
        index = self._index.get(theorem_id)
        if index is not None:
            self._standings[index].outstanding += 1
            self._weights[index] = 0.0

    def recorded(self, theorem_id: str, disproof: bool, outcome: str) -> None:
        """The result of an attempt was recorded."""
        index = self._index.get(theorem_id)
        if index is None:
            return
        standing = self._standings[index]
        standing.outstanding = max(0, standing.outstanding - 1)
        learn(standing, disproof, outcome)
        chance = 0.0 if standing.outstanding else weight(standing, self.settings)
        self._weights[index] = chance * self._factors[index]

    def standing(self, theorem_id: str) -> Standing:
        """What is known about a theorem. Raises KeyError."""
        return self._standings[self._index[theorem_id]]


def learn(standing: Standing, disproof: bool, outcome: str) -> None:
    """Fold one outcome into what is known; one that is not decided says nothing about the theorem."""
    if not AttemptOutcome(outcome).decided:
        return
    if outcome == AttemptOutcome.BAD_STATEMENT:
        standing.refused = True
        return
    success = outcome == AttemptOutcome.PROVED
    standing.attempts += 1
    standing.failures += not success
    if disproof:
        standing.disproved |= success
        return
    standing.proved |= success
    standing.in_a_row = standing.in_a_row + 1 if success else 0


def weight(standing: Standing, settings: MatchmakerSettings) -> float:
    """1 while new, with few attempts or mixed results; 0.1 when undecided after many; 1e-3 when learned; 0 when
    disproved (AlphaProof, matchmaker) or refused by Lean."""
    if standing.disproved or standing.refused:
        return 0.0
    if standing.proved:
        return settings.learned_weight if standing.in_a_row >= settings.streak else 1.0
    return 1.0 if standing.attempts < settings.trust else settings.hard_weight


def budget(standing: Standing, settings: MatchmakerSettings) -> int:
    """Simulations: budget · growth^failures, at most the limit (AlphaProof, matchmaker)."""
    grown = settings.budget * settings.growth ** min(standing.failures, 1000)
    return max(1, int(min(settings.budget_limit, grown)))
