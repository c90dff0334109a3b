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
import hashlib
import math
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from common.lean import Theorem
from common.protocol.attempts import AttemptOutcome, AttemptResult
from common.protocol.subjects import LONGEST_RUN_NAME
from common.seeds import derive_seed
from common.settings import Sampling
from common.statistics import sizes, unbiased
from common.watch.tracking import Tracked
from node.model.prompt import unnamed
from node.play.attempts import TrainedAttempts
from node.stp.data.initial import RunData, around
from node.stp.data.statements import key, sift
from node.stp.network import Network, Question, network_of
from node.stp.readers import open_run, rounds_are_over, summarise
from node.stp.records import (
    FILE,
    Attempted,
    AttemptRow,
    ConjecturerExample,
    Fate,
    Found,
    Output,
    Part,
    Proof,
    ProverExample,
    RoundKind,
    RoundRow,
    Seed,
    Stage,
    StpError,
)
from node.stp.report import write_report
from node.stp.selection import (
    OUTPUTS,
    choose_seeds,
    conjecturer_examples,
    final_examples,
    outputs_per_seed,
    prover_examples,
)
from node.stp.settings import FOCUS, StpPlan, StpSettings
from node.stp.store import StpStore
from node.stp.work import Proving, Task, Watcher, Work

TRAININGS = "trainings"
"""Folder of the trainings, in the run's folder."""

TRAIN, TEST = "train", "test"
"""Splits of the data."""

BLOCK = 128
"""Seeds whose outputs are sampled concurrently and recorded together."""

PATIENCE = 600.0
"""Seconds to wait for the outputs of a seed, not counting time without a broker."""

NO_OUTPUT = Output("", complete=False, tokens=0)

VERIFIED_AT_ONCE = 64
"""Verdicts recorded in one transaction."""


async def played(plan: StpPlan, place: TrainedAttempts, watcher: Watcher, data: RunData) -> None:
    """Begin or resume the run of a plan. `place`: plays its attempts. `data`: its initial data.

    Raises StpError, BusError, ServingError, CheckpointError.
    """
    network = await asyncio.to_thread(network_of, plan)
    tracked = await asyncio.to_thread(Tracked, plan.settings.tracker, plan.directory, asdict(plan.settings))
    store = StpStore(plan.directory / FILE)
    try:
        proving = Proving(place, weights=0, sampling=Sampling(temperature=plan.settings.prover.temperature))
        await play(Work(plan, store, data, network, proving, watcher, tracked))
        await asyncio.to_thread(write_report, plan.directory)
    finally:
        store.close()
        await asyncio.to_thread(tracked.close)


async def play(work: Work) -> None:
    """Play the whole run. Raises StpError, BusError, ServingError, CheckpointError."""
    # 1. Stage 1: the initial data.
    store, settings = work.store, work.settings
    store.add_statements(work.data.statements)
    number = 0
    latest = await _training(work, store.begin_round(number, 0, time.time(), RoundKind.INITIAL), None)
    for cycle in range(1, settings.cycles + 1):
        # 2. Stage 2: rounds.
        begun = number
        while _another_round(work, number, cycle):
            number += 1
            row = store.begin_round(number, cycle, time.time())
            latest = await _round(work, row, latest)
            if not row.reached(Stage.DONE):
                await asyncio.to_thread(write_report, work.directory)
        # 3. Stage 3. Without a new round there is no new data to train on.
        solved = settings.until_solved and not store.unproved()
        if solved or not settings.final.train or (number == begun and store.round(number + 1) is None):
            return
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
    """Play one round of stage 2 with the `latest` network; returns its checkpoint."""
    number = row.number
    if row.reached(Stage.DONE):
        return checkpoint_of(row)
    # 1. Serve the network. Once all is verified, the mesh may already serve this round's new weights.
    if not row.reached(Stage.VERIFIED):
        await _served(work, latest, number)
    # 2. Conjecture.
    if not row.reached(Stage.SEEDED):
        draw_seeds(work, number)
    if not row.reached(Stage.CONJECTURED):
        await make_conjectures(work, number, weights=number)
    if not row.reached(Stage.ELABORATED):
        await elaborate(work, number)
    # 3. Prove statements and conjectures.
    if not row.reached(Stage.ATTEMPTED):
        await attempt(work, number, tasks_of(work, number, first=number == 1), Part.PROVING)
        work.reach(number, Stage.ATTEMPTED)
    if not row.reached(Stage.VERIFIED):
        await verify(work, number)
        work.reach(number, Stage.VERIFIED)
        work.watcher.note(f"round {number}: {_proved_in_words(work, number)}")
    # 4. Select, and train.
    if not row.reached(Stage.SELECTED):
        await asyncio.to_thread(choose, work, number, latest)
    return await _training(work, row, latest)


