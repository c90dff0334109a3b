"""Builds the proof tree of a tactic block from its info tree: the goals each step works on and the goals it leaves.

Lean shows lists of goals before and after each tactic. The tactics are replayed over a list of open goals. Every goal
knows the branch (`Slot`) it belongs to. Bullets and cases only select open goals and do not count as steps. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from common.lean import Layout, ProofTree
from node.lean.text.goals import factorise, state_text
from node.lean.trace.infotree import Span, TacticInfo
from node.lean.trace.records import Premise, TracedStep


class Unsupported(ValueError):
    """The block cannot be written as a tree of steps on goals. The message says why."""


@dataclass
class Slot:
    """A branch to prove: one goal, or several that share metavariables. `node` is the step that works on it."""

    goals: list[str]
    node: Node | None = None


@dataclass
class Node:
    """A step of the tree."""

    item: PlayedStep
    goals: tuple[str, ...]
    after: tuple[str, ...]
    layout: Layout
    children: list[Slot]


@dataclass
class Open:
    """A goal that is open at a point of the replay."""

    text: str
    slot: Slot


@dataclass(frozen=True)
class PlayedStep:
    """A step to replay: its text, its span, and the goals that Lean shows before and after it."""

    tactic: str
    span: Span
    before: Sequence[str]
    after: Sequence[str]
    premises: tuple[Premise, ...] = ()


Play = Callable[[TacticInfo, list[Open]], list[Open]]
"""Replays one tactic over the open goals, and returns the goals open afterwards."""

_TRANSPARENT = frozenset(
    {
        "Lean.cdotTk",
        "Term.byTactic",
        "Tactic.tacticSeq",
        "Tactic.tacticSeq1Indented",
        "Tactic.tacticSeqBracketed",
        "Tactic.paren",
    }
)
"""Kinds of syntax that only group tactics."""


def items(info: TacticInfo) -> list[TacticInfo]:
    """The tactics in a piece of syntax, in the order in which they ran; the piece itself if it is a tactic."""
    if info.kind in _TRANSPARENT or info.synthetic or info.kind.startswith('"') or not info.kind or _listed(info):
        return inside(info)
    return [info]


def inside(info: TacticInfo) -> list[TacticInfo]:
    """The tactics below a node that are in the source."""
    return [item for part in info.parts for item in items(part)]


def _listed(info: TacticInfo) -> bool:
    """True if the node is a bare list of syntax, which is a piece of a tactic like `case TAG =>`."""
    return bool(info.node.body) and info.node.body[0].startswith("[")


def root(goals: Sequence[str]) -> tuple[Slot, list[Open]]:
    """The slot of a whole block, and its goals as open goals."""
    slot = Slot(list(goals))
    return slot, [Open(goal, slot) for goal in goals]


def play(infos: Sequence[TacticInfo], opened: list[Open], one: Play) -> list[Open]:
    """Replay tactics one after the other. Raises Unsupported."""
    for info in infos:
        opened = one(info, refreshed(opened, info))
    return opened


def refreshed(opened: list[Open], info: TacticInfo) -> list[Open]:
    """The open goals with the texts that Lean shows before a tactic. Tags and metavariables may have changed."""
    if len(opened) != len(info.before):
        raise Unsupported(f"line {info.span.start[0]}: {len(info.before)} goals, but {len(opened)} were expected")
    return [Open(text, goal.slot) for text, goal in zip(info.before, opened, strict=True)]


def step(item: PlayedStep, opened: list[Open]) -> list[Open]:
    """Attach a step to the branch of the first open goal. Returns the goals open afterwards. Raises Unsupported."""
    if not opened:
        raise Unsupported(f"`{item.tactic}` runs when no goal is left")
    untouched = _common_end(opened[1:], item.after)
    if untouched < len(opened) - 1:
        if Counter(item.after) == Counter(goal.text for goal in opened):
            return _permuted(item.after, opened)
        return _step_on_shared(item, opened)
    new_goals = list(item.after[: len(item.after) - untouched])
    slot = opened[0].slot
    # The step takes over the whole slot, so goals that share metavariables with its goal move to new slots, too.
    mates = [goal for goal in opened[1:] if goal.slot is slot]
    attached = attach(item, slot, [opened[0], *mates], [*new_goals, *(goal.text for goal in mates)])
    following = iter(attached[len(new_goals) :])
    return [*attached[: len(new_goals)], *(next(following) if goal.slot is slot else goal for goal in opened[1:])]


def attach(item: PlayedStep, slot: Slot, worked: Sequence[Open], after: Sequence[str]) -> list[Open]:
    """Make an item the step of a slot with the goals `worked`. Returns the goals that it leaves, with texts `after`."""
    if slot.node is not None:
        raise Unsupported(f"`{item.tactic}` works on a goal that already has a step")
    branches = factorise(after)
    slots = [Slot([after[index] for index in branch.goals]) for branch in branches]
    owners = {index: child for branch, child in zip(branches, slots, strict=True) for index in branch.goals}
    slot.goals = [goal.text for goal in worked]
    layout = tuple(branch.goals for branch in branches)
    slot.node = Node(item, tuple(slot.goals), tuple(after), layout, slots)
    return [Open(text, owners[index]) for index, text in enumerate(after)]


def _common_end(opened: Sequence[Open], after: Sequence[str]) -> int:
    """Number of the other goals that are unchanged at the end of the list."""
    count = 0
    while count < min(len(opened), len(after)) and opened[-1 - count].text == after[-1 - count]:
        count += 1
    return count


def _permuted(after: Sequence[str], opened: list[Open]) -> list[Open]:
    """The open goals in the order of the texts `after`."""
    remaining = list(opened)
    ordered = []
    for text in after:
        goal = next(goal for goal in remaining if goal.text == text)
        remaining.remove(goal)
        ordered.append(goal)
    return ordered


def _step_on_shared(item: PlayedStep, opened: list[Open]) -> list[Open]:
    """Attach a step that also changes other goals, which must share metavariables with the first one."""
    slot = opened[0].slot
    independent = [goal for goal in opened if goal.slot is not slot]
    changed = list(item.after)
    for goal in independent:
        if goal.text not in changed:
            raise Unsupported(f"`{item.tactic}` works on several independent goals at once")
        changed.remove(goal.text)
    attached = iter(attach(item, slot, [goal for goal in opened if goal.slot is slot], changed))
    result = []
    for text in item.after:
        unchanged = next((goal for goal in independent if goal.text == text), None)
        result.append(next(attached) if unchanged is None else unchanged)
        if unchanged is not None:
            independent.remove(unchanged)
    return result


def focused(opened: list[Open], inner: Sequence[TacticInfo], one: Play, index: int = 0) -> list[Open]:
    """Replay tactics on one open goal alone. The goals that they leave take its place."""
    remaining = play(inner, [opened[index]], one)
    return [*opened[:index], *remaining, *opened[index + 1 :]]


def chosen(info: TacticInfo, opened: Sequence[Open]) -> int | None:
    """Index of the open goal that a `case` selected, which is gone afterwards; None if it changed other goals, too."""
    texts = [goal.text for goal in opened]
    for index in range(len(texts)):
        if [*texts[:index], *texts[index + 1 :]] == list(info.after):
            return index
    return None


def steps(slot: Slot) -> list[TracedStep]:
    """The steps of the tree in pre-order. Raises Unsupported if a branch is open."""
    records: list[TracedStep] = []
    _collect(slot, -1, 0, records)
    return records


def _collect(slot: Slot, parent: int, branch: int, records: list[TracedStep]) -> int:
    """Add the steps of a slot. Returns the number of tactics on its longest branch."""
    node = slot.node
    if node is None:
        raise Unsupported("no tactic of the block works on one of the goals")
    number = len(records)
    records.append(_record(node, parent, branch))
    longest = 0
    for index, child in enumerate(node.children):
        longest = max(longest, _collect(child, number, index, records))
    records[number] = msgspec.structs.replace(records[number], remaining_steps=longest + 1)
    return longest + 1


def _record(node: Node, parent: int, branch: int) -> TracedStep:
    span = node.item.span
    return TracedStep(
        tactic=node.item.tactic,
        start=span.start,
        end=span.end,
        goals=node.goals,
        state=state_text(node.goals),
        after=node.after,
        layout=node.layout,
        parent=parent,
        branch=branch,
        remaining_steps=0,
        premises=node.item.premises,
    )


def proof_tree(records: Sequence[TracedStep]) -> ProofTree:
    """The proof tree from its steps in pre-order."""
    children: list[list[ProofTree]] = [[] for _ in records]
    tree = ProofTree("")
    for number in reversed(range(len(records))):
        # Reading pre-order backwards visits the children before their parent, the last child first.
        tree = ProofTree(records[number].tactic, records[number].layout, tuple(reversed(children[number])))
        if records[number].parent >= 0:
            children[records[number].parent].append(tree)
    return tree
