"""What a trace holds: files, theorems, tactics as written, and the tree of atomic steps."""

from __future__ import annotations

import msgspec

from common.lean import Layout
from node.lean.trace.infotree import Position


class Premise(msgspec.Struct, frozen=True):
    """A constant that the text of a tactic names."""

    full_name: str
    start: Position
    """Where the tactic names it: line from 1, column from 0, in characters."""
    end: Position
    """Where that is declared is known for files of the same run: `TracedFile.declared`."""


class TracedTactic(msgspec.Struct, frozen=True):
    """A tactic as it is written, composed ones included; all goals that Lean shows before and after it."""

    tactic: str
    start: Position
    end: Position
    before: tuple[str, ...]
    """Goals, main goal first, tags included, long lines unbroken."""
    after: tuple[str, ...]
    premises: tuple[Premise, ...] = ()


class TracedStep(msgspec.Struct, frozen=True):
    """One atomic step of the proof tree."""

    tactic: str
    start: Position
    """Its place in the file; that of the text it was split from, if it was."""
    end: Position
    goals: tuple[str, ...]
    """Goals of the branch that it works on, tags included (one, unless goals share a metavariable)."""
    state: str
    """The same as the policy reads it (`node.lean.text.goals.state_text`)."""
    after: tuple[str, ...]
    """The branch's goals afterwards."""
    layout: Layout
    """Which of them went into which independent branch."""
    parent: int
    """Number of the step that led here, -1 for the first; a step comes before those that follow from it."""
    branch: int
    """The branch of the parent's."""
    remaining_steps: int
    """Atomic tactics on the longest branch from here, this one included: minus the value of the state."""
    premises: tuple[Premise, ...] = ()


class TracedBlock(msgspec.Struct, frozen=True):
    """One `by` of a theorem."""

    start: Position
    """Of the `by`."""
    end: Position
    tactics: tuple[TracedTactic, ...]
    steps: tuple[TracedStep, ...] = ()
    """The proof tree in pre-order; empty if there is a problem."""
    split: bool = False
    """Whether composed tactics were split, and Lean accepted the split proof with these very states."""
    unsplit: str = ""
    """Why the steps are tactics as written, if they were to be split and could not be."""
    problem: str = ""
    """Why there is no tree."""


class TracedTheorem(msgspec.Struct, frozen=True):
    """A declaration with tactic blocks."""

    name: str
    """Its full name, namespaces included; empty for an `example`."""
    kind: str
    """`theorem`, `lemma`, `example`, `def`, `instance`, ..."""
    statement: str
    """Its text before the proof."""
    start: Position
    end: Position
    name_start: Position | None = None
    name_end: Position | None = None
    context: tuple[str, ...] = ()
    """Lines above it that open namespaces and sections, and declare variables."""
    context_digest: str = ""
    """Of all the text above its command, as `common.places` has it."""
    context_end: int = 0
    """How many characters of the file that is."""
    blocks: tuple[TracedBlock, ...] = ()
    error: str = ""
    """Why nothing of it counts: Lean's message, or that it uses `sorry`."""


class Declared(msgspec.Struct, frozen=True):
    """Anything that a file declares under a name: what premises refer to."""

    full_name: str
    kind: str
    code: str
    """Its text."""
    start: Position
    """Of its keyword."""
    end: Position
    name_start: Position
    name_end: Position


class TracedFile(msgspec.Struct, frozen=True):
    """All that was found in one file."""

    path: str
    """Relative to the project's (or the given folder's) root."""
    imports: tuple[str, ...] = ()
    theorems: tuple[TracedTheorem, ...] = ()
    declared: tuple[Declared, ...] = ()
    commit: str = ""
    url: str = ""
    lean_version: str = ""
    error: str = ""
    """Why the file could not be traced at all."""
    key: str = ""
    """Names what it was made from: the text, the toolchain, the options. A resumed run looks at it."""
    seconds: float = 0.0