async def _training(work: Work, row: RoundRow, latest: Path | None) -> Path:
    """Run the training and the evaluation of a round of any kind. Returns the checkpoint."""
    number = row.number
    if row.reached(Stage.DONE):
        return checkpoint_of(row)
    # 1. The examples. Those of a round of stage 2 are chosen already.
    if not row.reached(Stage.SELECTED) and row.kind is RoundKind.INITIAL:
        work.store.add_examples(number, *initial_examples(work))
        work.reach(number, Stage.SELECTED)
    if not row.reached(Stage.SELECTED) and row.kind is RoundKind.FINAL:
        choose_final(work, number)
    # 2. The training.
    if row.reached(Stage.TRAINED):
        checkpoint = checkpoint_of(row)
    else:
        checkpoint = await _trained(work, row, latest)
        work.reach(number, Stage.TRAINED, weights=number + 1, checkpoint=str(checkpoint))
    # 3. The evaluation.
    every = work.settings.evaluation.every
    if row.kind is not RoundKind.SELF_PLAY or (every and number % every == 0):
        await _served(work, checkpoint, number + 1)
        if numbers := await evaluate(work, number):
            passes = ", ".join(f"{name} {value:.1%}" for name, value in numbers.items() if name.startswith("pass@"))
            counts = f"{numbers['solved']:.0f} of {numbers['statements']:.0f} solved"
            work.watcher.note(f"round {number} ({row.kind}): test: {counts}, {passes}")
    work.reach(number, Stage.DONE)
    if work.tracked is not None:
        await asyncio.to_thread(_track, work, number, work.tracked)
    return checkpoint


def _track(work: Work, number: int, tracked: Tracked) -> None:
    """Give the numbers of a round to the trackers."""
    store = open_run(work.directory)
    try:
        found = next(each for each in summarise(store).rounds if each.number == number)
    finally:
        store.close()
    tracked.write(number, found.numbers())


async def _trained(work: Work, row: RoundRow, latest: Path | None) -> Path:
    """Run a round's training; returns the checkpoint. Raises StpError."""
    number, store = row.number, work.store
    provers, conjectures = store.prover_examples(number), store.conjecturer_examples(number)
    if not provers:
        if latest is not None:
            work.watcher.note(f"round {number}: no proof to learn from; the network stays as it is")
            return latest
        raise StpError("there is no proof to start from; prepare data with proofs, or name another [stp] data")
    stage = {RoundKind.INITIAL: "initial", RoundKind.SELF_PLAY: "round", RoundKind.FINAL: "final"}[row.kind]
    start = checkpoint_of(store.rounds()[0]) if row.kind is RoundKind.FINAL else latest
    with work.timed(number, Part.TRAINING):
        name, seed = f"{row.kind}-{number:03}", derive_seed(work.settings.seed, "training", number) % 2**31
        folder = work.directory / TRAININGS
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
    return store.rounds()[0]


def checkpoint_of(row: RoundRow) -> Path:
    """The path of a trained round's checkpoint."""
    assert row.checkpoint is not None  # always set once the round is trained
    return Path(row.checkpoint)


# --- conjectures: seeds are drawn, the conjecturer is sampled, new statements are kept and elaborated -----------------


def most_conjectures(work: Work) -> int:
    """Maximum new conjectures of a round: a share of the number of unproved statements (STP, section 3.2)."""
    settings = work.settings.conjecturer
    return settings.most or math.ceil(settings.share * len(work.store.unproved()))


def draw_seeds(work: Work, round: int) -> None:
    """Draw and record the seeds of a round from the solved statements. Statements of the initial data count with a
    success rate of 1."""
    most = most_conjectures(work)
    if most:
        solved = [(each.theorem, proof, each.rate) for each in work.store.solved() for proof in each.proofs]
        solved += [(theorem, proof, 1.0) for theorem, proof in work.data.given]
        rng = random.Random(derive_seed(work.settings.seed, "seeds", round))
        seeds = choose_seeds(solved, work.data.library, work.settings.conjecturer, rng, OUTPUTS * most)
        work.store.add_seeds(round, seeds)
    work.reach(round, Stage.SEEDED)


