"""Records of a trace: files, theorems, tactics as written, and trees of atomic steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from common.lean import Layout
from node.lean.trace.infotree import Info, Position, Span, TacticInfo


class Premise(msgspec.Struct, frozen=True):
    """A constant that the text of a tactic names. For files of the same run, `TracedFile.declared` has its
    declaration."""

    full_name: str
    start: Position
    """Position of the name in the tactic: line from 1, column from 0 in characters."""
    end: Position


class TracedTactic(msgspec.Struct, frozen=True):
    """A tactic as written, possibly composed, with all goals that Lean shows before and after it."""

    tactic: str
    start: Position
    end: Position
    before: tuple[str, ...]
    """Goals with tags, main goal first, without Lean's line breaks."""
    after: tuple[str, ...]
    premises: tuple[Premise, ...] = ()


class TracedStep(msgspec.Struct, frozen=True):
    """One atomic step of the proof tree."""

    tactic: str
    start: Position
    """Its position in the file; for a split tactic, the position of the text it was split from."""
    end: Position
    goals: tuple[str, ...]
    """Goals of its branch, with tags. One goal, unless goals share a metavariable."""
    state: str
    """The goals as the policy reads them (`node.lean.text.goals.state_text`)."""
    after: tuple[str, ...]
    """The branch's goals after the step."""
    layout: Layout
    """How the goals after the step form independent branches."""
    parent: int
    """Index of the parent step; -1 for the first. Parents come before their children."""
    branch: int
    """Index of this step's branch in the parent's layout."""
    remaining_steps: int
    """Atomic tactics on the longest branch from here, including this one: minus the value of the state."""
    premises: tuple[Premise, ...] = ()


class TracedBlock(msgspec.Struct, frozen=True):
    """One `by` of a theorem."""

    start: Position
    """Position of the `by`."""
    end: Position
    tactics: tuple[TracedTactic, ...]
    steps: tuple[TracedStep, ...] = ()
    """The proof tree in pre-order; empty if there is a problem."""
    split: bool = False
    """True if composed tactics were split, and Lean accepted the split proof with exactly these states."""
    unsplit: str = ""
    """Why splitting failed, so that the steps are tactics as written; empty otherwise."""
    problem: str = ""
    """Why there is no tree; empty if there is one."""


class TracedTheorem(msgspec.Struct, frozen=True):
    """A declaration with tactic blocks."""

    name: str
    """Its full name, namespaces included; empty for an `example`."""
    kind: str
    """`theorem`, `lemma`, `example`, `def`, `instance`, ..."""
    statement: str
    """The text before the proof."""
    start: Position
    end: Position
    name_start: Position | None = None
    name_end: Position | None = None
    context: tuple[str, ...] = ()
    """Lines above it that open namespaces and sections, and declare variables."""
    context_digest: str = ""
    """Digest of all text above its command, as in `common.lean`."""
    context_end: int = 0
    """Length of that text in characters."""
    blocks: tuple[TracedBlock, ...] = ()
    error: str = ""
    """Why it is skipped: Lean's message, or that it uses `sorry`; empty if it is not."""


class Declared(msgspec.Struct, frozen=True):
    """A named declaration of a file, to which premises may refer."""

    full_name: str
    kind: str
    code: str
    """Its text."""
    start: Position
    """Position of its keyword."""
    end: Position
    name_start: Position
    name_end: Position


class TracedFile(msgspec.Struct, frozen=True):
    """The trace of one file."""

    path: str
    """Path relative to the root of the project (or of the given folder)."""
    imports: tuple[str, ...] = ()
    theorems: tuple[TracedTheorem, ...] = ()
    declared: tuple[Declared, ...] = ()
    commit: str = ""
    url: str = ""
    lean_version: str = ""
    error: str = ""
    """Why the file could not be traced at all; empty if it could."""
    key: str = ""
    """Digest of the inputs (text, toolchain, options). A resumed run compares it."""
    seconds: float = 0.0


# --- the constants that the text of a tactic names --------------------------------------------------------------------
# Lean prints names as they can be written in the open namespaces. With `pp.fullNames` it prints full names.

_IDENTIFIER = re.compile(r"(?:[^\W\d]|«)[\w.'!?«»₀-₉]*")
_HYPOTHESES = re.compile(r"^([^:⊢|]+?) :", re.MULTILINE)


def names(trees: Iterable[Info]) -> dict[Span, str]:
    """The name at each span of the source, without binders."""
    by_place: dict[Span, str] = {}
    for tree in trees:
        for node in tree.walk():
            name = node.name
            if name is not None and not name.binder and _IDENTIFIER.fullmatch(name.name):
                by_place[name.span] = name.name
    return by_place


def premises(info: TacticInfo, full: Mapping[Span, str], within: Span | None = None) -> tuple[Premise, ...]:
    """The constants that a tactic names, in the order of the text. `within`: only those in this part of it."""
    local = set(_local_names(info.before))
    spans = []
    for node in info.node.walk():
        if node.tactic is not None:
            local |= set(_local_names(node.tactic.before))
        elif node.name is not None and node.name.binder:
            local.add(node.name.name)
        elif node.name is not None and node.name.span in full and (within or info.span).holds(node.name.span):
            spans.append((node.name.span, node.name.name))
    names_by_span = {
        span: full[span] for span, name in spans if name.split(".")[0] not in local and full[span] not in local
    }
    return tuple(Premise(names_by_span[span], span.start, span.end) for span in sorted(names_by_span, key=_place))


def _place(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return span.start, span.end


def _local_names(goals: Sequence[str]) -> Iterable[str]:
    """Names of the hypotheses of goals."""
    for goal in goals:
        for group in _HYPOTHESES.findall(goal):
            yield from group.split()
