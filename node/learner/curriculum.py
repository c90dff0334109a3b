"""The difficulty curriculum: the chance that an attempt proves a statement, as far as it is known, and how much weight
a statement has by it. Pure: everything derives from the outcomes of attempts.

Learnability: the reward of an attempt that succeeds with chance p varies by p (1 - p), and a statement that always or
never is proved teaches least (ProCuRL, Tzannetos et al. 2023, arXiv 2304.12877; sampling for learnability, Rutherford
et al. 2024, arXiv 2408.15099).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from common.limits import Chance, Factor, Positive, Share
from node.learner.standing import Standing
from node.learner.store.records import TheoremRow

MOST_DRAWS = 64
"""Statements that are drawn until one is accepted; the last one is taken as it is. With the least share of acceptance
that is the default (0.1), one in a thousand choices comes to that at worst."""

CANDIDATES = 8
"""Failed statements that are drawn for a retry, of which the nearest to being solved is taken."""

GROUP_TRIES = 4.0
"""Weight of the rate of all statements in that of a group, in attempts."""

OWN_TRIES = 2.0
"""Weight of its group's rate in the chance of a statement, in attempts."""


@dataclass
class CurriculumSettings:
    """Statements of the right difficulty have more weight, and those that failed are tried again."""

    sharpness: Factor = 0.0
    """How much difficulty counts: the weight of a statement that is proved with chance p has the factor
    (p / target)^(sharpness * target) * ((1 - p) / (1 - target))^(sharpness * (1 - target)), which is 1 at the target
    and falls on both sides; 2 with the target 0.5 makes it 4 p (1 - p). 0: difficulty does not count."""
    target: Chance = 0.5
    """The chance to be proved that is best."""
    least: Share = 0.1
    """The factor is never less, so that nothing is forgotten."""
    window: Positive = 1000
    """Latest attempts to prove from which the chance of statements that were never tried is estimated."""
    retry_share: Share = 0.0
    """Share of the attempts that go to statements that failed before and are undecided, those nearest to being solved
    first, with budgets that grow by `growth`. With many more statements than attempts nothing is tried twice
    otherwise."""

    @property
    def estimates(self) -> bool:
        """Whether the chance of statements counts at all."""
        return self.sharpness > 0.0 or self.retry_share > 0.0


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
        """Chance that an attempt proves a statement of the group: its share of successes, smoothed towards that of all
        statements, and that towards one half."""
        overall = (self._all_proved + 1.0) / (len(self._latest) + 2.0)
        proved, tried = self._proved.get(group, 0), self._tried.get(group, 0)
        return (proved + GROUP_TRIES * overall) / (tried + GROUP_TRIES)


def chance(standing: Standing, rate: float) -> float:
    """Chance that the next attempt proves a statement: its own successes, smoothed towards the rate of its group."""
    return (standing.proofs + OWN_TRIES * rate) / (standing.tries + OWN_TRIES)


def factor(proved: float, settings: CurriculumSettings) -> float:
    """Of a statement's weight, by the chance that an attempt proves it: 1 at the target, never less than `least`."""
    target, sharpness = settings.target, settings.sharpness
    easy: float = (proved / target) ** (sharpness * target)
    hard: float = ((1.0 - proved) / (1.0 - target)) ** (sharpness * (1.0 - target))
    return max(settings.least, min(1.0, easy * hard))


def groups_of(rows: Sequence[TheoremRow]) -> list[int]:
    """The group of each statement, of about equal difficulty as far as that is known without trying: its family and
    level; a family with one level says nothing, and its statements go by the length of their text, in steps of a
    factor of two."""
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
    """Of (chance, statement), the statement with the largest chance; the first of equals."""
    return max(candidates, key=lambda each: each[0])[1]
