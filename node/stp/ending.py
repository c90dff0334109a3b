"""Decides when the rounds of a cycle, and a run, are finished. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from node.stp.settings import StpSettings
from node.stp.store import RoundKind, RoundRow, Stage


def time_is_up(rounds: Sequence[RoundRow], settings: StpSettings) -> bool:
    """Whether the rounds have used up the run's time limit."""
    seconds = sum(sum(each.seconds.values()) for each in rounds if each.kind is RoundKind.SELF_PLAY)
    return bool(settings.minutes) and seconds >= settings.minutes * 60


def rounds_are_over(rounds: Sequence[RoundRow], cycle: int, settings: StpSettings, *, all_solved: bool) -> bool:
    """Whether a cycle has no further round. `rounds`: the rounds of the whole run."""
    played = sum(each.kind is RoundKind.SELF_PLAY and each.cycle == cycle for each in rounds)
    solved = settings.until_solved and all_solved
    return played >= settings.rounds or time_is_up(rounds, settings) or solved


def is_finished(rounds: Sequence[RoundRow], settings: StpSettings, *, all_solved: bool) -> bool:
    """Whether a run is finished: after the last cycle's training from the base, or after the last round of a run
    without such a training."""
    if not rounds or rounds[-1].stage is not Stage.DONE:
        return False
    last = rounds[-1]
    if last.kind is RoundKind.FINAL:
        return last.cycle >= settings.cycles
    if settings.until_solved and all_solved:
        return True
    return not settings.final.train and rounds_are_over(rounds, max(last.cycle, 1), settings, all_solved=all_solved)
