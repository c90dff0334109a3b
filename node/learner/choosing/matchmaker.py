"""The matchmaker: draws the theorem to attempt next, and says how many simulations its failures call for.

Pure: its draws derive from the run's seed, the attempt's number, and the dispatched attempts and outcomes so far, never
from a clock.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from common.limits import Chance, Factor, Growth, Natural, Positive, Share
from common.records.rows import Recent, Standing, TheoremRow, learn
from common.seeds import derive_seed

# ----------------------------------------------------------------------------------------------------------------------
# The difficulty curriculum: estimates the chance that an attempt proves a statement, and weighs statements by it.
# Everything derives from the outcomes of attempts.
#
# Learnability: the reward of an attempt that succeeds with chance p has the variance p (1 - p), so a statement that is
# always or never proved teaches least (ProCuRL, Tzannetos et al. 2023, arXiv 2304.12877; sampling for learnability,
# Rutherford et al. 2024, arXiv 2408.15099).

MOST_DRAWS = 64
"""Most draws of rejection sampling; the last draw is accepted in any case. With the default `least` of 0.1, at most one
choice in a thousand gets that far."""

CANDIDATES = 8
"""Failed statements drawn for each retry; the one with the largest estimated chance is attempted."""

GROUP_TRIES = 4.0
"""Pseudo-count: the rate of all statements counts as much in a group's rate as this number of attempts."""

OWN_TRIES = 2.0
"""Pseudo-count: the group's rate counts as much in a statement's chance as this number of attempts."""


@dataclass
class CurriculumSettings:
    """Statements of the right difficulty get more weight, and failed statements are retried."""

    sharpness: Factor = 0.0
    """How much difficulty counts: the weight of a statement that is proved with chance p has the factor
    (p / target)^(sharpness * target) * ((1 - p) / (1 - target))^(sharpness * (1 - target)), which is 1 at the target
    and falls on both sides; 2 with the target 0.5 makes it 4 p (1 - p). 0: difficulty does not count."""
    target: Chance = 0.5
    """The best chance to be proved: statements with this chance get the factor 1."""
    least: Share = 0.1
    """Lower bound of the factor, so that every statement is attempted at times."""
    window: Positive = 1000
    """Number of latest attempts to prove from which the chance of never attempted statements is estimated."""
    retry_share: Share | None = None
    """Share of the attempts that retry undecided statements which failed before, those with the largest chance first,
    with budgets that grow by `growth`. Without it, a bank with many more statements than attempts retries almost
    nothing. None: by the number of all train statements, 0.25 (small) or 0 (large)."""
    almost_share: Share | None = None
    """Share of the attempts on statements that are almost learned: some tries proved them, and others failed. None: by
    the number of all train statements, 0.1 (small) or 0 (large)."""


class Rates:
    """Rates of success of groups of statements, over a window of the latest attempts to prove any."""

    def __init__(self, window: int) -> None:
        self._latest: deque[tuple[int, bool]] = deque()
        self._window = window
        self._tried: dict[int, int] = {}
        self._proved: dict[int, int] = {}
        self._all_proved = 0

    def saw(self, group: int, proved: bool) -> None:
        """An attempt to prove a statement of this group was decided."""
        self._latest.append((group, proved))
        self._count(group, proved, 1)
        if len(self._latest) > self._window:
            self._count(*self._latest.popleft(), -1)

    def _count(self, group: int, proved: bool, by: int) -> None:
        self._tried[group] = self._tried.get(group, 0) + by
        if proved:
            self._proved[group] = self._proved.get(group, 0) + by
            self._all_proved += by

    def rate(self, group: int) -> float:
        """Chance that an attempt proves a statement of the group: the group's success rate, smoothed towards the rate
        of all statements, which is smoothed towards one half."""
        overall = (self._all_proved + 1.0) / (len(self._latest) + 2.0)
        proved, tried = self._proved.get(group, 0), self._tried.get(group, 0)
        return (proved + GROUP_TRIES * overall) / (tried + GROUP_TRIES)


def chance(standing: Standing, rate: float) -> float:
    """Chance that the next attempt proves a statement: its own success rate, smoothed towards the rate of its group."""
    return (standing.proofs + OWN_TRIES * rate) / (standing.tries + OWN_TRIES)


def factor(proved: float, settings: CurriculumSettings) -> float:
    """The factor of a statement's weight if an attempt proves it with chance `proved`: 1 at the target, at least
    `least`."""
    target, sharpness = settings.target, settings.sharpness
    easy: float = (proved / target) ** (sharpness * target)
    hard: float = ((1.0 - proved) / (1.0 - target)) ** (sharpness * (1.0 - target))
    return max(settings.least, min(1.0, easy * hard))


