"""Shortens printed proof states to fit a model's prompt limit. Pure."""

from __future__ import annotations

from collections.abc import Callable

from node.lean.text.goals import split_goals


def shorten_state(state: str, fits: Callable[[str], bool]) -> tuple[str, int]:
    """Drop as few hypotheses as needed for the state to fit; returns the state and the number of dropped hypotheses.

    Conclusions always stay. Within a goal, the oldest hypotheses at the top are dropped first. The last goal loses
    hypotheses first and the first goal last, because a tactic works on the first goal. A state that fits is unchanged.
    The result may still not fit.
    """
    if fits(state):
        return state, 0
    goals = [_parts(goal) for goal in split_goals(state)]
    order = [index for index in reversed(range(len(goals))) for _ in goals[index][0]]
    # Dropping more never makes the state longer, so binary search finds the smallest number that fits.
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if fits(_written(goals, order[:middle])):
            high = middle
        else:
            low = middle + 1
    return _written(goals, order[:low]), low


def _written(goals: list[tuple[list[str], str]], dropped: list[int]) -> str:
    """The state without some first hypotheses: a goal loses one for each occurrence of its index in `dropped`."""
    return "\n\n".join(
        "\n".join([*hypotheses[dropped.count(index) :], conclusion])
        for index, (hypotheses, conclusion) in enumerate(goals)
    )


def _parts(goal: str) -> tuple[list[str], str]:
    """The hypotheses of a printed goal, each with its continuation lines, and the conclusion. A line `case TAG` counts
    as the oldest hypothesis."""
    lines = goal.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("⊢")), len(lines) - 1)
    hypotheses: list[str] = []
    for line in lines[:start]:
        if hypotheses and line[:1] in (" ", "\t"):
            hypotheses[-1] += f"\n{line}"
        else:
            hypotheses.append(line)
    return hypotheses, "\n".join(lines[start:])
