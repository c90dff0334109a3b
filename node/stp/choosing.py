"""Chooses the examples of each training of a run."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from common.seeds import derive_seed
from node.stp.records import Attempted, Conjecture, ConjecturerExample, Fate, ProverExample
from node.stp.selection import conjecturer_examples, final_examples, prover_examples
from node.stp.store import Part, RoundKind, Stage
from node.stp.work import Work


def choose(work: Work, round: int, checkpoint: Path) -> None:
    """Record the examples of a round's training: from its own results, from replayed earlier rounds, and a random part
    of the initial data. `checkpoint`: the network whose embeddings re-weight the conjectures."""
    with work.timed(round, Part.SELECTION):
        provers, conjectures = own_examples(work, round, checkpoint)
        work.store.add_examples(round, provers, conjectures)
        for earlier in replayed(work, round):
            work.store.add_examples(
                round,
                work.store.prover_examples(earlier, source=earlier),
                work.store.conjecturer_examples(earlier, source=earlier),
                source=earlier,
            )
        work.store.add_examples(round, *initial_draw(work, round), source=0)
    work.reach(round, Stage.SELECTED)


def own_examples(work: Work, round: int, checkpoint: Path) -> tuple[list[ProverExample], list[ConjecturerExample]]:
    """The examples from a round's own results."""
    attempted = work.store.attempted(round)
    data = {each.theorem.name: each.theorem for each in work.store.statements("train")}
    proved: list[tuple[Conjecture, Attempted]] = [
        (each, attempted[each.name]) for each in work.store.conjectures(round, Fate.PROVED)
    ]
    of_statements = [(data[name], each, False) for name, each in attempted.items() if name in data]
    of_conjectures = [(each.theorem, attempt, True) for each, attempt in proved if each.theorem is not None]
    unproved = [each.theorem for each in work.store.unproved()]
    embed: Callable[[Sequence[str]], np.ndarray] | None = None
    if work.settings.conjecturer.reweight and unproved:

        def embed(statements: Sequence[str]) -> np.ndarray:
            return work.network.embed(checkpoint, statements)

    return (
        prover_examples([*of_statements, *of_conjectures], work.settings.prover),
        conjecturer_examples(proved, unproved, embed, work.settings.conjecturer),
    )


def replayed(work: Work, round: int) -> list[int]:
    """The earlier rounds of this cycle whose examples are used again."""
    cycle = next(each.cycle for each in work.store.rounds() if each.number == round)
    earlier = [
        each.number
        for each in work.store.rounds()
        if each.kind is RoundKind.SELF_PLAY and each.cycle == cycle and each.number < round
    ]
    return earlier[len(earlier) - min(len(earlier), work.settings.prover.replay - 1) :]


def initial_draw(work: Work, round: int) -> tuple[list[ProverExample], list[ConjecturerExample]]:
    """A random part of the initial data."""
    share = work.settings.training.initial
    rng = random.Random(derive_seed(work.settings.seed, "initial", round))
    proofs, pairs = initial_examples(work)
    return [each for each in proofs if rng.random() < share], [each for each in pairs if rng.random() < share]


def initial_examples(work: Work) -> tuple[list[ProverExample], list[ConjecturerExample]]:
    """All of the initial data, with weight 1."""
    proofs = [ProverExample(theorem, proof.script, 1.0) for theorem, proof in work.data.given]
    return proofs, list(work.data.conjectures)


def choose_final(work: Work, round: int) -> None:
    """Record the examples of a training from the base: all results verified so far, and the initial data."""
    with work.timed(round, Part.SELECTION):
        pairs: list[ConjecturerExample] = []
        total: dict[str, Attempted] = {}
        conjectured = {each.name: each.theorem for each in work.store.conjectures() if each.theorem is not None}
        data = {each.theorem.name: each.theorem for each in work.store.statements("train")}
        for each in work.store.rounds():
            if each.kind is not RoundKind.SELF_PLAY:
                continue
            for name, attempted in work.store.attempted(each.number).items():
                total[name] = joined(total[name], attempted) if name in total else attempted
            pairs += work.store.conjecturer_examples(each.number, source=each.number)
        rows = [
            (theorem, attempted, name in conjectured)
            for name, attempted in total.items()
            if (theorem := data.get(name) or conjectured.get(name)) is not None
        ]
        verified = final_examples(rows, work.settings.final)
        initial, initial_pairs = initial_examples(work)
        work.store.add_examples(round, [*initial, *verified], [*initial_pairs, *pairs])
    work.reach(round, Stage.SELECTED)


def joined(first: Attempted, second: Attempted) -> Attempted:
    """Add up the samples of two rounds; equal proofs count once."""
    proofs = {proof.script: proof for proof in (*first.proofs, *second.proofs)}
    return Attempted(first.name, first.samples + second.samples, first.correct + second.correct, tuple(proofs.values()))
