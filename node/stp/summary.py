"""Summarizes a run of self-play for views: numbers of each round. The run may be writing at the same time."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from node.stp.ending import is_finished
from node.stp.records import Fate
from node.stp.settings import StpSettings
from node.stp.store import FILE, Part, RoundKind, RoundRow, Stage, StpStore


@dataclass(frozen=True)
class RoundSummary:
    """One round. The counts are those recorded so far."""

    number: int
    cycle: int
    kind: RoundKind
    stage: Stage
    weights: int | None
    checkpoint: str | None
    seeds: int
    lemmas: int
    """Distinct lemmas in the seeds, including the empty lemma."""
    made: int
    """Outputs of the conjecturer."""
    fates: dict[str, int]
    """Outputs by fate; a proved conjecture counts only as proved."""
    elaborated: int
    """Conjectures that elaborate, including the proved ones."""
    proved: int
    barely: int
    """Proved conjectures with a rate below `conjecturer.barely`."""
    tried: int
    """Statements of `train` with an attempt in the round."""
    newly_solved: int
    """Statements that this round solved first."""
    solved: int
    """Statements of `train` solved so far."""
    rate: float
    """Share of the statements of `train` solved so far."""
    samples: int
    """Proofs sampled in the round, for statements of `train` and conjectures."""
    samples_for_conjectures: int
    correct: int
    """Correct samples as reported by the provers."""
    proofs: int
    """Distinct verified proofs first found in the round."""
    refused: int
    """Distinct proofs first found in the round that verification refused."""
    trained_proofs: int
    """Proofs in the round's training data."""
    trained_conjectures: int
    seconds: dict[str, float]
    """Time spent by part."""
    limited_by: str
    """The part that took the most time; empty before any time is recorded."""
    per_second: dict[str, float]
    """Throughput of each part while it ran: outputs, conjectures elaborated, proofs sampled, proofs verified, examples
    trained on."""
    evaluations: dict[str, dict[str, float]]


@dataclass(frozen=True)
class RunSummary:
    """A run of self-play."""

    directory: str
    statements: int
    """Number of statements of `train`."""
    test: int
    """Number of statements only for evaluation."""
    solved: int
    samples: int
    rounds: list[RoundSummary] = field(default_factory=list)
    curve: list[tuple[int, int]] = field(default_factory=list)
    """(proofs sampled, statements of `train` solved), one point per solved statement."""
    finished: bool = False
    """Whether the run is finished."""


def summarise(store: StpStore) -> RunSummary:
    """Summarize all rounds of a run from a single state of its file. Raises StpError."""
    settings = recipe_of(store.path.parent)
    with store.snapshot():
        progress = {each.round: each for each in store.progress()}
        statements, test = store.count_statements()
        counts = _Counts(store, settings.conjecturer.barely)
        rounds: list[RoundSummary] = []
        solved = samples = 0
        for row in store.rounds():
            here = progress.get(row.number)
            before, solved = solved, here.solved if here else solved
            samples = here.samples if here else samples
            rounds.append(counts.of(row, solved, solved - before, statements))
        return RunSummary(
            str(store.path.parent),
            *(statements, test, solved, samples, rounds, store.curve()),
            finished=is_finished(store.rounds(), settings, all_solved=solved >= statements),
        )


RECIPE = "recipe.toml"
"""File in the run directory with the settings at the run's start."""


def recipe_of(directory: Path) -> StpSettings:
    """The settings of a run; the defaults if its recipe is missing or cannot be read."""
    try:
        content = tomllib.loads((directory / RECIPE).read_text(encoding="utf-8"))
        return msgspec.convert(content.get("stp", {}), StpSettings)
    except (OSError, ValueError):
        return StpSettings()


class _Counts:
    """Counts of all rounds, each read with one query."""

    def __init__(self, store: StpStore, barely: float) -> None:
        self.seeds = store.count_seeds()
        self.fates = store.count_fates()
        self.barely = store.count_barely(barely)
        self.attempts = store.count_attempts()
        self.proofs = store.count_proofs()
        self.examples = store.count_examples()
        self.evaluations = store.evaluations()

    def of(self, row: RoundRow, solved: int, newly: int, statements: int) -> RoundSummary:
        number = row.number
        fates = {fate.value: self.fates[number][fate] for fate in Fate if self.fates[number][fate]}
        proved = fates.get(Fate.PROVED, 0)
        seeds, lemmas = self.seeds.get(number, (0, 0))
        attempts = self.attempts.get(number, (0, 0, 0, 0))
        tried, samples, for_conjectures, correct = attempts
        proofs, refused = self.proofs.get(number, (0, 0))
        trained, conjectured = self.examples.get(number, (0, 0))
        work = {
            Part.GENERATION: sum(fates.values()),
            Part.ELABORATION: sum(fates.get(each, 0) for each in (Fate.NOT_ELABORATED, Fate.ELABORATED, Fate.PROVED)),
            Part.PROVING: samples,
            Part.VERIFICATION: proofs + refused,
            Part.TRAINING: trained + conjectured,
        }
        seconds = {part: row.seconds[part] for part in Part if part in row.seconds}
        return RoundSummary(
            *(number, row.cycle, row.kind, row.stage, row.weights, row.checkpoint, seeds, lemmas),
            *(sum(fates.values()), fates, fates.get(Fate.ELABORATED, 0) + proved, proved, self.barely.get(number, 0)),
            *(tried, newly, solved, solved / statements if statements else 0.0),
            *(samples, for_conjectures, correct, proofs, refused, trained, conjectured),
            {part.value: spent for part, spent in seconds.items()},
            max(seconds, key=lambda part: seconds[part]).value if any(seconds.values()) else "",
            {part.value: work[part] / spent for part, spent in seconds.items() if part in work and spent > 0},
            self.evaluations.get(number, {}),
        )


def open_run(run: Path) -> StpStore:
    """Open a run's store for reading. `run`: its directory, or the name of one below `runs`. Raises StpError."""
    below = Path("runs") / run
    chosen = below if not (run / FILE).is_file() and (below / FILE).is_file() else run
    return StpStore(chosen / FILE, read_only=True)
