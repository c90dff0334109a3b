"""Keeps apart what is trained on and what is evaluated on: no statement of an evaluation is learned from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from common.lean import Theorem
from node.bank.bank import BankTheorem, BankTransition


@dataclass
class Apart:
    """What is held out for evaluations, and what was left out of training because of it."""

    held_out: list[BankTheorem]
    train: list[str] = field(default_factory=list)
    """Names of train statements that were left out."""
    transitions: int = 0

    def __post_init__(self) -> None:
        self._stated = {each.theorem.stated for each in self.held_out}
        self._states = {state for each in self.held_out for state in root_states(each.theorem)}

    def kept_train(self, train: Iterable[BankTheorem]) -> list[BankTheorem]:
        """Train statements, without those that state what an evaluation states, under whatever name."""
        kept = []
        for each in train:
            if each.theorem.stated in self._stated:
                self.train.append(each.theorem.name)
            else:
                kept.append(each)
        return kept

    def kept_transitions(self, transitions: Iterable[BankTransition], left_out: set[str]) -> list[BankTransition]:
        """Transitions of one bank, without those from proofs of the theorems `left_out` (in this bank's names), and
        without those that start from what an evaluation states, in whichever proof."""
        kept = []
        for each in transitions:
            if each.theorem in left_out or _normal(each.state) in self._states:
                self.transitions += 1
            else:
                kept.append(each)
        return kept

    @property
    def note(self) -> str:
        """What was left out, in one line; empty: nothing."""
        if not self.train and not self.transitions:
            return ""
        first = f" (first {self.train[0]})" if self.train else ""
        return (
            f"{len(self.train)} train statements{first} and {self.transitions} transitions are left out of training: "
            "evaluations have the same statements"
        )


def root_states(theorem: Theorem) -> Iterator[str]:
    """The theorem's first goal as a transition's state would have it: hypotheses before the turnstile, and all of it
    behind. Lean may write it otherwise, so this finds many transitions that give a statement away, and not all.

    The goal of a gap in a file is not in its text.
    """
    if theorem.place is None:
        yield _normal(f"{' '.join(_binders(theorem.binders))} ⊢ {theorem.conclusion}")
        yield _normal(f"⊢ {theorem.proposition}")


def _binders(text: str) -> Iterator[str]:
    """`n : Nat`, `h : 0 < n` of `(n : Nat) (h : 0 < n)`: what stands in the outermost brackets."""
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
