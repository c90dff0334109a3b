"""Plays or resumes a run of self-play (STP, arXiv 2502.00212, section 3 and algorithm 1):

    stage 1   supervised training on the initial data
    stage 2   rounds: conjecture, prove, verify, select, train
    stage 3   training from stage 1's network on everything verified

Stages 2 and 3 make up a cycle. Each row in the store's table of rounds is one training with the steps before it. Every
step of a round is recorded before the next one begins, and ids and seeds depend only on the run. So a run that is
killed at any point resumes with the same counts as without the kill.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from common.seeds import derive_seed
from node.stp.attempting import attempt, tasks_of, verify
from node.stp.choosing import choose, choose_final, initial_examples
from node.stp.ending import rounds_are_over
from node.stp.errors import StpError
from node.stp.evaluating import evaluate, in_words
from node.stp.making import draw_seeds, elaborate, made_in_words, make_conjectures
from node.stp.report import write_report
from node.stp.store import Part, RoundKind, RoundRow, Stage, StpStore
from node.stp.work import Work

TRAININGS = "trainings"
"""Folder of the trainings, in the run's folder."""


async def play(work: Work) -> None:
    """Play the whole run. Raises StpError, BusError, ConjecturingError."""
    store = work.store
    store.add_statements(work.data.statements)
    number = 0
    latest = await _training(work, store.begin_round(number, 0, time.time(), RoundKind.INITIAL), None)
    for cycle in range(1, work.settings.cycles + 1):
        begun = number
        while _another_round(work, number, cycle):
            number += 1
            row = store.begin_round(number, cycle, time.time())
            latest = await _round(work, row, latest)
            if not row.reached(Stage.DONE):
                await asyncio.to_thread(write_report, work.directory)
        solved = work.settings.until_solved and not work.store.unproved()
        if solved or not work.settings.final.train or (number == begun and store.round(number + 1) is None):
            return  # without a new round there is no new data to train on
        number += 1
        latest = await _training(work, store.begin_round(number, cycle, time.time(), RoundKind.FINAL), latest)


def _another_round(work: Work, number: int, cycle: int) -> bool:
    """Whether another round of the cycle follows row `number`. A row that an earlier process began is continued, even
    if the settings now ask for fewer rounds."""
    row = work.store.round(number + 1)
    if row is not None:
        return row.kind is RoundKind.SELF_PLAY
    return not rounds_are_over(work.store.rounds(), cycle, work.settings, all_solved=not work.store.unproved())


async def _round(work: Work, row: RoundRow, latest: Path) -> Path:
    """Play one round of stage 2; returns its checkpoint."""
    number = row.number
    if row.reached(Stage.DONE):
        return checkpoint_of(row)
    if not row.reached(Stage.VERIFIED):  # afterwards the mesh may already serve this round's new weights
        await _served(work, latest, number)
    if not row.reached(Stage.SEEDED):
        draw_seeds(work, number)
    if not row.reached(Stage.CONJECTURED):
        await make_conjectures(work, number, weights=number)
    if not row.reached(Stage.ELABORATED):
        await elaborate(work, number)
        work.watcher.note(f"round {number}: {made_in_words(work, number)}")
    if not row.reached(Stage.ATTEMPTED):
        await attempt(work, number, tasks_of(work, number, first=number == 1), Part.PROVING)
        work.reach(number, Stage.ATTEMPTED)
    if not row.reached(Stage.VERIFIED):
        await verify(work, number)
        work.reach(number, Stage.VERIFIED)
        work.watcher.note(f"round {number}: {_proved_in_words(work, number)}")
    if not row.reached(Stage.SELECTED):
        await asyncio.to_thread(choose, work, number, latest)
    return await _training(work, row, latest)


