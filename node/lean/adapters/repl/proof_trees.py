"""Makes the proof trees of LeanTree's REPL: an edge for each step of a tactic on a goal. Pure.

LeanTree builds its trees from these edges and replays them. If it cannot replay an edge, it records an error. The steps
are those of a trace, which are atomic if Lean accepts the split proof. LeanTree would split them again by their
positions. So one step of a block has the position of the whole block, and the others have none, which makes LeanTree
use their texts unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from node.lean.adapters.repl.leantree_fields import goal_info
from node.lean.adapters.repl.protocol import CommandPosition, GoalInfo
from node.lean.text.lexing import lex
from node.lean.trace.infotree import Position
from node.lean.trace.records import TracedBlock, TracedStep, TracedTheorem

_WITH = re.compile(r"(?:cases|induction)\b.*\bwith\b", re.DOTALL)


class ProofTreeEdge(msgspec.Struct, rename="camel"):
    """A tactic on a goal, and the goals that it leaves."""

    tactic_string: str
    goal_before: GoalInfo
    goals_after: list[GoalInfo]
    start: CommandPosition | None
    finish: CommandPosition | None
    spawned_goals: list[GoalInfo] = []
    mctx_before: Any = None
    mctx_after: Any = None
    tactic_depends_on: list[str] = []
    info_tree: Any = None


def edges(theorem: TracedTheorem, code: str, line: int) -> list[ProofTreeEdge]:
    """The edges of a theorem's blocks, block by block; empty if one of the blocks has no tree.

    `code`: the command with the theorem. `line`: number of lines of the traced text before the command.
    """
    if theorem.error or any(block.problem or not block.steps for block in theorem.blocks):
        return []
    tree_edges: list[ProofTreeEdge] = []
    for number, block in enumerate(theorem.blocks):
        start = offset(code, block.start, line) + len("by")
        inside = lex(code[start:]).code  # comments are blank there
        start += len(inside) - len(inside.lstrip())
        finish = CommandPosition(block.end[0] - line, block.end[1])
        tree_edges += _block(block, f"_proofmesh.{theorem.start[0]}.{number}", _place(code, start), finish)
    return tree_edges


def offset(code: str, place: Position, line: int) -> int:
    """The character of the command at a position of a text; -1 if the position is before the command.

    `line`: number of lines of the text before the command.
    """
    row = place[0] - line - 1
    return -1 if row < 0 else sum(len(text) + 1 for text in code.split("\n")[:row]) + place[1]


def _place(code: str, at: int) -> CommandPosition:
    return CommandPosition(code.count("\n", 0, at) + 1, at - (code.rfind("\n", 0, at) + 1))


def _block(block: TracedBlock, name: str, start: CommandPosition, finish: CommandPosition) -> Iterator[ProofTreeEdge]:
    counter = 0

    def fresh(goal: str) -> GoalInfo:
        nonlocal counter
        counter += 1
        return goal_info(goal, f"{name}.{counter}")

    goals_after: list[list[GoalInfo]] = []
    """The goals after each step."""
    placed = next((step for step in block.steps if _may_have_a_place(step)), block.steps[-1])
    for step in block.steps:
        before = _goals_before(step, block.steps, goals_after) or [fresh(goal) for goal in step.goals]
        unchanged = _unchanged(step)
        new_goals = [fresh(goal) for goal in step.after[: len(step.after) - unchanged]]
        goals_after.append([*new_goals, *before[len(before) - unchanged :]])
        place = (start, finish) if step is placed else (None, None)
        yield ProofTreeEdge(step.tactic, before[0], new_goals, *place)


def _goals_before(
    step: TracedStep, steps: Sequence[TracedStep], goals_after: Sequence[Sequence[GoalInfo]]
) -> list[GoalInfo]:
    """The goals before a step, which its parent step has left; empty for the first step."""
    if step.parent < 0:
        return []
    return [goals_after[step.parent][index] for index in steps[step.parent].layout[step.branch]]


def _may_have_a_place(step: TracedStep) -> bool:
    """True when LeanTree does not change a step with a position: it splits `with`, and orders goals by positions."""
    return len(step.goals) == 1 and not _WITH.match(step.tactic)


def _unchanged(step: TracedStep) -> int:
    """The number of goals, after the first, that a step does not change. They come after the goals that it makes."""
    count = 0
    side_goals = step.goals[1:]
    while count < min(len(side_goals), len(step.after)) and side_goals[-1 - count] == step.after[-1 - count]:
        count += 1
    return count
