"""Shortens printed proof states to what a model can read. Pure."""

from __future__ import annotations

from collections.abc import Callable

from node.lean.text.goals import split_goals


def shorten_state(state: str, fits: Callable[[str], bool]) -> tuple[str, int]:
    """A state without as many hypotheses as it takes to fit, and how many these are.

    Conclusions always stay. Within a goal hypotheses go from the top, the oldest first. Goals behind the first lose
    theirs before it does, the last goal first: a tactic works on the first goal. The state may still not fit at the
    end; a state that fits comes back as it is.
    """
    if fits(state):
        return state, 0
    goals = [_parts(goal) for goal in split_goals(state)]
    order = [index for index in reversed(range(len(goals))) for _ in goals[index][0]]
    # More dropped is never longer, so the least number that fits can be found by halving.
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if fits(_written(goals, order[:middle])):
            high = middle
        else:
            low = middle + 1
    return _written(goals, order[:low]), low


def _written(goals: list[tuple[list[str], str]], dropped: list[int]) -> str:
    """The state without the first hypotheses of goals: one for each time that the goal's index is in `dropped`."""
    return "\n\n".join(
        "\n".join([*hypotheses[dropped.count(index) :], conclusion])
        for index, (hypotheses, conclusion) in enumerate(goals)
    )


def _parts(goal: str) -> tuple[list[str], str]:
    """The hypotheses of a printed goal, each with its broken lines, and the conclusion. A line `case TAG` counts as the
    oldest hypothesis."""
    lines = goal.split("\n")
    start = next((at for at, line in enumerate(lines) if line.startswith("⊢")), len(lines) - 1)
    hypotheses: list[str] = []
    for line in lines[:start]:
        if hypotheses and line[:1] in (" ", "\t"):
            hypotheses[-1] += f"\n{line}"
        else:
            hypotheses.append(line)
    return hypotheses, "\n".join(lines[start:])