async def make_conjectures(work: Work, round: int, weights: int) -> None:
    """Sample the conjecturer for each seed, and record the conjectures with their fates. Raises BusError, StpError."""
    # 1. The outputs, block by block.
    store = work.store
    seeds = store.seeds_of(round)
    most = most_conjectures(work)
    each = outputs_per_seed(len(seeds), most)
    written: list[tuple[Seed, Output]] = []
    with work.timed(round, Part.GENERATION, len(seeds)) as meter:
        for start in range(0, len(seeds), BLOCK):
            block = seeds[start : start + BLOCK]
            outputs = await _outputs(work, block, round, start, each, weights)
            written += [(seed, output) for seed, of_seed in zip(block, outputs, strict=True) for output in of_seed]
            meter.at(start + len(block))
    # 2. What is new among them.
    known_keys = store.known(key, before=round) | work.data.keys
    store.add_conjectures(sift(written, known_keys, most, round_=round, rng_seed=work.settings.seed))
    work.reach(round, Stage.CONJECTURED)
    # 3. Only now the notes go: after a kill before this, they save the requests.
    for start in range(0, len(seeds), BLOCK):
        store.note(_block_name(round, start), None)


async def _outputs(
    work: Work, seeds: Sequence[Seed], round: int, start: int, count: int, weights: int
) -> list[list[Output]]:
    """`count` outputs for each seed of a block; from the store if the block was sampled before."""
    name = _block_name(round, start)
    recorded = work.store.noted(name)
    if recorded is not None:
        return [[Output(**output) for output in outputs] for outputs in recorded]
    temperature = work.settings.conjecturer.temperature
    questions = []
    for number, seed in enumerate(seeds, start=start):
        rng_seed = derive_seed(work.settings.seed, "conjecture", round, number)
        questions.append(Question(seed, count, rng_seed, weights, temperature, PATIENCE))
    replies = await asyncio.gather(*(work.network.conjecture(work.proving.place, each) for each in questions))
    # A seed that is longer than the network's context has no outputs.
    outputs = [list(each) or [NO_OUTPUT] for each in replies]
    work.store.note(name, [[asdict(output) for output in each] for each in outputs])
    return outputs


def _block_name(round: int, start: int) -> str:
    return f"outputs of round {round} from seed {start}"


async def elaborate(work: Work, round: int) -> None:
    """Elaborate each new conjecture with Lean. Raises BusError."""
    store = work.store
    theorems = [each.theorem for each in store.conjectures(round, Fate.NEW) if each.theorem is not None]
    with work.timed(round, Part.ELABORATION, len(theorems)) as meter:
        finished = 0
        async for theorem, error in work.proving.elaborate(theorems):
            fate = Fate.NOT_ELABORATED if error else Fate.ELABORATED
            store.set_fates([(theorem.name, fate, error)])
            finished += 1
            meter.at(finished)
    work.reach(round, Stage.ELABORATED)
    fates = Counter(each.fate for each in store.conjectures(round))
    counts = ", ".join(f"{fates[fate]} {fate}" for fate in Fate if fates[fate])
    told = f"{fates.total()} outputs of the conjecturer: {counts}" if fates else "no conjectures"
    work.watcher.note(f"round {round}: {told}")


# --- proofs: statements and conjectures are attempted, and every proof is verified ------------------------------------


def tasks_of(work: Work, round: int, *, first: bool) -> list[Task]:
    """All attempts of a round: unproved statements, some of the solved ones again, and conjectures. Repeated calls
    return the same tasks until the round's first result is verified."""
    settings, store = work.settings, work.store
    rng = random.Random(derive_seed(settings.seed, "again", round))
    unproved = {each.theorem.name for each in store.unproved()}
    statements = [
        each.theorem
        for each in store.statements(TRAIN)
        if (rng.random() < settings.prover.again) or each.theorem.name in unproved
    ]
    conjectures = store.conjectures(round, Fate.ELABORATED, Fate.PROVED)
    theorems = [*statements, *(each.theorem for each in conjectures if each.theorem is not None)]
    return tasks(work, theorems, f"{round}", settings.prover.first_samples if first else settings.prover.samples)


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


UNPLAYED = (AttemptOutcome.ERROR, AttemptOutcome.POISONED)
"""Outcomes of attempts that say nothing about any of their samples."""


def row_of(result: AttemptResult, round: int, samples: int) -> AttemptRow:
    """The record of a result. An attempt that nobody could play counts no samples, nor do proofs that Lean lost."""
    lost = samples if result.outcome in UNPLAYED else min(samples, result.statistics.expansions_lost)
    return AttemptRow(
        attempt_id=result.attempt_id,
        round=round,
        name=result.theorem_id,
        samples=samples - lost,
        correct=sum(each.count for each in result.proofs),
        outcome=str(result.outcome),
        message=result.message,
        seconds=result.statistics.seconds,
        found=tuple(Found(each.script, each.count, each.first - 1, each.seconds) for each in result.proofs),
    )


