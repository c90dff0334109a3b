"""The bank as the learner uses it: train statements to attempt, test statements to score, transitions to learn from."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from common.messages import Transition
from common.seeds import SEEDS, derive_seed
from node.bank import bank
from node.bank.bank import BankTransition
from node.learner.errors import DataError
from node.learner.replay.replay import Ref
from node.learner.replay.segments import SegmentWriter, data_path, index_path
from node.learner.settings import LearnerSettings
from node.learner.store.records import TheoremRow

HELD_OUT_SHARE = 10
"""One train theorem of so many is held out of the warm start, to see the plateau of the loss on what is not trained."""

SAMPLE_SEED = 0
"""Of the sample of statements that evaluations use."""


@dataclass(frozen=True)
class Data:
    """What a run works with."""

    digest: str
    """Of the whole bank: keys the cache of warm starts."""
    train: list[TheoremRow]
    test: list[TheoremRow]
    supervised: list[Ref]
    """Transitions of the warm start; part of every batch later."""
    validation: list[Ref]
    """Transitions of held-out theorems."""


def load(settings: LearnerSettings, folder: Path) -> Data:
    """Read the bank; transitions become segments in `folder`, for the trainer's ranks.

    Raises DataError: missing or corrupt files, no statements, a test statement among the train statements, no
    transitions where the plan needs some.
    """
    directory = Path(settings.bank) if settings.bank else bank.DIRECTORY
    split = settings.evaluation.split
    try:
        train = _rows("train", directory)
        wanted = settings.plan.evaluate or split in bank.splits(directory)
        scored = bank.load_statements(split, directory) if wanted else []
        # The seed of the bank's sample is fixed: runs with different seeds are scored on the same statements.
        chosen = bank.stratified(scored, min(settings.evaluation.statements, len(scored)), SAMPLE_SEED)
        transitions = bank.load_transitions(directory, warm_start=True)
        digest = bank.digest(directory)
    except bank.BankError as error:
        raise DataError(str(error)) from error
    forbidden = {(each.theorem.binders, each.theorem.conclusion) for each in scored}
    leaked = [row.theorem.name for row in train if (row.theorem.binders, row.theorem.conclusion) in forbidden]
    if leaked:
        raise DataError(f"{len(leaked)} train statements are {split} statements too, first {leaked[0]}: fix the bank")
    if settings.statements:
        random.Random(derive_seed(settings.seed, "statements")).shuffle(train)
        train = train[: settings.statements]
    names = Counter(row.theorem.name for row in train) + Counter(each.theorem.name for each in chosen)
    if repeated := [name for name, count in names.items() if count > 1]:
        raise DataError(f"{directory}: {len(repeated)} names stand for several statements, first {repeated[0]}")
    first, second = split_held_out(transitions, settings.warm_start.theorems)
    _check_enough(settings, directory, len(train), len(scored), (len(first), len(second)))
    return Data(
        digest=digest,
        train=train,
        test=[TheoremRow(each.theorem, split, each.family, each.level) for each in chosen],
        supervised=_segment(folder / "supervised", first),
        validation=_segment(folder / "validation", second),
    )


def _check_enough(
    settings: LearnerSettings, directory: Path, train: int, scored: int, transitions: tuple[int, int]
) -> None:
    """Whether the bank has what the plan needs. `transitions`: to train on, held out. Raises DataError."""
    split = settings.evaluation.split
    how = f"`proofmesh bank import SOURCE --out {directory} --split"
    if not train:
        raise DataError(f"{directory} has no train statements, so there is nothing to attempt; {how} train` adds some")
    if settings.plan.evaluate and not scored:
        raise DataError(
            f"{directory} has no {split} statements to evaluate on: {how} {split}` adds some; or choose another split "
            "([learner.evaluation] split), or do not evaluate ([learner.plan] evaluate)"
        )
    if not settings.warm_start.checkpoint and not all(transitions):
        raise DataError(
            f"{directory} has too few transitions for a warm start ({transitions[0]} to train on, {transitions[1]} to "
            "measure it): name a network to begin with, [learner.warm_start] checkpoint, such as one that "
            "`proofmesh train` made"
        )
    if settings.plan.control_steps and not transitions[0]:
        raise DataError(f"{directory} has no transitions: the control's supervised steps have nothing to train on")


def _rows(split: str, directory: Path) -> list[TheoremRow]:
    statements = bank.load_statements(split, directory)
    return [TheoremRow(each.theorem, split, each.family, each.level) for each in statements]


def split_held_out(transitions: list[BankTransition], share: float = 1.0) -> tuple[list[Transition], list[Transition]]:
    """(trained on, held out), by theorem: the same theorems on every machine. Of the former only this share is used."""
    trained, held_out = [], []
    for each in transitions:
        transition = Transition(each.state, each.tactic, each.remaining_steps)
        if derive_seed("held-out", each.theorem) % HELD_OUT_SHARE == 0:
            held_out.append(transition)
        elif derive_seed("warm-start", each.theorem) < share * SEEDS:
            trained.append(transition)
    return trained, held_out


def _segment(base: Path, transitions: list[Transition]) -> list[Ref]:
    """Write transitions as a fresh segment."""
    for path in (data_path(base), index_path(base)):
        path.unlink(missing_ok=True)
    writer = SegmentWriter(base)
    count = writer.append(enumerate(transitions, start=1))
    writer.close()
    return [(str(base), position) for position in range(count)]
