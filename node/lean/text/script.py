"""Writes paths and finished proofs as Lean tactic scripts.

If a tactic leaves several independent goals, each is proved inside a bullet. Goals that share a metavariable cannot be
split by bullets. They stay together and are proved last, at the level of the tactic that created them, after all other
goals are closed. Lean's bullets focus on the first goal, so `rotate_left` brings each bulleted goal to the front. A
plain layout never needs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from common.lean import Context, Layout, Place, ProofTree, Step, Theorem

INDENT = "  "

MOST_NESTED = 1000
"""Most levels of nested bullets. The text grows with the square of it, to a million characters of indentation."""

ELSEWHERE = -1
"""Stands for a branch that the path does not follow, in place of a depth."""

N = TypeVar("N")

Below = tuple[Layout, Sequence[N]]
"""The layout of the goals that a tactic left, and the nodes of its branches; no nodes if it closed its goal."""

_OPEN_ENDED = re.compile(r"\bcalc\b")
"""A `calc` reads the lines below it, including bullets, as further steps. So it is put in parentheses."""


def indent_tactic(tactic: str, prefix: str) -> list[str]:
    """Lines of a tactic at the indentation `prefix`. Further lines keep their indentation relative to the first."""
    text = tactic.strip("\n")
    if _OPEN_ENDED.search(text):
        text = "(" + text.replace("\n", "\n ") + "\n)"
    return [prefix + line if line.strip() else "" for line in text.split("\n")]


def _parts(layout: Layout, prefix: str) -> list[str | tuple[int, str, bool]]:
    """The lines and branches below a tactic that left these branches, in order. A branch is a tuple (number,
    indentation, True if it begins with a bullet)."""
    if len(layout) == 1:
        return [(0, prefix, False)]
    # Lean has the goals in one list. A bullet works on the first of it, so a branch's goal is rotated to the front.
    goals = sorted(goal for branch in layout for goal in branch)
    parts: list[str | tuple[int, str, bool]] = []
    shared: int | None = None

    def to_front(goal: int) -> None:
        nonlocal goals
        position = goals.index(goal)
        if position:
            parts.append(f"{prefix}rotate_left {position}")
            goals = goals[position:] + goals[:position]

    for index, branch in enumerate(layout):
        if len(branch) > 1:
            # Goals that share a metavariable come last and without a bullet, since a bullet shows a single goal.
            if shared is not None:
                raise ValueError(f"layout {layout} has two branches with several goals; they must be one")
            shared = index
            continue
        to_front(branch[0])
        parts.append((index, prefix + INDENT, True))
        goals.pop(0)
    if shared is not None:
        to_front(min(goals))
        parts.append((shared, prefix, False))
    return parts


def _write(root: N, prefix: str, own: Callable[[N, str], list[str]], below: Callable[[N], Below[N]]) -> list[str]:
    """All lines of a tree of tactics: a node's `own` lines at an indentation, then those of the nodes `below` it.

    Not recursive, so a proof may be as deep as it is long. Raises ValueError if bullets nest too deeply, because the
    text would be mostly indentation.
    """
    lines: list[str] = []
    todo: list[str | tuple[N, str, bool]] = [(root, prefix, False)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, prefix, bullet = item
        if len(prefix) > MOST_NESTED * len(INDENT):
            raise ValueError(f"the proof's bullets are nested deeper than {MOST_NESTED} levels")
        first, *further = own(node, prefix)
        lines += [prefix[: -len(INDENT)] + "· " + first[len(prefix) :] if bullet else first, *further]
        layout, children = below(node)
        for part in reversed(_parts(layout, prefix) if children else []):
            if isinstance(part, str):
                todo.append(part)
                continue
            number, indentation, bulleted = part
            if number >= len(children):
                raise ValueError(f"layout {layout} does not fit its {len(children)} branches")
            todo.append((children[number], indentation, bulleted))
    return lines


def path_lines(path: Sequence[Step], hole: Callable[[str], list[str]], prefix: str = INDENT) -> list[str]:
    """The script that leads to a state: the tactic of each step, and `· sorry` for branches that are not followed.

    `hole(prefix)` returns the lines for the end of the path at that indentation, at least one. Raises ValueError; see
    `_write`.
    """

    def own(depth: int, prefix: str) -> list[str]:
        if depth == ELSEWHERE:
            return [prefix + "sorry"]
        return hole(prefix) if depth == len(path) else indent_tactic(path[depth].tactic, prefix)

    def below(depth: int) -> Below[int]:
        if depth in (ELSEWHERE, len(path)):
            return (), ()
        step = path[depth]
        return step.layout, [depth + 1 if index == step.branch else ELSEWHERE for index in range(len(step.layout))]

    return _write(0, prefix, own, below)


def proof_lines(proof: ProofTree, prefix: str = INDENT) -> list[str]:
    """A finished proof as the lines of one tactic block.

    Raises ValueError if bullets nest too deeply (`_write`) or a layout is invalid.
    """
    return _write(
        proof,
        prefix,
        lambda node, prefix: indent_tactic(node.tactic, prefix),
        lambda node: (node.layout, node.children),
    )


def indented(lines: Sequence[str]) -> str:
    """The tactic block of a proof's lines, the first in column 0, to stand after `:= by`."""
    return "\n".join(f"{INDENT}{line}" if line else "" for line in lines)