def groups_of(rows: Sequence[TheoremRow]) -> list[int]:
    """The group of each statement. Statements of a group should be about equally hard, as far as one can tell without
    an attempt: they share family and level. In a family with a single level they share the length of their text
    instead, in steps of a factor of two."""
    levels: dict[str, set[int]] = {}
    for row in rows:
        levels.setdefault(row.family, set()).add(row.level)
    numbers: dict[tuple[str, int], int] = {}
    return [
        numbers.setdefault((row.family, row.level if len(levels[row.family]) > 1 else _length(row)), len(numbers))
        for row in rows
    ]


def _length(row: TheoremRow) -> int:
    return (len(row.theorem.binders) + len(row.theorem.conclusion)).bit_length()


def nearest(candidates: Iterable[tuple[float, int]]) -> int:
    """The statement with the largest chance among (chance, statement) pairs; the first of equals."""
    return max(candidates, key=lambda each: each[0])[1]


# ----------------------------------------------------------------------------------------------------------------------
# The matchmaker.


@dataclass
class MatchmakerSettings:
    """Which theorems to attempt, and how hard (AlphaProof, Nature 2025, the matchmaker of the pseudocode)."""

    disprove_chance: Share = 0.5
    """Chance that an attempt on an undecided theorem tries to disprove it."""
    explore_chance: Share = 0.0
    """Chance that an attempt explores: tactics of the prover's fixed list join the policy's samples."""
    explore_candidates: Natural = 8
    """Number of such tactics at every expansion of an exploring attempt."""
    budget: Positive = 250
    """Simulations of the first attempt."""
    growth: Growth | None = None
    """The budget is multiplied by this for every failure. None: by the number of all train statements, 1.4 (small) or
    AlphaProof's 1.17 (large)."""
    budget_limit: Positive = 16_000
    """Largest budget (taken from reimplementations; the paper gives no limit)."""
    trust: Natural = 8
    """Attempts after which an undecided theorem counts as hard."""
    streak: Positive | None = None
    """A theorem counts as learned if this many latest attempts in a row all proved it. None: by the number of all train
    statements, 3 (small) or AlphaProof's 12 (large)."""
    hard_weight: Factor = 0.1
    """Weight of a theorem that is undecided after many attempts."""
    learned_weight: Factor = 1e-3
    """Weight of a learned theorem."""
    curriculum: CurriculumSettings = field(default_factory=CurriculumSettings)
    """Weights by difficulty, and retries of failed statements."""


SMALL_BANK = 5000
"""A bank with fewer train statements is small: a run comes back to its statements. In an hour on two cores, a run on
the 6,515 statements of `pocket` makes 1.3 attempts at each, so that 12 in a row would never happen."""


@dataclass(frozen=True)
class BySize:
    """The settings of the matchmaker that depend on the size of the bank."""

    streak: int
    growth: float
    retry_share: float
    almost_share: float


SMALL = BySize(streak=3, growth=1.4, retry_share=0.25, almost_share=0.1)
LARGE = BySize(streak=12, growth=1.17, retry_share=0.0, almost_share=0.0)
"""AlphaProof's."""

T = TypeVar("T")


def by_size(settings: MatchmakerSettings, statements: int) -> BySize:
    """The settings of a bank with so many train statements: those that are given, and the defaults of its size."""

    def either(given: T | None, default: T) -> T:
        return default if given is None else given

    default, curriculum = SMALL if statements < SMALL_BANK else LARGE, settings.curriculum
    return BySize(
        either(settings.streak, default.streak),
        either(settings.growth, default.growth),
        either(curriculum.retry_share, default.retry_share),
        either(curriculum.almost_share, default.almost_share),
    )


@dataclass(frozen=True)
class Drawn:
    """A theorem that was drawn for an attempt."""

    theorem_id: str
    standing: Standing
    generator: np.random.Generator
    """Further random decisions about this attempt."""

    def happens(self, chance: float) -> bool:
        """True with this chance."""
        return bool(self.generator.random() < chance)


