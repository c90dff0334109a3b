"""Proof trees as LeanTree's own REPL tells them: a step for each goal that a tactic works on. Pure.

LeanTree builds its trees from these edges and replays them; what it cannot replay it records as an error. The steps are
those of a trace: atomic where Lean accepts the split proof. LeanTree would split them again by their places: so one of
a block's steps has the place of them all, and the others have none, which makes LeanTree take their texts as they are.
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
    """The edges of a theorem's blocks, block by block; none where one of them has no tree.

    `code`: the command that the theorem stands in; `line`: lines of the traced text before it.
    """
    if theorem.error or any(block.problem or not block.steps for block in theorem.blocks):
        return []
    found: list[ProofTreeEdge] = []
    for number, block in enumerate(theorem.blocks):
        start = offset(code, block.start, line) + len("by")
        inside = lex(code[start:]).code  # comments are blank there
        start += len(inside) - len(inside.lstrip())
        finish = CommandPosition(block.end[0] - line, block.end[1])
        found += _block(block, f"_proofmesh.{theorem.start[0]}.{number}", _place(code, start), finish)
    return found


def offset(code: str, place: Position, line: int) -> int:
    """A place in a text, of which the command begins behind so many lines, as a character of the command; -1 before."""
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

    left: list[list[GoalInfo]] = []
    """By step, the goals that it leaves."""
    placed = next((step for step in block.steps if _may_have_a_place(step)), block.steps[-1])
    for step in block.steps:
        before = _goals_before(step, block.steps, left) or [fresh(goal) for goal in step.goals]
        kept = _kept(step)
        made = [fresh(goal) for goal in step.after[: len(step.after) - kept]]
        left.append([*made, *before[len(before) - kept :]])
        place = (start, finish) if step is placed else (None, None)
        yield ProofTreeEdge(step.tactic, before[0], made, *place)


def _goals_before(step: TracedStep, steps: Sequence[TracedStep], left: Sequence[Sequence[GoalInfo]]) -> list[GoalInfo]:
    """The goals that a step works on, as its parent has left them; none for the first step."""
    if step.parent < 0:
        return []
    return [left[step.parent][index] for index in steps[step.parent].layout[step.branch]]


def _may_have_a_place(step: TracedStep) -> bool:
    """Whether LeanTree leaves a step with a place as it is: it takes `with` apart, and orders goals by places."""
    return len(step.goals) == 1 and not _WITH.match(step.tactic)


def _kept(step: TracedStep) -> int:
    """How many of the other goals a step leaves as they are: they stand behind those that it makes."""
    count = 0
    others = step.goals[1:]
    while count < min(len(others), len(step.after)) and others[-1 - count] == step.after[-1 - count]:
        count += 1
    return count
