"""Converts the answers of a LeanTree server to outcomes. Pure.

Our server's answers have the field `kind`. For external servers, the kind of an error is found in its text, with the
patterns below. They match the messages of LeanTree and of its REPL.
"""

from __future__ import annotations

import re

from common.lean import Branch, Outcome, OutcomeKind
from node.lean.adapters.leantree.protocol import BranchAnswer, TacticAnswer
from node.lean.text.goals import state_text, to_text
from node.lean.worker.reading import MAX_GOALS, MAX_MESSAGE

_WORDS = (
    (OutcomeKind.TIMEOUT, r"\(deterministic\) timeout|maximum number of heartbeats|timed out|did not respond within"),
    (OutcomeKind.MEMORY, r"out of memory|cannot allocate memory|bad_alloc|RLIMIT_AS|memory ceiling"),
    (OutcomeKind.REFUSED, r"Search tactics .* not allowed|`sorry` not allowed"),
)

_DIED = re.compile(
    r"ended unexpectedly|has terminated|stack overflow|broken pipe|failed to send data to REPL|killed by|segfault",
    re.IGNORECASE,
)

_KINDS = {str(kind): kind for kind in OutcomeKind}


def outcome(answer: TacticAnswer) -> Outcome:
    """The outcome of a tactic."""
    if answer.error is not None or answer.value is None:
        return _failure(answer.error or "the server's answer has no error message", answer.kind)
    branches = [branch for branch in answer.value if branch.goals]
    if not branches:
        return Outcome(OutcomeKind.PROVED)
    size = sum(len(to_text(goal)) for branch in branches for goal in branch.goals)
    if size > MAX_GOALS:
        message = f"it leaves goals of {size} characters; the limit is {MAX_GOALS} characters"
        return Outcome(OutcomeKind.ERROR, message=message)
    if sum(len(branch.goals) > 1 for branch in branches) > 1:
        return Outcome(OutcomeKind.ERROR, message="it leaves several groups of goals that share metavariables")
    return Outcome(OutcomeKind.GOALS, tuple(Branch(text(branch), places) for branch, places in placed(branches)))


def process_failure(reason: str) -> OutcomeKind:
    """The outcome of a tactic whose process ended for this reason; LOST if the tactic may not be the cause."""
    for kind, words in _WORDS[:2]:
        if re.search(words, reason, re.IGNORECASE):
            return kind
    return OutcomeKind.CRASHED if _DIED.search(reason) else OutcomeKind.LOST


def text(branch: BranchAnswer) -> str:
    """The text of a state, in the form that all backends use."""
    return state_text([to_text(goal) for goal in branch.goals])


def placed(branches: list[BranchAnswer]) -> list[tuple[BranchAnswer, tuple[int, ...]]]:
    """Branches with the indices of their goals in Lean's list; a branch with several goals comes last.

    If the server sends no indices, the goals are numbered in the order of the branches. This is nearly always correct:
    such servers list branches by their first goal, and goals that share a metavariable are nearly always adjacent. With
    wrong indices the joined proof is wrong, and verification rejects it.
    """
    counted: list[tuple[BranchAnswer, tuple[int, ...]]] = []
    first = 0
    for branch in branches:
        places = branch.positions or tuple(range(first, first + len(branch.goals)))
        counted.append((branch, places))
        first += len(branch.goals)
    return sorted(counted, key=lambda item: len(item[1]) > 1)


def _failure(error: str, kind: str | None) -> Outcome:
    outcome_kind = _KINDS.get(kind or "")
    if outcome_kind is None or outcome_kind in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        outcome_kind = next((kind for kind, words in _WORDS if re.search(words, error)), OutcomeKind.ERROR)
    return Outcome(outcome_kind, message=error[:MAX_MESSAGE])
