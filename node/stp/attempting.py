"""Runs a round's attempts at statements and conjectures, and verifies every proof."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome, AttemptResult
from common.seeds import derive_seed
from node.stp.proving import Task
from node.stp.records import Fate, Proof
from node.stp.store import AttemptRow, Found, Part
from node.stp.work import Work

VERIFIED_AT_ONCE = 64
"""Verdicts recorded in one transaction."""


def tasks_of(work: Work, round: int, *, first: bool) -> list[Task]:
    """All attempts of a round: unproved statements, some of the solved ones again, and conjectures. Repeated calls
    return the same tasks until the round's first result is verified."""
    settings, store = work.settings, work.store
    rng = random.Random(derive_seed(settings.seed, "again", round))
    unproved = {each.theorem.name for each in store.unproved()}
    statements = [
        each.theorem
        for each in store.statements("train")
        if (rng.random() < settings.prover.again) or each.theorem.name in unproved
    ]
    conjectures = store.conjectures(round, Fate.ELABORATED, Fate.PROVED)
    theorems = [*statements, *(each.theorem for each in conjectures if each.theorem is not None)]
    samples = settings.prover.first_samples if first else settings.prover.samples
    return tasks(work, theorems, f"{round}", samples)


def tasks(work: Work, theorems: Iterable[Theorem], label: str, samples: int) -> list[Task]:
    """One attempt at each theorem; ids and seeds depend only on run, label and name."""
    return [
        Task(
            attempt_id=f"{work.plan.name}-{label}-{theorem.name}",
            theorem=theorem,
            samples=samples,
            seed=derive_seed(work.settings.seed, "prove", label, theorem.name),
        )
        for theorem in theorems
    ]


async def attempt(work: Work, round: int, tasks: Sequence[Task], part: Part) -> None:
    """Run the attempts that have no result yet. Raises BusError."""
    store = work.store
    recorded = store.attempts_of(round)
    missing = [task for task in tasks if task.attempt_id not in recorded]
    samples = {task.attempt_id: task.samples for task in tasks}
    finished = len(tasks) - len(missing)
    with work.timed(round, part, len(tasks)) as meter:
        meter.at(finished)
        async for result in work.proving.attempts(missing):
            store.add_attempts([row_of(result, round, samples[result.attempt_id])])
            finished += 1
            meter.at(finished)


def row_of(result: AttemptResult, round: int, samples: int) -> AttemptRow:
    """The record of a result. An attempt that ended in an infrastructure error counts no samples."""
    failed = result.outcome is AttemptOutcome.ERROR
    return AttemptRow(
        attempt_id=result.attempt_id,
        round=round,
        name=result.theorem_id,
        samples=0 if failed else samples,
        correct=sum(each.count for each in result.proofs),
        outcome=str(result.outcome),
        message=result.message,
        seconds=result.statistics.seconds,
        found=tuple(Found(each.script, each.count, each.first - 1, each.seconds) for each in result.proofs),
    )


async def verify(work: Work, round: int) -> None:
    """Verify all unverified proofs of a round. Raises BusError."""
    store, library = work.store, work.data.library
    waiting = store.unverified(round)
    theorems = {name: _theorem(work, name) for name in {proof.name for proof in waiting}}
    pairs = [(theorems[proof.name], proof.script) for proof in waiting]
    with work.timed(round, Part.VERIFICATION, len(pairs)) as meter:
        verdicts: list[tuple[Proof, str]] = []
        finished = 0
        async for number, reply in work.proving.verify(pairs):
            proof, theorem = waiting[number], pairs[number][0]
            lemmas = library.invoked_in(theorem, proof.script)
            reason = "" if reply.accepted else reply.reason or "refused"
            verdicts.append((Proof(proof.name, proof.script, reply.elapsed, lemmas), reason))
            finished += 1
            if len(verdicts) == VERIFIED_AT_ONCE or finished == len(pairs):
                store.add_proofs(round, verdicts)
                verdicts = []
            meter.at(finished)
    proved = {name for name, each in store.attempted(round).items() if each.correct}
    store.set_fates(
        (each.name, Fate.PROVED, "") for each in store.conjectures(round, Fate.ELABORATED) if each.name in proved
    )


def _theorem(work: Work, name: str) -> Theorem:
    theorem = work.store.theorem(name)
    assert theorem is not None  # attempted theorems are always in the store
    return theorem
