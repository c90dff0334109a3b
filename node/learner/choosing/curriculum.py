"""The difficulty curriculum: estimates the chance that an attempt proves a statement, and weighs statements by it.
Pure: everything derives from the outcomes of attempts.

Learnability: the reward of an attempt that succeeds with chance p has the variance p (1 - p), so a statement that is
always or never proved teaches least (ProCuRL, Tzannetos et al. 2023, arXiv 2304.12877; sampling for learnability,
Rutherford et al. 2024, arXiv 2408.15099).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from common.limits import Chance, Factor, Positive, Share
from common.records.rows import Standing, TheoremRow

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
    retry_share: Share = 0.0
    """Share of the attempts that retry undecided statements which failed before, those with the largest chance first,
    with budgets that grow by `growth`. Without it, a bank with many more statements than attempts retries almost
    nothing."""

    @property
    def estimates(self) -> bool:
        """Whether the settings use the estimated chance of statements."""
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
