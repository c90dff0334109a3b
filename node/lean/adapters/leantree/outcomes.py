"""What a LeanTree server's answers mean as outcomes. Pure.

Servers of others say in words what ours says as `kind`; the words below are those of LeanTree and of the REPL under it.
"""

from __future__ import annotations

import re

from common.lean import Branch, Outcome, OutcomeKind
from node.lean.adapters.leantree.protocol import BranchAnswer, TacticAnswer
from node.lean.text.goals import state_text
from node.lean.text.leantree_goals import to_text
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
    """What became of a tactic."""
    if answer.error is not None or answer.value is None:
        return _failure(answer.error or "the server gave no reason", answer.kind)
    branches = [branch for branch in answer.value if branch.goals]
    if not branches:
        return Outcome(OutcomeKind.PROVED)
    size = sum(len(to_text(goal)) for branch in branches for goal in branch.goals)
    if size > MAX_GOALS:
        return Outcome(OutcomeKind.ERROR, message=f"it leaves goals of {size} characters; {MAX_GOALS} are passed on")
    if sum(len(branch.goals) > 1 for branch in branches) > 1:
        return Outcome(OutcomeKind.ERROR, message="it leaves several groups of goals that share metavariables")
    return Outcome(OutcomeKind.GOALS, tuple(Branch(text(branch), places) for branch, places in placed(branches)))


def process_failure(reason: str) -> OutcomeKind:
    """What the loss of a process says about the tactic that it was running; LOST when it says nothing."""
    for kind, words in _WORDS[:2]:
        if re.search(words, reason, re.IGNORECASE):
            return kind
    return OutcomeKind.CRASHED if _DIED.search(reason) else OutcomeKind.LOST


def text(branch: BranchAnswer) -> str:
    """The text of a state, as every backend prints it."""
    return state_text([to_text(goal) for goal in branch.goals])


def placed(branches: list[BranchAnswer]) -> list[tuple[BranchAnswer, tuple[int, ...]]]:
    """Branches with the places of their goals in Lean's list; one with several goals last.

    A server that names no places lists branches by their first goal, and goals that share a metavariable nearly always
    stand side by side: so they are counted through. A proof put together wrongly is not accepted in the end.
    """
    counted: list[tuple[BranchAnswer, tuple[int, ...]]] = []
    first = 0
    for branch in branches:
        places = branch.positions or tuple(range(first, first + len(branch.goals)))
        counted.append((branch, places))
        first += len(branch.goals)
    return sorted(counted, key=lambda item: len(item[1]) > 1)


def _failure(error: str, kind: str | None) -> Outcome:
    named = _KINDS.get(kind or "")
    if named is None or named in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        named = next((kind for kind, words in _WORDS if re.search(words, error)), OutcomeKind.ERROR)
    return Outcome(named, message=error[:MAX_MESSAGE])
