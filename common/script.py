"""Writes paths and finished proofs as Lean tactic scripts.

One of several independent goals is worked on inside a bullet. Goals that share a metavariable cannot be split by
bullets: they stay together and are worked on last, at the level of the tactic that made them, when every other goal
has been closed. Lean's bullets focus on the first goal, so `rotate_left` brings each bulleted goal to the front;
with a plain layout it is never needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from common.lean import Layout, ProofTree, Step

INDENT = "  "


_OPEN_ENDED = re.compile(r"\bcalc\b")
"""A `calc` takes the lines below it for more steps, bullets included: so it stands in parentheses."""


def indent_tactic(tactic: str, prefix: str) -> list[str]:
    """Lines of a tactic under `prefix`: the first line starts there, the others keep their indentation relative to
    it."""
    text = tactic.strip("\n")
    if _OPEN_ENDED.search(text):
        text = "(" + text.replace("\n", "\n ") + "\n)"
    return [prefix + line if line.strip() else "" for line in text.split("\n")]


def _bullet(lines: Sequence[str], prefix: str) -> list[str]:
    """Turn lines that are indented one level below `prefix` into a bullet at `prefix`."""
    head = prefix + "· " + lines[0][len(prefix) + len(INDENT) :]
    return [head, *lines[1:]]


def _branches(layout: Layout, prefix: str, body: Callable[[int, str], list[str]]) -> list[str]:
    """Lines for all branches of a layout; `body(i, prefix)` gives the lines of branch i at an indentation."""
    if len(layout) == 1:
        return body(0, prefix)
    goals = sorted(goal for branch in layout for goal in branch)
    lines: list[str] = []
    shared: int | None = None
    for index, branch in enumerate(layout):
        if len(branch) > 1:
            if shared is not None:
                raise ValueError(f"layout {layout} has two branches with several goals; they must be one")
            shared = index
            continue
        position = goals.index(branch[0])
        if position:
            lines.append(f"{prefix}rotate_left {position}")
            goals = goals[position:] + goals[:position]
        lines += _bullet(body(index, prefix + INDENT), prefix)
        goals.pop(0)
    if shared is not None:
        position = goals.index(min(goals))
        if position:
            lines.append(f"{prefix}rotate_left {position}")
        lines += body(shared, prefix)
    return lines


def path_lines(path: Sequence[Step], hole: Callable[[str], list[str]], prefix: str = INDENT) -> list[str]:
    """The script that leads to a state: every step's tactic, `· sorry` for branches not followed, `hole` where the
    path ends.

    `hole(prefix)` returns the lines to put at the end of the path, at that indentation; it must return at least one
    line.
    """
    if not path:
        return hole(prefix)
    step, rest = path[0], path[1:]

    def body(index: int, prefix: str) -> list[str]:
        return path_lines(rest, hole, prefix) if index == step.branch else [prefix + "sorry"]

    return indent_tactic(step.tactic, prefix) + _branches(step.layout, prefix, body)


def proof_lines(proof: ProofTree, prefix: str = INDENT) -> list[str]:
    """A finished proof as the lines of one tactic block."""
    lines = indent_tactic(proof.tactic, prefix)
    if proof.children:
        lines += _branches(proof.layout, prefix, lambda index, prefix: proof_lines(proof.children[index], prefix))
    return lines


def proof_script(proof: ProofTree) -> str:
    """The tactic block of a finished proof, indented by two spaces, to stand after `:= by`."""
    return "\n".join(proof_lines(proof))
