"""Parses rows of training data: lines of JSON, rows of datasets, files. Pure.

Transitions come as the bank writes them (`state`, `tactic`, `remaining_steps`), as our traces (`theorems` with
`blocks` of `steps`) and as LeanTree's files (`theorems` with `by_blocks` of trees; the schema of
github.com/Kripner/leantree, `proof_depth` being the remaining steps). Errors that a trace recorded are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from common.protocol.attempts import Transition
from node.lean.text.goals import LeanTreeGoal, split_goals, state_text, to_text

Row = Mapping[str, Any]

TEXT_FIELDS = ("text", "content", "code", "formal_statement")
"""Fields that may hold the text of a row, in this order, unless the settings name one."""

REFUSED = ("sorry", "admit")
"""Tactics with one of these words are not proofs."""


NOTHING_LEFT = "no goals"
"""The state after a tactic that closed its goal, in Lean's words."""


class BadRow(ValueError):
    """A row in an unknown format. The message names its fields and the expected ones."""


@dataclass(frozen=True)
class TheoremTransition:
    """A transition and its theorem. Held-out data is chosen by theorem."""

    theorem: str
    transition: Transition
    state_after: str = ""
    """The state after the tactic, in the policy's format; empty if the data does not have it."""


def text_of(row: Row, field: str = "") -> str:
    """The text of a row. Raises BadRow."""
    for name in (field,) if field else TEXT_FIELDS:
        if isinstance(row.get(name), str):
            return str(row[name])
    wanted = f"`{field}`" if field else " or ".join(f"`{name}`" for name in TEXT_FIELDS)
    raise BadRow(f"no text in {wanted}; the row has {fields_of(row)}")


def steps_of(row: Row) -> Iterator[TheoremTransition]:
    """The transitions of a row, in order. Raises BadRow."""
    try:
        if "state" in row and "tactic" in row:
            yield _plain(row)
        elif "theorems" in row:
            for theorem in row["theorems"] or ():
                yield from _theorem(row, theorem)
        else:
            raise BadRow(f"no transitions: expected `state` and `tactic`, or `theorems`; the row has {fields_of(row)}")
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise BadRow(f"not the transitions that it seems to be: {type(error).__name__} {error}") from error


def _plain(row: Row) -> TheoremTransition:
    state, tactic, steps = row["state"], row["tactic"], row.get("remaining_steps", row.get("proof_depth"))
    if not isinstance(state, str) or not isinstance(tactic, str):
        raise BadRow("`state` and `tactic` must be texts")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise BadRow(f"`remaining_steps` is {steps!r}; it must be a whole number of at least 1")
    # A row without a theorem's name is a theorem of its own.
    theorem = str(row.get("theorem") or row.get("full_name") or state)
    return TheoremTransition(theorem, Transition(state, tactic, steps), _state_after(row))


def _state_after(row: Row) -> str:
    """The state after the tactic: `state_after` of our traces, as Lean prints it; or `after` of a step of a theorem,
    goal by goal. Normalised like states, so that equal states have equal texts."""
    printed = row.get("state_after")
    goals = split_goals(printed) if isinstance(printed, str) else list(row.get("after") or ())
    if not goals:
        return NOTHING_LEFT if printed is not None or "after" in row else ""
    return state_text(goals)


def _theorem(row: Row, theorem: Row) -> Iterator[TheoremTransition]:
    name = f"{row.get('path', '')}:{theorem.get('name') or theorem.get('span') or theorem.get('start')}"
    if theorem.get("error"):
        return
    for block in theorem.get("blocks") or ():
        for step in block.get("steps") or ():
            yield from _useful(name, step["state"], step["tactic"], step["remaining_steps"], _state_after(step))
    for block in theorem.get("by_blocks") or ():
        tree = None if block.get("error") else block["tree"]
        if tree and not tree.get("error"):
            yield from _leantree(name, tree["nodes"])


def _leantree(name: str, nodes: list[Row]) -> Iterator[TheoremTransition]:
    states = {node["id"]: _goals(node) for node in nodes if node.get("state")}
    for node in nodes:
        edge = node.get("tactic")
        if edge and states.get(node["id"]):
            left = [goal for child in edge.get("children") or () for goal in states.get(child, [])]
            after = state_text(left) if left else "" if edge.get("children") else NOTHING_LEFT
            yield from _useful(name, state_text(states[node["id"]]), edge["tactic_string"], node["proof_depth"], after)


def _goals(node: Row) -> list[str]:
    """The goals of a node as Lean prints them, so that equal states from different sources have equal texts."""
    try:
        return [to_text(msgspec.convert(goal, LeanTreeGoal)) for goal in node["state"]["goals"]]
    except msgspec.ValidationError as error:
        raise BadRow(f"no goal of LeanTree's: {error}") from error


def _useful(name: str, state: str, tactic: str, steps: int, after: str = "") -> Iterator[TheoremTransition]:
    if not any(word in tactic.split() for word in REFUSED):
        yield TheoremTransition(name, Transition(state, tactic, steps), after)


def fields_of(row: Row) -> str:
    """The names of a row's fields, for a message."""
    return ", ".join(f"`{name}`" for name in list(row)[:8]) or "no fields"
