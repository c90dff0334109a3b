"""Training rows of a progress model, and their split into training and held-out data. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from common.seeds import is_held_out
from node.progress.texts import question


@dataclass(frozen=True)
class ProgressRow:
    """A tactic of a proof, and the number of steps that remain after it."""

    theorem: str
    """Name of the theorem, which decides whether the row is held out."""
    goal: str
    """The state before the tactic."""
    prefix: str
    """The tactics before, joined by newlines; empty: none, or unknown."""
    tactic: str
    steps_remaining: float
    """Tactics on the longest branch after this tactic."""
    statement: str = ""
    """The statement of the theorem, if known."""


@dataclass(frozen=True)
class Question:
    """A text for the model, and the correct number of steps."""

    text: str
    steps: float
    of_state: bool
    """True for a question about a state, without a tactic."""


def questions(rows: Iterable[ProgressRow], *, prefix: bool, states: bool) -> list[Question]:
    """The questions about these rows: the steps after each tactic, and with `states` also the steps from each state.
    Equal texts give one question, with the shortest proof in the rows. `prefix`: the text includes the tactics
    before."""
    after: dict[str, float] = {}
    before: dict[str, float] = {}
    for row in rows:
        so_far = row.prefix if prefix else ""
        _keep_least(after, question(row.goal, row.tactic, so_far), row.steps_remaining)
        _keep_least(before, question(row.goal, "", so_far), row.steps_remaining + 1)
    all_questions = [Question(text, steps, False) for text, steps in after.items()]
    return all_questions + [Question(text, steps, True) for text, steps in before.items() if states]


def _keep_least(least: dict[str, float], text: str, steps: float) -> None:
    least[text] = min(steps, least.get(text, steps))


def split(rows: Sequence[ProgressRow], share: int) -> tuple[list[ProgressRow], list[ProgressRow]]:
    """Splits rows into (training, held out). One in `share` theorems is held out with all its rows; 0: none."""
    train: list[ProgressRow] = []
    held_out: list[ProgressRow] = []
    for row in rows:
        (held_out if is_held_out(row.theorem, share) else train).append(row)
    return train, held_out
