"""Lean text types: theorems, proof states as paths, outcomes of tactics, proofs as trees.

A proof state has no handle. It is a *path*: the steps that lead to it from the root, each a tactic and the branch
that was followed. So any lean-proxy can answer any request, and a session that is warm is only a cache.

Goals that share no metavariable are independent *branches* of a state (an AND node of the search); goals that share
one stay together in one branch. A `layout` records which of Lean's goals went into which branch, so that a path or a
finished proof can be written down again as Lean text without asking Lean (`node.lean.text.script`).
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from common.places import Place

Layout = tuple[tuple[int, ...], ...]
"""Goal positions (0-based, in Lean's order) of each branch. `((0,),)` is the common case: one goal. `()` is no goal:
closed. At most one branch holds more than one goal, and it comes last (see `node.lean.text.script`)."""


class BadStatement(ValueError):
    """Lean refuses the theorem's header or statement; the text is Lean's own message."""


class Theorem(msgspec.Struct, frozen=True):
    """A statement to be proved: `theorem NAME BINDERS : CONCLUSION` in the environment that `header` describes."""

    name: str
    binders: str
    """Lean binders as written, e.g. `(p q : Prop) [Decidable p]`; may be empty."""
    conclusion: str
    header: str = ""
    """Commands that stand before the theorem (imports, opens). Empty: the lean-proxy's own default header."""
    place: Place | None = None
    """Where in a Lean file its proof is missing. Lean elaborates it there, and `binders` and `conclusion` only describe
    it to people. None: the theorem stands by itself."""

    @property
    def proposition(self) -> str:
        """The statement as one closed proposition: `∀ BINDERS, CONCLUSION`."""
        return f"∀ {self.binders}, {self.conclusion}" if self.binders.strip() else self.conclusion

    @property
    def signature(self) -> str:
        """`theorem NAME BINDERS : CONCLUSION`, without the proof."""
        binders = f" {self.binders.strip()}" if self.binders.strip() else ""
        return f"theorem {self.name}{binders} : {self.conclusion}"

    @property
    def stated(self) -> tuple[object, ...]:
        """What it states, in its own words: equal where two theorems differ in their names alone (or their headers).
        The words of a theorem in a file are those around its gap, and above it."""
        return (self.binders, self.conclusion) if self.place is None else self.place.key

    def renamed(self) -> Theorem:
        """The same under a name that nothing else has. A proof that a search has found does not know the theorem's own
        name: what it calls `Nat.add_comm` is the library's."""
        return msgspec.structs.replace(self, name="proofmesh_theorem")

    def negation(self) -> Theorem:
        """The disproof of this theorem is a proof of its negation, implicit and instance binders included."""
        return Theorem(f"{self.name}_neg", "", f"¬ ({self.proposition})", self.header)


class Step(msgspec.Struct, frozen=True):
    """One step of a path: run `tactic`, then go on with branch number `branch` of what it leaves."""

    tactic: str
    branch: int = 0
    layout: Layout = ((0,),)


class Branch(msgspec.Struct, frozen=True):
    """One independent part of what a tactic leaves to be proved."""

    state: str
    """The goals as Lean prints them, separated by blank lines, without case tags: the text that the policy reads."""
    goals: tuple[int, ...] = (0,)
    """Positions of these goals in Lean's list after the tactic."""


class OutcomeKind(enum.StrEnum):
    """What became of a candidate tactic. Only the first three say something about the tactic (`is_tactic_outcome`)."""

    PROVED = "proved"
    """No goal is left in the state. A candidate only: a proof counts after verification in fresh processes."""
    GOALS = "goals"
    """The tactic ran and left goals."""
    ERROR = "error"
    """Lean rejected the tactic: it does not parse, fails, or leaves an error."""
    REFUSED = "refused"
    """The text rules forbid it (`sorry`, `exact?`, options, ...): never shown to Lean."""
    TIMEOUT = "timeout"
    """Heartbeats or the wall clock ran out while it ran alone."""
    MEMORY = "memory"
    """The worker passed its memory limit while it ran alone."""
    CRASHED = "crashed"
    """The Lean process died while it ran alone."""
    LOST = "lost"
    """Infrastructure failed (proxy or worker gone, path did not replay); says nothing about the tactic."""


_ABOUT_THE_TACTIC = frozenset(OutcomeKind) - {OutcomeKind.LOST}


def outcome_values(counts: Mapping[OutcomeKind, int]) -> dict[str, int]:
    """Counts of outcomes by kind as the values of a heartbeat: every kind has one, also at 0."""
    return {f"outcome_{kind}": counts.get(kind, 0) for kind in OutcomeKind}


class Outcome(msgspec.Struct, frozen=True):
    """The result of one candidate tactic on one proof state."""

    kind: OutcomeKind
    branches: tuple[Branch, ...] = ()
    """Independent branches, for kind `goals`. Single-goal branches first, in Lean's order; a shared branch last."""
    message: str = ""
    """Lean's own message for errors; the reason for refusals and failures."""
    line: int | None = None
    """The candidate's line (from 0) that the message is about; None: of the whole, or not known."""

    @property
    def layout(self) -> Layout:
        return tuple(branch.goals for branch in self.branches)

    @property
    def is_tactic_outcome(self) -> bool:
        """True when this says something about the tactic, so that search may count it."""
        return self.kind in _ABOUT_THE_TACTIC


class ProofTree(msgspec.Struct, frozen=True):
    """A finished proof: the tactic at a state and the proofs of the branches it left (none: it closed the state)."""

    tactic: str
    layout: Layout = ()
    children: tuple[ProofTree, ...] = ()
    state: str = ""
    """The state that the tactic was run on, as the policy reads it; empty where nobody has recorded it."""
    source: str = ""
    """Which parts of a mixture of policies proposed the tactic; empty: the policy is no mixture, or does not tell."""

    @property
    def remaining_steps(self) -> int:
        """Tactics on the longest branch, this one included: minus the return of the state (AlphaProof, environment)."""
        return sum(1 for _ in self._levels())

    def sources(self) -> dict[str, int]:
        """How many of the proof's tactics each source proposed, those that nobody told left out."""
        return dict(Counter(node.source for level in self._levels() for node in level if node.source))

    def _levels(self) -> Iterator[list[ProofTree]]:
        """From the root down. Not by recursion, since a proof may be deeper than Python's calls may nest."""
        level = [self]
        while level:
            yield level
            level = [child for node in level for child in node.children]
