"""Collects the history of one conjecture or statement in a run from the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.lean import Theorem
from node.stp import selection
from node.stp.errors import StpError
from node.stp.records import EMPTY_LEMMA, Attempted, Conjecture, Fate, Proof
from node.stp.store import AttemptRow, StpStore

_RANKS = (Fate.PROVED, Fate.ELABORATED, Fate.NOT_ELABORATED, Fate.NEW, Fate.KNOWN, Fate.REFUSED, Fate.CUT, Fate.SURPLUS)
"""The order in which conjectures are shown."""


@dataclass(frozen=True)
class Tried:
    """The attempts at a statement or conjecture, and the trainings on its proofs."""

    attempts: list[AttemptRow]
    attempted: list[tuple[int, Attempted]]
    """The results after verification, for each round with an attempt."""
    proofs: list[Proof]
    refused: list[tuple[Proof, str]]
    trained: list[tuple[int, str, float]]
    """Rounds that trained the prover on it: round, proof, weight."""
    to_verify: list[Proof]


@dataclass(frozen=True)
class ConjectureStory:
    """The history of a conjecture."""

    conjecture: Conjecture
    tried: Tried
    lemma_used: bool | None
    """Whether one of its proofs invokes the lemma of its seed; None for the empty lemma, or without a proof."""
    elegance: float | None
    """None if it is not proved."""
    trained: list[tuple[int, float]]
    """Rounds that trained the conjecturer on it, with its weight."""


@dataclass(frozen=True)
class StatementStory:
    """The history of a statement of the data set."""

    theorem: Theorem
    split: str
    tried: Tried
    solved_in: int | None
    """The round that first solved it."""
    seeds: list[tuple[int, int]]
    """Rounds that used it in seeds of conjectures, with the number of seeds."""


def elegance(theorem: Theorem, proofs: Sequence[Proof]) -> float | None:
    """The elegance that the selection of conjectures uses; None without a proof."""
    return selection.elegance(theorem, proofs) if proofs else None


def story_of(store: StpStore, name: str) -> ConjectureStory | StatementStory:
    """The history of a conjecture or statement by its name. Raises StpError with similar names for an unknown name."""
    with store.snapshot():
        conjecture = store.conjecture(name)
        if conjecture is not None:
            return _of_conjecture(store, conjecture)
        split = store.split_of(name)
        theorem = store.theorem(name)
        if split is None or theorem is None:
            raise StpError(_unknown(store, name))
        tried = _tried(store, name)
        first = next((at for at, each in tried.attempted if each.correct), None)
        return StatementStory(theorem, split, tried, first, store.seeds_with(name))


def examples_of(store: StpStore, round: int, count: int) -> list[ConjectureStory]:
    """The conjectures of a round that got furthest; those that were trained on come first. Raises StpError."""
    with store.snapshot():
        if store.round(round) is None:
            numbers = ", ".join(str(each.number) for each in store.rounds())
            remedy = f"choose one of {numbers}" if numbers else "no round has begun yet"
            raise StpError(f"{store.path.parent} has no round {round}; {remedy}")
        trained = {each.name for each in store.conjecturer_examples(round, round)}
        conjectures = store.conjectures(round)
        ranked = sorted(conjectures, key=lambda each: (each.name not in trained, _RANKS.index(each.fate)))
        return [_of_conjecture(store, each) for each in ranked[:count]]


def _of_conjecture(store: StpStore, conjecture: Conjecture) -> ConjectureStory:
    tried = _tried(store, conjecture.name)
    lemma = conjecture.seed.lemma.name
    return ConjectureStory(
        conjecture,
        tried,
        selection.invokes_its_lemma(conjecture, tried.proofs) if tried.proofs and lemma != EMPTY_LEMMA.name else None,
        elegance(conjecture.theorem, tried.proofs) if conjecture.theorem is not None else None,
        store.conjecture_trained(conjecture.name),
    )


def _tried(store: StpStore, name: str) -> Tried:
    attempts = store.attempts_at(name)
    return Tried(
        attempts,
        [(round, store.attempted(round, name)[name]) for round in sorted({each.round for each in attempts})],
        store.proofs(name),
        store.refused(name),
        store.proofs_trained(name),
        store.unverified(name=name),
    )


def _unknown(store: StpStore, name: str) -> str:
    """The error message for an unknown name, with similar names."""
    near = store.names_like(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{store.path.parent} has no statement or conjecture {name}{hint}"
