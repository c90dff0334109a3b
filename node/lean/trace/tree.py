"""Builds the proof tree of a tactic block from its info tree: which step works on which goal, and what it leaves.

Lean shows lists of goals before and after; a tactic sequence is played over a list of open goals, and every goal knows
the branch (`Slot`) it belongs to. Bullets and cases only choose among the open goals: they make no step. Pure.
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
    """The block does something that is no tree of steps on goals; the message says what."""


@dataclass
class Slot:
    """A branch to be proved: goals that share metavariables, mostly one. `node` is the step that works on it."""

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
    """A goal that is open at some place of a block."""

    text: str
    slot: Slot


@dataclass(frozen=True)
class PlayedStep:
    """A step to be played: its text, its place, and the goals that Lean shows around it."""

    tactic: str
    span: Span
    before: Sequence[str]
    after: Sequence[str]
    premises: tuple[Premise, ...] = ()


Play = Callable[[TacticInfo, list[Open]], list[Open]]
"""Plays one tactic over the open goals and returns those open afterwards."""

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
"""Kinds of syntax that only hold tactics together."""


def items(info: TacticInfo) -> list[TacticInfo]:
    """The tactics that a piece of syntax holds, in the order in which they ran; itself, if it is one."""
    if info.kind in _TRANSPARENT or info.synthetic or info.kind.startswith('"') or not info.kind or _listed(info):
        return inside(info)
    return [info]


def inside(info: TacticInfo) -> list[TacticInfo]:
    """The tactics below a node that stand in the source."""
    return [item for part in info.parts for item in items(part)]


def _listed(info: TacticInfo) -> bool:
    """Whether the node is a bare list of syntax: a piece of a tactic, like `case TAG =>`."""
    return bool(info.node.body) and info.node.body[0].startswith("[")


def root(goals: Sequence[str]) -> tuple[Slot, list[Open]]:
    """The slot of a whole block, and its goals as open ones."""
    slot = Slot(list(goals))
    return slot, [Open(goal, slot) for goal in goals]


def play(infos: Sequence[TacticInfo], opened: list[Open], one: Play) -> list[Open]:
    """Play tactics one after the other. Raises Unsupported."""
    for info in infos:
        opened = one(info, refreshed(opened, info))
    return opened


def refreshed(opened: list[Open], info: TacticInfo) -> list[Open]:
    """The open goals as Lean shows them before a tactic: tags and metavariables may print differently by then."""
    if len(opened) != len(info.before):
        raise Unsupported(f"line {info.span.start[0]}: {len(info.before)} goals, {len(opened)} were expected")
    return [Open(text, goal.slot) for text, goal in zip(info.before, opened, strict=True)]


def step(item: PlayedStep, opened: list[Open]) -> list[Open]:
    """Attach a step to the branch of the first open goal; returns the goals open afterwards. Raises Unsupported."""
    if not opened:
        raise Unsupported(f"`{item.tactic}` where no goal is left")
    untouched = _common_end(opened[1:], item.after)
    if untouched < len(opened) - 1:
        if Counter(item.after) == Counter(goal.text for goal in opened):
            return _permuted(item.after, opened)
        return _step_on_shared(item, opened)
    made = list(item.after[: len(item.after) - untouched])
    slot = opened[0].slot
    mates = [goal for goal in opened[1:] if goal.slot is slot]
    rest = attach(item, slot, [opened[0], *mates], [*made, *(goal.text for goal in mates)])
    following = iter(rest[len(made) :])
    return [*rest[: len(made)], *(next(following) if goal.slot is slot else goal for goal in opened[1:])]


def attach(item: PlayedStep, slot: Slot, worked: Sequence[Open], after: Sequence[str]) -> list[Open]:
    """Make an item the step of a slot whose goals are `worked`, leaving `after`. Returns the goals that it leaves."""
    if slot.node is not None:
        raise Unsupported(f"`{item.tactic}` works on a goal that another step was to close")
    branches = factorise(after)
    slots = [Slot([after[index] for index in branch.goals]) for branch in branches]
    owners = {index: child for branch, child in zip(branches, slots, strict=True) for index in branch.goals}
    slot.goals = [goal.text for goal in worked]
    layout = tuple(branch.goals for branch in branches)
    slot.node = Node(item, tuple(slot.goals), tuple(after), layout, slots)
    return [Open(text, owners[index]) for index, text in enumerate(after)]


def _common_end(opened: Sequence[Open], after: Sequence[str]) -> int:
    """How many of the other goals stand unchanged at the end of the list."""
    count = 0
    while count < min(len(opened), len(after)) and opened[-1 - count].text == after[-1 - count]:
        count += 1
    return count


def _permuted(after: Sequence[str], opened: list[Open]) -> list[Open]:
    """The open goals in another order."""
    left = list(opened)
    found = []
    for text in after:
        goal = next(goal for goal in left if goal.text == text)
        left.remove(goal)
        found.append(goal)
    return found


def _step_on_shared(item: PlayedStep, opened: list[Open]) -> list[Open]:
    """A step that changes other goals, too: they must share metavariables with the one that it works on."""
    slot = opened[0].slot
    others = [goal for goal in opened if goal.slot is not slot]
    left = list(item.after)
    for goal in others:
        if goal.text not in left:
            raise Unsupported(f"`{item.tactic}` works on several independent goals at once")
        left.remove(goal.text)
    rest = iter(attach(item, slot, [goal for goal in opened if goal.slot is slot], left))
    found = []
    for text in item.after:
        other = next((goal for goal in others if goal.text == text), None)
        found.append(next(rest) if other is None else other)
        if other is not None:
            others.remove(other)
    return found


def focused(opened: list[Open], inner: Sequence[TacticInfo], one: Play, index: int = 0) -> list[Open]:
    """Play tactics on one open goal alone; what they leave stands in its place."""
    left = play(inner, [opened[index]], one)
    return [*opened[:index], *left, *opened[index + 1 :]]


def chosen(info: TacticInfo, opened: Sequence[Open]) -> int | None:
    """Which open goal a `case` picked: the one that is gone afterwards; None when it changes other goals, too."""
    texts = [goal.text for goal in opened]
    for index in range(len(texts)):
        if [*texts[:index], *texts[index + 1 :]] == list(info.after):
            return index
    return None


def steps(slot: Slot) -> list[TracedStep]:
    """The tree in pre-order. Raises Unsupported when a branch is left open."""
    records: list[TracedStep] = []
    _collect(slot, -1, 0, records)
    return records


def _collect(slot: Slot, parent: int, branch: int, records: list[TracedStep]) -> int:
    """Add the steps of a slot; returns the tactics on its longest branch."""
    node = slot.node
    if node is None:
        raise Unsupported("a goal is left that no tactic of the block works on")
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
    """The proof that steps in pre-order describe."""
    children: list[list[ProofTree]] = [[] for _ in records]
    tree = ProofTree("")
    for number in reversed(range(len(records))):
        # Pre-order, read from the end: the children are there, the last of them first.
        tree = ProofTree(records[number].tactic, records[number].layout, tuple(reversed(children[number])))
        if records[number].parent >= 0:
            children[records[number].parent].append(tree)
    return tree
