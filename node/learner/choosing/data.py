"""Loads the learner's data from the banks: statements to attempt, statements to evaluate, transitions to train on."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from common.protocol.attempts import Transition
from common.records import transitions
from common.records.rows import TheoremRow
from common.records.transitions import Ref
from common.seeds import SEEDS, derive_seed, is_held_out
from node.bank import bank
from node.bank.bank import BankTheorem, BankTransition
from node.learner.choosing import banks
from node.learner.choosing.banks import BankPart
from node.learner.errors import DataError
from node.learner.replay.replay import clear
from node.learner.settings import LearnerSettings

HELD_OUT_SHARE = 10
"""One in this many train theorems is held out of the warm start, to measure the validation loss."""


@dataclass(frozen=True)
class Data:
    """The data of a run."""

    digest: str
    """Digest of all banks: part of the key of the warm-start cache."""
    train: list[TheoremRow]
    test: list[TheoremRow]
    """Statements of the evaluations before and after learning."""
    supervised: list[Ref]
    """Transitions of the warm start; later a part of every batch."""
    validation: list[Ref]
    """Transitions of held-out theorems."""
    factors: list[float] | None = None
    """Factor of each train statement's weight in the matchmaker; None: 1 for all."""
    notes: list[str] = field(default_factory=list)
    """Log lines about bank data that was left out."""
    beside: list[TheoremRow] = field(default_factory=list)
    """Statements of the evaluations beside learning."""
    bank_of: dict[str, str] = field(default_factory=dict)
    """The bank of each statement of evaluations, if there are several banks."""
    budget_factors: dict[str, float] = field(default_factory=dict)
    """By statement: how many times as many simulations its attempts and evaluations get; 1 where it is missing."""

    @property
    def scored(self) -> list[TheoremRow]:
        """The statements of all evaluations, each once."""
        known = {row.theorem.name for row in self.test}
        return self.test + [row for row in self.beside if row.theorem.name not in known]


def load(settings: LearnerSettings, folder: Path) -> Data:
    """Read the banks; transitions are written to files in `folder`, for the trainer's ranks.

    Raises DataError: missing or corrupt files, no statements, no transitions where the plan needs some.
    """
    # 1. The banks, without what evaluations hold out.
    evaluation = settings.evaluation
    split = evaluation.split
    try:
        parts = banks.parts_of(settings.bank, settings.banks)
        budgets = banks.budget_factors(settings.budget_factors, parts)
        content = banks.load(parts, split, scored=evaluates(settings))
    except bank.BankError as error:
        raise DataError(str(error)) from error
    # 2. Statements to score and to attempt. The sample of scored ones has a fixed seed: runs with different seeds are
    #    scored on the same statements.
    chosen = _sampled(content.scored, evaluation.statements, parts)
    beside = _sampled(content.scored, evaluation.beside_statements, parts) if evaluation.every else []
    train = content.train
    if settings.statements:
        random.Random(derive_seed(settings.seed, "statements")).shuffle(train)
        train = train[: settings.statements]
    # 3. A name is an id, so it must belong to one statement; and the plan needs enough of everything.
    names = Counter(each.theorem.name for each, _ in train) + Counter(
        each.theorem.name for each, _ in max(chosen, beside, key=len)
    )
    where = ", ".join(str(part.directory) for part in parts)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise DataError(
            f"{where}: {len(repeated)} names belong to several statements each, first {repeated[0]!r}: give every "
            "statement a name of its own"
        )
    first, second = _supervised(content.transitions, parts, settings.warm_start.theorems)
    _check_enough(settings, where, len(train), len(content.scored), (len(first), len(second)))
    # 4. Transitions go to files, which the trainer's ranks read.
    folder.mkdir(parents=True, exist_ok=True)
    clear(folder)
    return Data(
        digest=content.digest,
        train=[_row(each, "train") for each, _ in train],
        test=[_row(each, split) for each, _ in chosen],
        supervised=_written(folder / "supervised.sqlite", first, parts),
        validation=_written(folder / "validation.sqlite", second, parts),
        factors=banks.factors(parts, [number for _, number in train]),
        notes=content.notes,
        beside=[_row(each, split) for each, _ in beside],
        bank_of={each.theorem.name: parts[number].label for each, number in content.scored} if len(parts) > 1 else {},
        budget_factors={
            each.theorem.name: budgets[number] for each, number in (*train, *content.scored) if budgets[number] != 1
        },
    )


