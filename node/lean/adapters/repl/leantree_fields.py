"""The fields that LeanTree's REPL adds to answers: the parts of goals, and the metavariables that goals share. Pure.

LeanTree's client uses them to split goals into branches. Its REPL is a fork of the community's with these fields in
every answer. A `ReplSession` adds them if its `leantree` is set.
"""

from __future__ import annotations

from collections.abc import Sequence

from node.lean.adapters.repl.protocol import (
    GoalInfo,
    HypothesisInfo,
    MetavariableContext,
    MetavariableDeclaration,
    ProofStatus,
)
from node.lean.text.goals import from_text, metavariables

ANONYMOUS = "[anonymous]"

VERIFIED = "OK"


def goal_id(state: int, number: int) -> str:
    """The id of a goal, from the number of its proof state and its index among the goals."""
    return f"_proofmesh.{state}.{number}"


def goal_info(goal: str, name: str) -> GoalInfo:
    """The parts of a printed goal. `name`: its id."""
    parts = from_text(goal)
    hypotheses = [
        HypothesisInfo(item.user_name, item.type, item.value, f"{name}.{number}")
        for number, item in enumerate(parts.hypotheses)
    ]
    return GoalInfo(parts.tag or ANONYMOUS, parts.type, hypotheses, name)


def context(goals: Sequence[GoalInfo], printed: Sequence[str]) -> MetavariableContext:
    """The metavariables of the goals, each with the metavariables in its type. One that is a goal has the goal's id."""
    owners = {f"?{goal.username}": goal.id for goal in goals if goal.username != ANONYMOUS}
    return MetavariableContext(
        [
            MetavariableDeclaration(
                goal.id, goal.username, goal.type, sorted(owners.get(name, name) for name in metavariables(text))
            )
            for goal, text in zip(goals, printed, strict=True)
        ]
    )


def verification(status: str) -> str:
    """The error of a step that led to a state with this status; `OK` without an error."""
    if status == ProofStatus.HAS_METAVARIABLES:
        return "Error: the step leaves metavariables that are not goals"
    return status if status.startswith("Error: ") else VERIFIED
