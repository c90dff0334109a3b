"""Renames local names to canonical ones for the network: v0, v1, ... in order of appearance.

A hypothesis's name is irrelevant to the proof, and a tactic may give any name to a new one. So the network reads states
and writes tactics with canonical names, and the real names are restored before a tactic goes to Lean. States that
differ only in names become equal, and the network need not learn to guess names. (After the same number of warm-start
steps the demo's network has 24% less loss; LOG.md.)

The renaming is injective, so different identifiers stay different.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from common.protocol.attempts import Transition

IDENTIFIER = re.compile(r"(?<![\w.'✝?])[^\W\d][\w'!]*\??✝?[⁰¹²³⁴-⁹]*")
"""An identifier, or the part of a dotted name before its first dot; not a metavariable (`?w`)."""

CANONICAL = re.compile(r"v\d+")

_HYPOTHESES = re.compile(r"^((?:[^\s:(⊢][^\s:]* )+):", re.MULTILINE)
"""`h₁ h₂ :` at the start of a line; continuation lines are indented."""

_BINDERS = re.compile(r"(?:∀|∃|fun) (?:\(((?:[^\s:,()]+ )+):|((?:[^\s:,()]+ ?)+?)(?:,| =>))")
"""`∀ (x y : T)`, `∃ x,`, `fun x y =>`."""

_FRESH = re.compile(r"[a-zα-ω]\w{0,2}'?")
"""Names that tactics introduce in the bank's proofs: at most three letters and digits."""

_WORDS = frozenset(
    (
        *("ac", "all", "and", "any", "at", "by", "do", "em", "ext", "fun", "get", "id", "if", "in", "inl", "inr"),
        *("let", "map", "max", "min", "mk", "mp", "mpr", "nil", "not", "or", "rfl", "rw", "try"),
    )
)
"""Words that are as short as a name but are not names."""


_BINDER_GROUP = re.compile(r"[({\[⦃]((?:[^\s:(){}\[\]⦃⦄]+ )+):")
"""`(x y : T)`, `{α : Type}`, `[inst : Group G]` in a statement."""

_WORDS_OF_PROOFS = _WORDS | frozenset(("abs", "cos", "exp", "gcd", "lcm", "log", "set", "sin", "tan", "use"))
"""Also words of libraries, which whole proofs use. In single tactics these words stay names, as in trained networks."""


class Names:
    """The local names of one state."""

    hypotheses = _HYPOTHESES
    words = _WORDS

    def __init__(self, state: str) -> None:
        self._canonical: dict[str, str] = {}
        for match in self.hypotheses.finditer(state):
            self._add(match.group(1).split())
        for match in _BINDERS.finditer(state):
            self._add((match.group(1) or match.group(2)).split())
        identifiers = [match.group() for match in IDENTIFIER.finditer(state)]
        self._add(name for name in identifiers if CANONICAL.fullmatch(name))
        self._original = {canonical: name for name, canonical in self._canonical.items()}
        self._taken = frozenset(identifiers)
        self.state = _rename(state, self._canonical)
        """The state with canonical names."""

    @property
    def count(self) -> int:
        """Number of the state's local names: v0 up to the one before v`count`."""
        return len(self._canonical)

    def hide(self, tactic: str) -> str:
        """Translate a tactic to canonical names; names that it introduces get the next free numbers."""
        names = dict(self._canonical)
        for match in IDENTIFIER.finditer(tactic):
            name = match.group()
            fresh = _FRESH.fullmatch(name) is not None and name not in self.words
            if name not in names and (fresh or CANONICAL.fullmatch(name)):
                names[name] = f"v{len(names)}"
        return _rename(tactic, names)

    def show(self, tactic: str) -> str:
        """Translate the network's tactic to the real names; names that it introduces become unused ones."""
        names = dict(self._original)
        used = set(self._taken)
        for match in IDENTIFIER.finditer(tactic):
            name = match.group()
            if name not in names and CANONICAL.fullmatch(name):
                number = int(name[1:])
                while f"v{number}" in used:
                    number += 1
                names[name] = f"v{number}"
                used.add(names[name])
        return _rename(tactic, names)

    def _add(self, names: Iterable[str]) -> None:
        for name in names:
            self._canonical.setdefault(name, f"v{len(self._canonical)}")


class StatementNames(Names):
    """The names that a statement binds. Text before a colon in brackets is a name only if it is an identifier."""

    hypotheses = _BINDER_GROUP
    words = _WORDS_OF_PROOFS

    def _add(self, names: Iterable[str]) -> None:
        super()._add(name for name in names if IDENTIFIER.fullmatch(name))


def canonical(transition: Transition) -> tuple[str, str]:
    """State and tactic of a transition with canonical names."""
    names = Names(transition.state)
    return names.state, names.hide(transition.tactic)


def _rename(text: str, names: dict[str, str]) -> str:
    return IDENTIFIER.sub(lambda match: names.get(match.group(), match.group()), text)