class Matchmaker:
    """The train theorems and what is known about each; draws among them. An algorithm decides what is attempted with a
    drawn theorem (`node.learner.algorithms`). One attempt per theorem is outstanding at a time."""

    def __init__(
        self,
        theorem_ids: Sequence[str],
        settings: MatchmakerSettings,
        seed: int,
        factors: Sequence[float] | None = None,
        groups: Sequence[int] | None = None,
    ) -> None:
        """`factors`: a factor of each theorem's weight, for mixtures of banks; by default 1. `groups`: for each theorem
        its group of about equal difficulty, for the curriculum; by default all are in one group."""
        self.settings = settings
        self.seed = seed
        self._ids = list(theorem_ids)
        self.rules = by_size(settings, len(self._ids))
        self._index = {theorem_id: index for index, theorem_id in enumerate(self._ids)}
        self._factors = array("d", factors if factors is not None else [1.0] * len(self._ids))
        self._groups = array("l", groups if groups is not None else [0] * len(self._ids))
        if not len(self._factors) == len(self._groups) == len(self._ids):
            raise ValueError(
                f"{len(self._factors)} factors and {len(self._groups)} groups for {len(self._ids)} theorems"
            )
        self._standings: dict[int, Standing] = {}
        """By index, only for theorems with a result: most theorems of a large bank have none."""
        self._outstanding: dict[int, int] = {}
        self._rates = Rates(settings.curriculum.window)
        self._build()

    def restore(
        self, standings: Mapping[str, Standing], outstanding: Iterable[str] = (), recent: Iterable[Recent] = ()
    ) -> None:
        """Restore what an earlier process recorded and dispatched (`TheoremStatistics`). Theorems that the banks do not
        have are ignored. `recent`: the latest attempts to prove, as many as the curriculum's window."""
        self._standings = {self._index[name]: value for name, value in standings.items() if name in self._index}
        for theorem_id in outstanding:
            if (index := self._index.get(theorem_id)) is not None:
                self._outstanding[index] = self._outstanding.get(index, 0) + 1
        for each in recent:
            if (index := self._index.get(each.theorem_id)) is not None:
                self._rates.saw(self._groups[index], each.proved)
        self._build()

    def draw(self, number: int) -> Drawn | None:
        """A theorem for the attempt with this number; None if no theorem can be attempted now. Changes no state."""
        if self._weights.total <= 0:
            return None
        generator = np.random.default_rng(derive_seed(self.seed, "match", number))
        index = self._draw(generator)
        return Drawn(self._ids[index], self._known(index), generator)

    def dispatched(self, theorem_id: str) -> None:
        """An attempt on the theorem is outstanding."""
        index = self._index.get(theorem_id)
        if index is not None:
            self._outstanding[index] = self._outstanding.get(index, 0) + 1
            self._weigh(index)

    def recorded(self, theorem_id: str, disproof: bool, outcome: str) -> None:
        """The result of an attempt was recorded."""
        index = self._index.get(theorem_id)
        if index is None:
            return
        if (left := self._outstanding.pop(index, 0) - 1) > 0:
            self._outstanding[index] = left
        standing = self._standings.setdefault(index, Standing())
        tries = standing.tries
        learn(standing, disproof, outcome)
        if standing.tries > tries:
            self._rates.saw(self._groups[index], standing.in_a_row > 0)
        self._weigh(index)

    def standing(self, theorem_id: str) -> Standing:
        """What is known about a theorem; nothing about one that the banks do not have any more."""
        index = self._index.get(theorem_id)
        return self._known(index) if index is not None else Standing()

    def undecided(self) -> int:
        """Number of theorems that are neither proved nor disproved nor refused by Lean."""
        return len(self._ids) - sum(standing.decided for standing in self._standings.values())

    # --- drawing ----------------------------------------------------------------------------------------------------

    def _draw(self, generator: np.random.Generator) -> int:
        curriculum, rules = self.settings.curriculum, self.rules
        # 1. A share for what failed before, and one for what is almost learned.
        if rules.retry_share or rules.almost_share:
            part = generator.random()
            if part < rules.retry_share and self._failed.total > 0:
                drawn = (self._failed.find(generator.random() * self._failed.total) for _ in range(CANDIDATES))
                return nearest((self._chance(index), index) for index in drawn)
            if 0 <= part - rules.retry_share < rules.almost_share and self._almost.total > 0:
                return self._almost.find(generator.random() * self._almost.total)
        # 2. All others by their weight.
        index = self._weights.find(generator.random() * self._weights.total)
        if not curriculum.sharpness:
            return index
        # Rejection sampling: a draw by weight, accepted with the probability `factor`, is a draw by weight * factor.
        # Every result changes the chances of a whole group, so the sum tree cannot hold the factors.
        for _ in range(MOST_DRAWS):
            if generator.random() < factor(self._chance(index), curriculum):
                break
            index = self._weights.find(generator.random() * self._weights.total)
        return index

    def _known(self, index: int) -> Standing:
        return self._standings.get(index) or Standing()

    def _chance(self, index: int) -> float:
        return chance(self._known(index), self._rates.rate(self._groups[index]))

    # --- weights ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        """Compute all weights."""
        attempted = {*self._standings, *self._outstanding}
        weights, nothing = array("d", self._factors), array("d", bytes(8 * len(self._ids)))
        failed, almost = nothing[:], nothing[:]
        for index in attempted:
            weights[index] = self._weight(index)
            failed[index] = weights[index] if is_retried(self._known(index)) else 0.0
            almost[index] = weights[index] if is_almost_learned(self._known(index), self.rules) else 0.0
        self._weights = SumTree(weights)
        self._failed = SumTree(failed if self.rules.retry_share else ())
        """The weights of undecided statements that failed before; empty if `retry_share` is 0."""
        self._almost = SumTree(almost if self.rules.almost_share else ())
        """The weights of statements that are almost learned; empty if `almost_share` is 0."""

    def _weigh(self, index: int) -> None:
        self._weights[index] = weighed = self._weight(index)
        if self.rules.retry_share:
            self._failed[index] = weighed if is_retried(self._known(index)) else 0.0
        if self.rules.almost_share:
            self._almost[index] = weighed if is_almost_learned(self._known(index), self.rules) else 0.0

    def _weight(self, index: int) -> float:
        free = index not in self._outstanding
        return weight(self._known(index), self.settings, self.rules) * self._factors[index] if free else 0.0


