"""Lean text types: theorems and their places in files, proof states as paths, outcomes of tactics, proofs as trees.

A proof state has no handle. It is a *path*: the steps that lead to it from the root, each a tactic and the branch
that was followed. So any lean-proxy can answer any request, and an open Lean session is only a cache.

Goals that share no metavariable are independent *branches* of a state (an AND node of the search). Goals that share
one stay together in one branch. A `layout` records which of Lean's goals went into which branch, so that a path or a
finished proof can be written as Lean text without running Lean (`node.lean.text.script`).
"""

from __future__ import annotations

import enum
import hashlib
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated

import msgspec

from common.limits import MOST_LISTED, Name

# ----------------------------------------------------------------------------------------------------------------------
# Places in Lean files where a proof is missing, in the form that messages carry.
#
# The meaning of a `sorry` in a file depends on the whole file above it. So a place consists of the text above the
# command with the `sorry` (the context), and the command's text before and after the gap.

MOST_CHARACTERS = 16 * 2**20
"""Most bytes of a context. The largest file of Mathlib has 0.3 MB; a message that unpacks to more is refused."""

KEPT_TEXTS = 64
"""Unpacked contexts in the cache of a process. All requests of a search have the same one."""


class BadContext(ValueError):
    """A context whose packed text cannot be unpacked, is too long, or does not match its digest."""


class Context(msgspec.Struct, frozen=True):
    """The text of a Lean file above a command: imports, definitions, `variable`s, open namespaces. Make it with `of`.

    The text is compressed, because every request of a search carries it: so 10,000 lines fit into a message. Caches and
    comparisons use the digest.
    """

    digest: str = ""
    """blake2b of the text, hex."""
    packed: bytes = b""
    """The text in UTF-8, compressed by zlib."""

    @staticmethod
    def of(text: str) -> Context:
        """A context with this text."""
        return Context(digest_of(text), zlib.compress(text.encode(errors="surrogatepass"), level=1))

    @property
    def text(self) -> str:
        """The unpacked text. Raises BadContext."""
        return _unpacked(self.digest, self.packed)


class Place(msgspec.Struct, frozen=True):
    """A gap in a command of a Lean file, where a proof is missing."""

    context: Context
    """The file above the command; empty, or ends with a line break."""
    before: str
    """The command's text before the gap: `theorem t (p : Prop) (h : p) : p := by\\n  `."""
    after: str = ""
    """The command's text after the gap, to its end."""
    tactic: bool = True
    """Whether the gap is for a tactic. Otherwise it is for a term, and tactics are inserted after `by`."""

    @property
    def column(self) -> int:
        """Column of the gap, from 0, in characters."""
        return len(self.before) - (self.before.rfind("\n") + 1)

    @property
    def key(self) -> tuple[str, str, str, bool]:
        """A key that is equal for equal places. It contains the context's digest instead of its text."""
        return self.context.digest, self.before, self.after, self.tactic


def digest_of(text: str) -> str:
    """The digest of a context with this text."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=KEPT_TEXTS)
def _unpacked(digest: str, packed: bytes) -> str:
    unpacker = zlib.decompressobj()
    try:
        text = unpacker.decompress(packed, MOST_CHARACTERS).decode(errors="surrogatepass")
    except (zlib.error, UnicodeDecodeError) as error:
        raise BadContext(f"context {digest}: cannot be unpacked: {error}") from error
    if unpacker.unconsumed_tail:
        raise BadContext(f"context {digest}: more than {MOST_CHARACTERS} bytes")
    if digest_of(text) != digest:
        raise BadContext(f"context {digest}: its text does not match the digest")
    return text


NO_CONTEXT = Context.of("")
"""The context of a file's first command."""


# ----------------------------------------------------------------------------------------------------------------------
# Theorems, states, outcomes and proofs.

Goals = Annotated[tuple[int, ...], msgspec.Meta(min_length=1, max_length=MOST_LISTED)]
"""Positions of the goals of a branch."""

Texts = Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_LISTED)]
"""A list of texts."""

Layout = Annotated[tuple[Goals, ...], msgspec.Meta(max_length=MOST_LISTED)]
"""Goal positions (0-based, in Lean's order) of each branch. `((0,),)` is the common case: one goal. `()` means no goals
are left. At most one branch has more than one goal, and it comes last (see `node.lean.text.script`)."""


class BadStatement(ValueError):
    """Lean refuses the theorem's header or statement. The text is Lean's own message."""


class TacticRule(msgspec.Struct, frozen=True):
    """Which tactics a proof may have. Each entry is a head (`simp`) or a form of one tactic (`rw [_]`), as
    `node.lean.text.allowed` reads it."""

    allow: Texts = ()
    """A proof may have only these; empty: all."""
    ban: Texts = ()
    """A proof may have none of these, and none that runs one of them."""

    def __str__(self) -> str:
        """The rule in words: `only rfl, rw [_]; no simp`."""
        only, no = (", ".join(entries) for entries in (self.allow, self.ban))
        return "; ".join(filter(None, [only and f"only {only}", no and f"no {no}"]))


