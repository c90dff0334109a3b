"""What LeanTree's own REPL adds to answers: goals in their parts, and which of them share metavariables. Pure.

LeanTree's client splits goals into branches by these. Its REPL is a fork of the community's, with these fields in every
answer; a session has them when it is told to.
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
from node.lean.text.goals import metavariables
from node.lean.text.leantree_goals import from_text

ANONYMOUS = "[anonymous]"

VERIFIED = "OK"


def goal_id(state: int, number: int) -> str:
    """The name of a goal: of a proof state, by its place among the goals."""
    return f"_proofmesh.{state}.{number}"


def goal_info(goal: str, name: str) -> GoalInfo:
    """A printed goal in its parts."""
    read = from_text(goal)
    hypotheses = [
        HypothesisInfo(item.user_name, item.type, item.value, f"{name}.{number}")
        for number, item in enumerate(read.hypotheses)
    ]
    return GoalInfo(read.tag or ANONYMOUS, read.type, hypotheses, name)


def context(goals: Sequence[GoalInfo], printed: Sequence[str]) -> MetavariableContext:
    """The metavariables that goals are, each with those that it mentions, by name or by the goal that one is."""
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
    """What is wrong with a step that led to a state of this status; `OK` when nothing is."""
    if status == ProofStatus.HAS_METAVARIABLES:
        return "Error: the step leaves metavariables that are no goals"
    return status if status.startswith("Error: ") else VERIFIED