async def verify(work: Work, round: int) -> None:
    """Verify all unverified proofs of a round. Raises BusError."""
    # 1. The verdicts, with the lemmas that each proof invokes.
    store, library = work.store, work.data.library
    waiting = store.unverified(round)
    theorems = {name: store.theorem(name) for name in {proof.name for proof in waiting}}
    pairs = [(theorem, proof.script) for proof in waiting if (theorem := theorems[proof.name]) is not None]
    assert len(pairs) == len(waiting)  # attempted theorems are always in the store
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
    # 2. Conjectures with a verified proof are proved.
    proved = {name for name, each in store.attempted(round).items() if each.correct}
    store.set_fates(
        (each.name, Fate.PROVED, "") for each in store.conjectures(round, Fate.ELABORATED) if each.name in proved
    )


def _proved_in_words(work: Work, round: int) -> str:
    """The results of a round's attempts in one line."""
    results = work.store.attempted(round)
    data = {each.theorem.name for each in work.store.statements(TRAIN)}
    statements = [each for name, each in results.items() if name in data]
    conjectures = [each for name, each in results.items() if name not in data]
    barely = sum(0 < each.rate < work.settings.conjecturer.barely for each in conjectures)
    proved, of_conjectures = (sum(each.correct > 0 for each in group) for group in (statements, conjectures))
    return (
        f"{proved} of {len(statements)} statements proved, {of_conjectures} of {len(conjectures)} conjectures, "
        f"{barely} barely; {len(work.store.solved())} of {len(data)} statements solved so far"
    )


# --- examples: what each training of a run is on ----------------------------------------------------------------------


def choose(work: Work, round: int, checkpoint: Path) -> None:
    """Record the examples of a round's training. `checkpoint`: the network whose embeddings re-weight conjectures."""
    store = work.store
    with work.timed(round, Part.SELECTION):
        # 1. From the round's own results.
        store.add_examples(round, *own_examples(work, round, checkpoint))
        # 2. From replayed earlier rounds.
        for earlier in replayed(work, round):
            proofs, conjectures = store.prover_examples(earlier, earlier), store.conjecturer_examples(earlier, earlier)
            store.add_examples(round, proofs, conjectures, source=earlier)
        # 3. A random part of the initial data.
        store.add_examples(round, *initial_draw(work, round), source=0)
    work.reach(round, Stage.SELECTED)