class Theorem(msgspec.Struct, frozen=True):
    """A statement to be proved: `theorem NAME BINDERS : CONCLUSION` in the environment that `header` describes."""

    name: Name
    binders: str
    """Lean binders as written, e.g. `(p q : Prop) [Decidable p]`; may be empty."""
    conclusion: str
    header: str = ""
    """Commands before the theorem (imports, opens). Empty: the lean-proxy's default header."""
    place: Place | None = None
    """The place in a Lean file where its proof is missing. Lean elaborates it there; `binders` and `conclusion` only
    describe it to people. None: the theorem is not part of a file."""
    rule: TacticRule | None = None
    """Which tactics its proof may have; None: all. Whoever runs its tactics or verifies its proof applies the rule."""

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
        """A key of the statement: equal for theorems that differ only in their names or headers. For a theorem in a
        file, the key is the text around its gap and the file above it."""
        return (self.binders, self.conclusion) if self.place is None else self.place.key

    def renamed(self) -> Theorem:
        """The same theorem under a name that nothing else has. A proof from a search does not refer to the theorem
        itself: if it uses `Nat.add_comm`, it means the library's."""
        return msgspec.structs.replace(self, name="proofmesh_theorem")

    def negation(self) -> Theorem:
        """The negation of this theorem, all binders included. A proof of it is a disproof of this theorem."""
        return Theorem(f"{self.name}_neg", "", f"¬ ({self.proposition})", self.header, rule=self.rule)


class Step(msgspec.Struct, frozen=True):
    """One step of a path: run `tactic`, then go on with branch number `branch` of the remaining goals."""

    tactic: str
    branch: int = 0
    layout: Layout = ((0,),)


class Branch(msgspec.Struct, frozen=True):
    """One independent part of the goals that remain after a tactic."""

    state: str
    """The goals as Lean prints them, separated by blank lines, without case tags: the text that the policy reads."""
    goals: Goals = (0,)
    """Positions of these goals in Lean's list after the tactic."""


class OutcomeKind(enum.StrEnum):
    """The outcome of a candidate tactic. All kinds but `lost` say something about the tactic (`is_tactic_outcome`)."""

    PROVED = "proved"
    """The state has no goals left. A proof counts only after verification in fresh processes."""
    GOALS = "goals"
    """The tactic succeeded, and goals remain."""
    ERROR = "error"
    """Lean rejected the tactic: it does not parse, fails, or leaves an error."""
    REFUSED = "refused"
    """The text rules forbid it (`sorry`, `exact?`, options, ...). It is never sent to Lean."""
    TIMEOUT = "timeout"
    """It exceeded the limit of heartbeats or wall-clock time while it ran alone."""
    MEMORY = "memory"
    """The worker exceeded its memory limit while it ran alone."""
    CRASHED = "crashed"
    """The Lean process crashed while it ran alone."""
    LOST = "lost"
    """Infrastructure failed (the proxy or worker is gone, or the path did not replay). This says nothing about the
    tactic."""


_ABOUT_THE_TACTIC = frozenset(OutcomeKind) - {OutcomeKind.LOST}


def outcome_values(counts: Mapping[OutcomeKind, int]) -> dict[str, int]:
    """Counts of outcomes by kind as the values of a heartbeat. Every kind has a value, also if it is 0."""
    return {f"outcome_{kind}": counts.get(kind, 0) for kind in OutcomeKind}


class Outcome(msgspec.Struct, frozen=True):
    """The result of one candidate tactic on one proof state."""

    kind: OutcomeKind
    branches: Annotated[tuple[Branch, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    """Independent branches, for kind `goals`: first those with one goal, in Lean's order; a branch of several goals
    last."""
    message: str = ""
    """Lean's own message for errors; the reason for refusals and failures."""
    line: int | None = None
    """The candidate's line (from 0) that the message refers to; None: the whole candidate, or not known."""

    @property
    def layout(self) -> Layout:
        return tuple(branch.goals for branch in self.branches)

    @property
    def is_tactic_outcome(self) -> bool:
        """True if this says something about the tactic, so that the search may count it."""
        return self.kind in _ABOUT_THE_TACTIC


class ProofTree(msgspec.Struct, frozen=True):
    """A finished proof: the tactic at a state, and the proofs of the branches that remained after it (none: it closed
    the state)."""

    tactic: str
    layout: Layout = ()
    children: Annotated[tuple[ProofTree, ...], msgspec.Meta(max_length=MOST_LISTED)] = ()
    state: str = ""
    """The state that the tactic was run on, as the policy reads it; empty: not recorded."""
    source: str = ""
    """The policies of a mixture that proposed the tactic; empty: the policy is not a mixture, or does not report it."""

    @property
    def remaining_steps(self) -> int:
        """Tactics on the longest branch, this one included. In AlphaProof's environment, the return of the state is
        minus this number."""
        return sum(1 for _ in self._levels())

    def sources(self) -> dict[str, int]:
        """The number of tactics that each source proposed. Tactics without a source are left out."""
        return dict(Counter(node.source for level in self._levels() for node in level if node.source))

    def _levels(self) -> Iterator[list[ProofTree]]:
        """The nodes of each level, from the root down. Not recursive, since a proof may be deeper than Python's
        recursion limit."""
        level = [self]
        while level:
            yield level
            level = [child for node in level for child in node.children]