def sampled(refs: list[Ref], count: int, seed: int) -> list[Ref]:
    """A random sample of `count` transitions, determined by the seed."""
    order = np.random.default_rng(derive_seed(seed, "validation")).permutation(len(refs))
    return [refs[index] for index in order[:count]]


def evaluates(settings: LearnerSettings) -> bool:
    """Whether the run has an evaluation of any kind."""
    return settings.plan.evaluate or settings.evaluation.every > 0


def _sampled(
    scored: list[tuple[BankTheorem, int]], count: int, parts: Sequence[BankPart]
) -> list[tuple[BankTheorem, int]]:
    """Statements of all banks by weight, of each bank stratified."""
    grouped = banks.by_bank(scored)
    wanted = banks.divided(count, parts, {number: len(some) for number, some in grouped.items()})
    return [(each, number) for number, some in grouped.items() for each in bank.stratified(some, wanted[number])]


LEAST_THEOREMS = 100
"""In a mixture each bank gives at least so many theorems to the warm start, if it has them, whatever share of them the
settings ask for: a third of the 60 puzzles with short proofs would be 20."""

Numbered = list[tuple[Transition, int]]
"""Transitions, each with the index of its bank."""


def _supervised(
    given: Sequence[tuple[BankTransition, int]], parts: Sequence[BankPart], share: float
) -> tuple[Numbered, Numbered]:
    """The transitions of the warm start (trained on, held out)."""
    trained: Numbered = []
    held_out: Numbered = []
    for number, own in banks.by_bank(given).items():
        enough = LEAST_THEOREMS / len({each.theorem for each in own}) if len(parts) > 1 else 0.0
        first, second = split_held_out(own, max(share, enough))
        trained += [(each, number) for each in first]
        held_out += [(each, number) for each in second]
    return trained, held_out


def _written(file: Path, some: Numbered, parts: Sequence[BankPart]) -> list[Ref]:
    """Write transitions; the result has each as often as the weight of its bank asks for."""
    refs = transitions.write(file, [each for each, _ in some])
    times = banks.copies(parts, [number for _, number in some])
    return [ref for ref, count in zip(refs, times, strict=True) for _ in range(count)]


def _check_enough(settings: LearnerSettings, where: str, train: int, scored: int, transitions: tuple[int, int]) -> None:
    """Raises DataError if the banks lack data that the plan needs. `transitions`: (to train on, held out)."""
    split = settings.evaluation.split
    how = f"`proofmesh bank import SOURCE --out {where} --split"
    if not train:
        raise DataError(f"{where} has no train statements, so there is nothing to attempt: {how} train` adds some")
    if evaluates(settings) and not scored:
        raise DataError(
            f"{where} has no {split} statements to evaluate on: {how} {split}` adds some; or choose another split "
            "([learner.evaluation] split), or do not evaluate ([learner.plan] evaluate, [learner.evaluation] every)"
        )
    if not settings.warm_start.checkpoint and not all(transitions):
        raise DataError(
            f"{where} has too few transitions for a warm start ({transitions[0]} to train on, {transitions[1]} to "
            "measure it): name a network to begin with, [learner.warm_start] checkpoint, such as one that "
            "`proofmesh train` made"
        )
    if settings.plan.control_steps and not transitions[0]:
        raise DataError(
            f"{where} has no transitions, so [learner.plan] control_steps has nothing to train on: use a bank with "
            "transitions"
        )


def _row(each: BankTheorem, split: str) -> TheoremRow:
    return TheoremRow(each.theorem, split, each.family, each.level)


def split_held_out(transitions: list[BankTransition], share: float = 1.0) -> tuple[list[Transition], list[Transition]]:
    """Split transitions by theorem into (trained on, held out), the same on every machine. `share` is the share of the
    train theorems that is used."""
    trained, held_out = [], []
    for each in transitions:
        transition = Transition(each.state, each.tactic, each.remaining_steps)
        if is_held_out(each.theorem, HELD_OUT_SHARE):
            held_out.append(transition)
        elif derive_seed("warm-start", each.theorem) < share * SEEDS:
            trained.append(transition)
    return trained, held_out