def proof_script(proof: ProofTree) -> str:
    """The tactic block of a finished proof, indented by two spaces, to stand after `:= by`."""
    return "\n".join(proof_lines(proof))


# --- Writes a proof into the gap of a command, in the layout that a person would choose. Pure ------------------------
#
# theorem t : P := sorry          ->   theorem t : P := by simp
# have h : P := sorry             ->   have h : P := by
#                                        intro x
#                                        simp
# exact foo sorry h               ->   exact foo (by simp) h
# exact ⟨h, sorry⟩                ->   exact ⟨h, by simp⟩
#   · sorry                       ->     · intro x
#                                          simp
# all_goals sorry                 ->   all_goals (intro x; ...), in parentheses over several lines


_OPENS_BLOCK = re.compile(r"(?:\b(?:decreasing_)?by|=>|·|\.)[ \t]*$")
"""Text right before a gap behind which a tactic block may have several lines."""

_OPENS_TERM = re.compile(r"(?::=|\bfrom|=>)[ \t]*$")
"""Text right before a gap behind which `by` may stand without parentheses, and its block on the lines below."""

_ENCLOSED = re.compile(r"[(⟨\[,][ \t]*$"), re.compile(r"[ \t]*[)⟩\]]")
"""Text before and behind a gap whose term needs no parentheses. A comma behind it does not count (`cases h, ...`)."""

_NOTHING_BEHIND = re.compile(r"[ \t]*(?:--[^\n]*)?(?:\n|$)")


FRESH = "proofmesh_theorem"
"""Name for a statement that is put below a file's text, because its own name may exist in the file."""


def below(context: Context, theorem: Theorem) -> Theorem:
    """A statement as a command below a context, under a name that is free there. The theorem keeps its own name."""
    binders = f" {theorem.binders}" if theorem.binders.strip() else ""
    before = f"theorem {FRESH}{binders} : {theorem.conclusion} := by\n  "
    return msgspec.structs.replace(theorem, header="", place=Place(context, before, "\n"))


def negated(theorem: Theorem) -> Theorem | None:
    """A theorem whose proof disproves this one; None for a gap in a file, because its goal is not in the text."""
    if theorem.place is None:
        return theorem.negation()
    if theorem.place.before.startswith(f"theorem {FRESH}"):
        return below(theorem.place.context, theorem.negation())
    return None


def written(theorem: Theorem, script: Sequence[str]) -> str:
    """A theorem with its proof, for people; for a gap in a file, the filled command. `script`: lines of tactics, the
    first in column 0."""
    if theorem.place is not None and not theorem.place.before.startswith(f"theorem {FRESH}"):
        return filled(theorem.place, script).strip("\n")
    return f"{theorem.signature} := by\n{_indented(script, INDENT)}"


def filled(place: Place, script: Sequence[str]) -> str:
    """The command with a script in its gap. `script`: lines of tactics, the first in column 0."""
    line = place.before[place.before.rfind("\n") + 1 :]
    alone = bool(_NOTHING_BEHIND.match(place.after))
    if place.tactic:
        if len(script) == 1:
            return place.before + script[0] + place.after
        if not line.strip() or (alone and _OPENS_BLOCK.search(line)):
            return _block(place, line, script)
        return filled_in_parentheses(place, script)
    if alone and _OPENS_TERM.search(line if line.strip() else place.before.rstrip()):
        if len(script) == 1:
            return f"{place.before}by {script[0]}{place.after}"
        return f"{place.before}by\n{_indented(script, _indentation(line) + INDENT)}{place.after}"
    if len(script) == 1:
        opened, closed = _ENCLOSED
        enclosed = opened.search(line) and closed.match(place.after)
        return place.before + (f"by {script[0]}" if enclosed else f"(by {script[0]})") + place.after
    return filled_in_parentheses(place, script)


def filled_in_parentheses(place: Place, script: Sequence[str]) -> str:
    """The command with the script in parentheses, as one tactic or one term. This form is valid in every gap."""
    prefix = " " * (place.column + len(INDENT))
    return f"{place.before}{'(' if place.tactic else '(by'}\n{_indented(script, prefix)})" + place.after


def _block(place: Place, line: str, script: Sequence[str]) -> str:
    """Put the tactics below each other. Behind `by` and `=>` they start on a new line."""
    if re.search(r"(?:\b(?:decreasing_)?by|=>)[ \t]*$", line):
        return f"{place.before.rstrip(' ')}\n{_indented(script, _indentation(line) + INDENT)}{place.after}"
    return place.before + _indented(script, " " * place.column).lstrip(" ") + place.after


def _indentation(line: str) -> str:
    """Indentation of the first tactic of a line, including bullets before it."""
    match = re.match(r"[ \t]*(?:[·.] *)*", line)
    return " " * (match.end() if match else 0)


def _indented(script: Sequence[str], prefix: str) -> str:
    return "\n".join(prefix + line if line.strip() else "" for line in script)