def own_examples(work: Work, round: int, checkpoint: Path) -> tuple[list[ProverExample], list[ConjecturerExample]]:
    """The examples from a round's own results."""
    store, settings = work.store, work.settings
    attempted = store.attempted(round)
    data = {each.theorem.name: each.theorem for each in store.statements(TRAIN)}
    proved = [(each, attempted[each.name]) for each in store.conjectures(round, Fate.PROVED)]
    of_statements = [(data[name], each, False) for name, each in attempted.items() if name in data]
    of_conjectures = [(each.theorem, attempt, True) for each, attempt in proved if each.theorem is not None]
    unproved = [each.theorem for each in store.unproved()]
    embed = partial(work.network.embed, checkpoint) if settings.conjecturer.reweight and unproved else None
    return (
        prover_examples([*of_statements, *of_conjectures], settings.prover),
        conjecturer_examples(proved, unproved, embed, settings.conjecturer),
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
        data = {each.theorem.name: each.theorem for each in work.store.statements(TRAIN)}
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
        verified = final_examples(rows, work.settings.final, work.settings.seed)
        initial, initial_pairs = initial_examples(work)
        work.store.add_examples(round, [*initial, *verified], [*initial_pairs, *pairs])
    work.reach(round, Stage.SELECTED)


def joined(first: Attempted, second: Attempted) -> Attempted:
    """Add up the samples of two rounds; equal proofs count once."""
    proofs = {proof.script: proof for proof in (*first.proofs, *second.proofs)}
    return Attempted(first.name, first.samples + second.samples, first.correct + second.correct, tuple(proofs.values()))


# --- evaluation on test statements, which training never uses ---------------------------------------------------------


async def evaluate(work: Work, round: int) -> dict[str, float]:
    """pass@k of the served network for powers of two k up to the number of samples (Chen et al., arXiv 2107.03374,
    equation 1), and the number of solved statements. Raises BusError."""
    settings, store = work.settings.evaluation, work.store
    theorems = [each.theorem for each in store.statements(TEST)]
    theorems = theorems[: settings.statements or len(theorems)]
    if not theorems or not settings.samples:
        return {}
    recorded = store.evaluations().get(round, {}).get(TEST)
    if recorded:
        return recorded
    names = {each.name for each in theorems}
    await attempt(work, round, tasks(work, theorems, f"{round}-test", settings.samples), Part.EVALUATION)
    await verify(work, round)
    results = [each for name, each in store.attempted(round).items() if name in names and each.samples]
    numbers = {
        f"pass@{k}": statistics.fmean(unbiased(each.samples, each.correct, k) for each in results if each.samples >= k)
        for k in sizes(settings.samples)
        if results
    }
    numbers |= {"solved": float(sum(each.correct > 0 for each in results)), "statements": float(len(results))}
    store.add_evaluation(round, TEST, numbers)
    return numbers


# --- a run focused on one hard statement ------------------------------------------------------------------------------


# AlphaProof's test-time RL (Nature 2025) learns from variants of one statement. Here the conjecturer writes the
# variants. The seeds are the run's solved statements with embeddings nearest to the target. The target is the only
# unproved statement, so re-weighting prefers conjectures near it. Each round trains on the proofs that it found.

NEAREST = 200
"""Number of solved statements from which the first seeds are drawn."""


@dataclass(frozen=True)
class Focus:
    """The effort for one statement."""

    conjectures: int
    """Conjectures per round."""
    samples: int
    """Proofs sampled per round for the target and for each conjecture."""
    rounds: int
    minutes: float


def focused_plan(source: StpPlan, target: Theorem, focus: Focus, seed: int) -> StpPlan:
    """The plan of a focused run, in a folder inside the source run's folder."""
    settings = source.settings
    prover = replace(settings.prover, first_samples=focus.samples, samples=focus.samples, again=0.0)
    conjecturer = replace(settings.conjecturer, most=focus.conjectures, share=1.0)
    changed: StpSettings = replace(
        settings,
        rounds=focus.rounds,
        cycles=1,
        minutes=focus.minutes,
        until_solved=True,
        statements=0,
        seed=seed,
        prover=prover,
        conjecturer=conjecturer,
        evaluation=replace(settings.evaluation, samples=0),
        final=replace(settings.final, train=False),
    )
    name = focus_name(source.name, target, seed)
    return replace(source, name=name, directory=source.directory / FOCUS / name, settings=changed)


def focus_name(run: str, target: Theorem, seed: int) -> str:
    """The name of a focused run. Names may only have lower-case letters, digits and hyphens and are cut, so a digest
    keeps them distinct."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{run}-focus-{seed}-{target.name}".lower())
    digest = hashlib.blake2b(target.signature.encode(), digest_size=4).hexdigest()
    return f"{words[: LONGEST_RUN_NAME - len(digest) - 1].rstrip('-')}-{digest}"


def newest_checkpoint(source: StpStore) -> Path:
    """The checkpoint of the run's latest training. Raises StpError if there is none."""
    trained = [row for row in source.rounds() if row.checkpoint]
    if not trained:
        raise StpError(f"{source.path.parent} has no trained network yet; wait until its first training has ended")
    return checkpoint_of(trained[-1])


def nearest(
    target: Theorem, solved: Sequence[tuple[Theorem, Proof]], network: Network, checkpoint: Path
) -> list[tuple[Theorem, Proof]]:
    """The solved statements whose embeddings are nearest to the target's, nearest first."""
    if not solved:
        raise StpError("the run has no solved statement to start from; play more rounds first")
    texts = [unnamed(theorem.signature) for theorem in (target, *(theorem for theorem, _ in solved))]
    rows = network.embed(checkpoint, texts)
    order = np.argsort(-(rows[1:] @ rows[0]), kind="stable")
    return [solved[index] for index in order[:NEAREST]]


def begin(plan: StpPlan, source: StpStore, data: RunData, target: Theorem) -> RunData:
    """Prepare the focused run's folder, with the source run's newest network as the result of its first training. A run
    that has begun is not changed. Returns the data. Raises StpError."""
    checkpoint = newest_checkpoint(source)
    solved = [(each.theorem, each.proofs[0]) for each in source.solved() if each.theorem.name != target.name]
    solved += data.given
    plan.directory.mkdir(parents=True, exist_ok=True)
    store = StpStore(plan.directory / FILE)
    try:
        start = checkpoint_of(begin_with(store, checkpoint))
    finally:
        store.close()
    return around(data, target, nearest(target, solved, network_of(plan), start))
