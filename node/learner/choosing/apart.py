"""Decontamination: removes the statements of evaluations, and transitions that reveal them, from the training data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from common.lean import Theorem
from node.bank.bank import BankTheorem, BankTransition


@dataclass
class Apart:
    """The statements held out for evaluations, and a count of the training data removed because of them."""

    held_out: list[BankTheorem]
    train: list[str] = field(default_factory=list)
    """Names of the train statements that were removed."""
    transitions: int = 0
    """Number of transitions that were removed."""

    def __post_init__(self) -> None:
        self._stated = {each.theorem.stated for each in self.held_out}
        self._states = {state for each in self.held_out for state in root_states(each.theorem)}

    def without_held_out(self, train: Iterable[BankTheorem]) -> list[BankTheorem]:
        """The train statements that no evaluation has. Statements are compared by content, not by name."""
        remaining = []
        for each in train:
            if each.theorem.stated in self._stated:
                self.train.append(each.theorem.name)
            else:
                remaining.append(each)
        return remaining

    def without_revealing(self, transitions: Iterable[BankTransition], left_out: set[str]) -> list[BankTransition]:
        """The transitions of one bank that reveal no held-out statement. Removed are transitions from proofs of the
        theorems `left_out` (by their names in this bank), and transitions that start at a held-out statement, in any
        proof."""
        remaining = []
        for each in transitions:
            if each.theorem in left_out or _normal(each.state) in self._states:
                self.transitions += 1
            else:
                remaining.append(each)
        return remaining

    @property
    def note(self) -> str:
        """One line about the removed data; empty if nothing was removed."""
        if not self.train and not self.transitions:
            return ""
        first = f" (first {self.train[0]})" if self.train else ""
        return (
            f"{len(self.train)} train statements{first} and {self.transitions} transitions are left out of training: "
            "evaluations have the same statements"
        )


def root_states(theorem: Theorem) -> Iterator[str]:
    """Texts of the theorem's first goal as a transition's state may show it: once with the binders as hypotheses
    before the turnstile, once with all of them behind it.

    Lean may print the goal differently, so this finds many of the transitions that reveal a statement, but not all.
    Yields nothing for a gap in a file, because its goal cannot be read off its text.
    """
    if theorem.place is None:
        yield _normal(f"{' '.join(_binders(theorem.binders))} ⊢ {theorem.conclusion}")
        yield _normal(f"⊢ {theorem.proposition}")


def _binders(text: str) -> Iterator[str]:
    """The contents of the outermost brackets: `n : Nat`, `h : 0 < n` of `(n : Nat) (h : 0 < n)`."""
    depth = start = 0
    for place, character in enumerate(text):
        if character in "([{⦃":
            depth += 1
            if depth == 1:
                start = place + 1
        elif character in ")]}⦄":
            depth -= 1
            if depth == 0:
                yield text[start:place]


def _normal(state: str) -> str:
    return " ".join(state.split())