async def _training(work: Work, row: RoundRow, latest: Path | None) -> Path:
    """Run the training and the evaluation of a round of any kind. Returns the checkpoint."""
    number, store = row.number, work.store
    if row.reached(Stage.DONE):
        return checkpoint_of(row)
    if not row.reached(Stage.SELECTED) and row.kind is RoundKind.INITIAL:
        store.add_examples(number, *initial_examples(work))
        work.reach(number, Stage.SELECTED)
    if not row.reached(Stage.SELECTED) and row.kind is RoundKind.FINAL:
        choose_final(work, number)
    if not row.reached(Stage.TRAINED):
        checkpoint = await _trained(work, row, latest)
        work.reach(number, Stage.TRAINED, weights=number + 1, checkpoint=str(checkpoint))
    checkpoint = checkpoint_of(_row(store, number))
    if row.kind is not RoundKind.SELF_PLAY or _evaluated_after(work, number):
        await _served(work, checkpoint, number + 1)
        if numbers := await evaluate(work, number):
            work.watcher.note(f"round {number} ({row.kind}): {in_words(numbers)}")
    work.reach(number, Stage.DONE)
    return checkpoint


def _row(store: StpStore, number: int) -> RoundRow:
    row = store.round(number)
    assert row is not None  # callers pass rounds that have begun
    return row


def _evaluated_after(work: Work, number: int) -> bool:
    every = work.settings.evaluation.every
    return bool(every) and number % every == 0


async def _trained(work: Work, row: RoundRow, latest: Path | None) -> Path:
    """Run a round's training; returns the checkpoint. Raises StpError."""
    number, store, settings = row.number, work.store, work.settings
    folder = work.directory / TRAININGS
    name = f"{row.kind}-{number:03}"
    provers, conjectures = store.prover_examples(number), store.conjecturer_examples(number)
    if not provers:
        if latest is not None:
            work.watcher.note(f"round {number}: no proof to learn from; the network stays as it is")
            return latest
        raise StpError("there is no proof to start from; prepare data with proofs, or name another [stp] data")
    stage = {RoundKind.INITIAL: "initial", RoundKind.SELF_PLAY: "round", RoundKind.FINAL: "final"}[row.kind]
    start = latest
    if row.kind is RoundKind.FINAL:
        start = checkpoint_of(store.rounds()[0])
    with work.timed(number, Part.TRAINING):
        seed = derive_seed(settings.seed, "training", number) % 2**31
        return await work.network.train(name, folder, stage, start, provers, conjectures, seed)


async def _served(work: Work, checkpoint: Path, version: int) -> None:
    """Serve these weights. Raises BusError, ServingError."""
    await work.network.serve(work.proving.place, checkpoint, version)
    work.proving.weights, work.proving.policy = version, work.network.policy


def begin_with(store: StpStore, checkpoint: str | Path) -> RoundRow:
    """Begin a run with an existing network in place of stage 1. A run that has begun keeps its network. Returns the row
    of stage 1."""
    store.begin_round(0, 0, time.time(), RoundKind.INITIAL)
    store.reach(0, Stage.DONE, time.time(), weights=1, checkpoint=str(checkpoint))
    return _row(store, 0)


def checkpoint_of(row: RoundRow) -> Path:
    """The path of a trained round's checkpoint."""
    assert row.checkpoint is not None  # always set once the round is trained
    return Path(row.checkpoint)


def _proved_in_words(work: Work, round: int) -> str:
    """The results of a round's attempts in one line."""
    results = work.store.attempted(round)
    data = {each.theorem.name for each in work.store.statements("train")}
    statements = [each for name, each in results.items() if name in data]
    conjectures = [each for name, each in results.items() if name not in data]
    barely = sum(0 < each.rate < work.settings.conjecturer.barely for each in conjectures)
    proved, of_conjectures = (sum(each.correct > 0 for each in group) for group in (statements, conjectures))
    return (
        f"{proved} of {len(statements)} statements proved, {of_conjectures} of {len(conjectures)} conjectures, "
        f"{barely} barely; {len(work.store.solved())} of {len(data)} statements solved so far"
    )