def is_retried(standing: Standing) -> bool:
    """True for an undecided statement that failed before."""
    return standing.failures > 0 and not standing.decided


def is_almost_learned(standing: Standing, rules: BySize) -> bool:
    """True if some tries proved the statement and others failed, and it does not count as learned (yet, or again)."""
    return 0 < standing.proofs < standing.tries and standing.in_a_row < rules.streak and not standing.disproved


def weight(standing: Standing, settings: MatchmakerSettings, rules: BySize = LARGE) -> float:
    """The weight of a theorem: 1 with few attempts or mixed results, `hard_weight` if undecided after many attempts,
    `learned_weight` if learned, 0 if disproved (AlphaProof, matchmaker) or refused by Lean."""
    if standing.disproved or standing.refused:
        return 0.0
    if standing.proved:
        return settings.learned_weight if standing.in_a_row >= rules.streak else 1.0
    return 1.0 if standing.attempts < settings.trust else settings.hard_weight


def budget(standing: Standing, settings: MatchmakerSettings, rules: BySize = LARGE) -> int:
    """Simulations: budget · growth^failures, at most the limit (AlphaProof, matchmaker)."""
    grown = settings.budget * rules.growth ** min(standing.failures, 1000)
    return max(1, int(min(settings.budget_limit, grown)))


# ----------------------------------------------------------------------------------------------------------------------
# Sum tree: draws an index in proportion to its weight, and changes single weights, in logarithmic time.


class SumTree:
    """Every node holds the sum of its two children, so rounding errors do not accumulate: equal weights give equal
    trees, in whatever order they were set, and the total is 0 exactly when all weights are 0."""

    def __init__(self, weights: Sequence[float]) -> None:
        leaves = 1
        while leaves < len(weights):
            leaves *= 2
        self._leaves = leaves
        # Node i has the children 2i and 2i + 1; the leaves come last.
        self._sums = array("d", bytes(8 * 2 * leaves))
        self._sums[leaves : leaves + len(weights)] = array("d", weights)
        for node in range(leaves - 1, 0, -1):
            self._sums[node] = self._sums[2 * node] + self._sums[2 * node + 1]

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return self._sums[1]

    def __getitem__(self, index: int) -> float:
        return self._sums[self._leaves + index]

    def __setitem__(self, index: int, weight: float) -> None:
        sums, node = self._sums, self._leaves + index
        sums[node] = weight
        while node > 1:
            node //= 2
            sums[node] = sums[2 * node] + sums[2 * node + 1]

    def find(self, place: float) -> int:
        """The index whose share of [0, total) contains `place`; its weight is above 0. Needs a positive total."""
        sums, node = self._sums, 1
        while node < self._leaves:
            node *= 2
            # Rounding can lead past the end of the left half: go right only if the right half has weight.
            if place >= sums[node] and sums[node + 1] > 0.0:
                place -= sums[node]
                node += 1
        return node - self._leaves
