"""What views read of a run of self-play, which may be writing at the same time: the numbers of each round, and the
histories of conjectures and statements.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common.lean import Theorem
from node.stp.records import (
    EMPTY_LEMMA,
    FILE,
    Attempted,
    AttemptRow,
    Conjecture,
    Fate,
    Part,
    Proof,
    RoundKind,
    RoundRow,
    Stage,
    StpError,
)
from node.stp.selection import elegance, invokes_its_lemma
from node.stp.settings import StpSettings
from node.stp.store import BY_ROUND, PROOF, StpStore, proof_of


class RunReader(StpStore):
    """A store with the queries of views."""

    def by_round(self, query: str, *values: object) -> dict[int, tuple[Any, ...]]:
        """The rows of a query with one row for each round, whose number comes first."""
        return {round: tuple(counts) for round, *counts in self._rows(query, *values)}

    def fates(self) -> dict[int, dict[Fate, int]]:
        """By round: number of conjectures with each fate."""
        counts: dict[int, dict[Fate, int]] = {}
        for round, fate, number in self._rows("SELECT round, fate, COUNT(*) FROM conjectures GROUP BY round, fate"):
            counts.setdefault(round, dict.fromkeys(Fate, 0))[Fate(fate)] = number
        return counts

    def curve(self) -> list[tuple[int, int]]:
        """(proofs sampled, statements of `train` solved): a point for each attempt that solved a statement, in the
        order of results, and a last point for all samples. Attempts at `test` are left out."""
        sampled = solved = 0
        points, seen = [(0, 0)], set()
        for name, samples, hit, data in self._rows(
            "SELECT name, samples, EXISTS (SELECT 1 FROM found JOIN proofs USING (proof_id)"
            "  WHERE attempt = attempts.number AND verified = 1), split IS NOT NULL"
            " FROM attempts LEFT JOIN statements USING (name) WHERE COALESCE(split, 'train') = 'train'"
            " ORDER BY attempts.number"
        ):
            sampled += samples
            if data and hit and name not in seen:
                seen.add(name)
                solved += 1
                points.append((sampled, solved))
        return points if points[-1][0] == sampled else [*points, (sampled, solved)]

    def changes(self) -> int:
        """A number that changes whenever another process has written."""
        return int(self._rows("PRAGMA data_version")[0][0])

    def conjecture(self, name: str) -> Conjecture | None:
        """The conjecture with a name, if there is one."""
        matches = self._conjectures("c.name = ?", name)
        return matches[0] if matches else None

    def newest_conjectures(
        self, limit: int, offset: int = 0, text: str = "", fate: str = "", round: int | None = None
    ) -> tuple[int, list[tuple[Conjecture, int, int]]]:
        """The number of conjectures whose name, output or reason contains `text`, with a fate and of a round if these
        are given, and a page of them, the newest first: each with its samples, and how many of these are verified
        proofs."""
        where = (
            "INSTR(name || ' ' || output || ' ' || reason, ?) AND ? IN ('', fate)"
            " AND (? IS NULL OR round = ?)"  # a round may be 0
        )
        wanted = (text, fate, round, round)
        ((total,),) = self._rows(f"SELECT COUNT(*) FROM conjectures WHERE {where}", *wanted)
        page = f"c.number IN (SELECT number FROM conjectures WHERE {where} ORDER BY number DESC LIMIT ? OFFSET ?)"
        found = self._conjectures(page, *wanted, limit, offset)[::-1]
        names = [each.name for each in found]
        of_these = f"attempts.name IN ({', '.join('?' * len(names))})"
        samples = dict(self._rows(f"SELECT name, SUM(samples) FROM attempts WHERE {of_these} GROUP BY name", *names))
        correct = dict(
            self._rows(
                "SELECT attempts.name, SUM(count) FROM found JOIN proofs USING (proof_id)"
                f" JOIN attempts ON attempt = attempts.number WHERE {of_these} AND verified = 1 GROUP BY attempts.name",
                *names,
            )
        )
        return total, [(each, samples.get(each.name, 0), correct.get(each.name, 0)) for each in found]

    def conjecture_trained(self, name: str) -> list[tuple[int, float]]:
        """The rounds that trained the conjecturer on this conjecture, each with its weight."""
        return self._rows("SELECT round, weight FROM conjecturer_examples WHERE name = ? ORDER BY round", name)

    def refused(self, name: str = "") -> list[tuple[Proof, str]]:
        """Proofs that verification refused, and why."""
        rows = self._rows(
            f"SELECT reason, {PROOF} FROM proofs WHERE verified = 0 AND ? IN ('', proofs.name) ORDER BY proof_id", name
        )
        return [(proof_of(*row), reason) for reason, *row in rows]

    def statement(self, name: str) -> tuple[Theorem, str, list[tuple[int, int]]]:
        """A statement of the data set, its split, and the rounds that used it in seeds, with the number of seeds.
        Raises StpError with similar names for an unknown name."""
        splits = self._rows("SELECT split FROM statements WHERE name = ?", name)
        theorem = self.theorem(name)
        if not splits or theorem is None:
            near = self._rows(
                "SELECT name FROM (SELECT name FROM statements UNION SELECT name FROM conjectures)"
                " WHERE INSTR(LOWER(name), LOWER(?)) ORDER BY LENGTH(name), name LIMIT 5",
                name,
            )
            hint = f"; did you mean {' or '.join(similar for (similar,) in near)}?" if near else ""
            raise StpError(f"{self.path.parent} has no statement or conjecture {name}{hint}")
        seeds = self._rows(
            "SELECT round, COUNT(*) FROM round_seeds JOIN seeds USING (seed_id) WHERE statement = ? GROUP BY round",
            name,
        )
        return theorem, splits[0][0], seeds

    def tried(self, name: str) -> Tried:
        """The attempts at a statement or conjecture, and the trainings on its proofs."""
        attempts = self._attempts("name = ?", name)
        return Tried(
            attempts,
            [(round, self.attempted(round, name)[name]) for round in sorted({each.round for each in attempts})],
            self.proofs(name),
            self.refused(name),
            self._rows("SELECT round, proof, weight FROM prover_examples WHERE name = ? ORDER BY round, number", name),
            self.unverified(name=name),
        )


# --- the numbers of each round ----------------------------------------------------------------------------------------


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

    def numbers(self) -> dict[str, float]:
        """All its numbers by name, for trackers: `solved`, `seconds/proving`, `test/pass@1`."""
        found = asdict(self)
        values = {name: float(value) for name, value in found.items() if isinstance(value, (int, float))}
        for name, more in {
            **{part: found[part] for part in ("fates", "seconds", "per_second")},
            **self.evaluations,
        }.items():
            values |= {f"{name}/{each}": float(value) for each, value in more.items()}
        return values


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


def summarise(store: RunReader) -> RunSummary:
    """Summarize all rounds of a run from a single state of its file. Raises StpError."""
    settings = recipe_of(store.path.parent)
    with store.snapshot():
        # 1. All counts, each with one query over all rounds.
        ((statements, test),) = store.by_round(
            "SELECT 0, COALESCE(SUM(split = 'train'), 0), COALESCE(SUM(split <> 'train'), 0) FROM statements"
        ).values()
        counts = _Counts(store, settings.conjecturer.barely)
        newly = Counter(each.round for each in store.solved())
        # 2. The rounds, with the statements solved so far.
        rounds: list[RoundSummary] = []
        solved = 0
        for row in store.rounds():
            solved += newly[row.number]
            rounds.append(counts.of(row, solved, newly[row.number], statements))
        return RunSummary(
            str(store.path.parent),
            *(statements, test, solved, sum(each.samples for each in rounds), rounds, store.curve()),
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
    """Counts of all rounds. Attempts at test statements do not count."""

    def __init__(self, store: RunReader, barely: float) -> None:
        """`barely`: proved conjectures with a lower rate are barely proved."""
        self.fates = store.fates()
        self.evaluations = store.evaluations()
        # Seeds, and distinct lemmas among them.
        self.seeds = store.by_round(
            "SELECT round, COUNT(*), COUNT(DISTINCT lemma) FROM round_seeds JOIN seeds USING (seed_id) GROUP BY round"
        )
        # Barely proved conjectures.
        self.barely = store.by_round(
            f"{BY_ROUND} SELECT conjectures.round, COUNT(*) FROM conjectures JOIN hits USING (name, round)"
            " JOIN samples USING (name, round) WHERE fate = ? AND CAST(correct AS REAL) / samples < ?"
            " GROUP BY conjectures.round",
            *(Fate.PROVED, barely),
        )
        # Attempted statements, samples, samples for conjectures only, and samples that were reported as proofs.
        self.attempts = store.by_round(
            "SELECT round, COUNT(DISTINCT CASE WHEN split IS NOT NULL THEN name END), SUM(samples),"
            " COALESCE(SUM(CASE WHEN split IS NULL THEN samples END), 0), SUM(correct)"
            " FROM attempts LEFT JOIN statements USING (name) WHERE COALESCE(split, 'train') = 'train' GROUP BY round"
        )
        # Verified and refused proofs, by the round that first sampled them.
        self.proofs = store.by_round(
            "SELECT first, SUM(verified = 1), SUM(verified = 0) FROM proofs JOIN ("
            "  SELECT proof_id, MIN(round) AS first FROM found JOIN attempts ON attempt = number GROUP BY proof_id"
            " ) USING (proof_id) LEFT JOIN statements USING (name)"
            " WHERE verified IS NOT NULL AND COALESCE(split, 'train') = 'train' GROUP BY first"
        )
        # Proofs and conjectures in the training data.
        self.examples = store.by_round(
            "SELECT round, SUM(of = 'proof'), SUM(of = 'conjecture') FROM ("
            " SELECT round, 'proof' AS of FROM prover_examples"
            " UNION ALL SELECT round, 'conjecture' FROM conjecturer_examples) GROUP BY round"
        )

    def of(self, row: RoundRow, solved: int, newly: int, statements: int) -> RoundSummary:
        """The summary of a round. `solved`, `newly`: statements solved so far, and first in this round."""
        # 1. What was recorded.
        number = row.number
        fates = {fate.value: count for fate, count in self.fates.get(number, {}).items() if count}
        proved = fates.get(Fate.PROVED, 0)
        seeds, lemmas = self.seeds.get(number, (0, 0))
        (barely,) = self.barely.get(number, (0,))
        tried, samples, for_conjectures, correct = self.attempts.get(number, (0, 0, 0, 0))
        proofs, refused = self.proofs.get(number, (0, 0))
        trained, conjectured = self.examples.get(number, (0, 0))
        # 2. How much of it each part did in a second.
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
            *(sum(fates.values()), fates, fates.get(Fate.ELABORATED, 0) + proved, proved, barely),
            *(tried, newly, solved, solved / statements if statements else 0.0),
            *(samples, for_conjectures, correct, proofs, refused, trained, conjectured),
            {part.value: spent for part, spent in seconds.items()},
            max(seconds, key=lambda part: seconds[part]).value if any(seconds.values()) else "",
            {part.value: work[part] / spent for part, spent in seconds.items() if part in work and spent > 0},
            self.evaluations.get(number, {}),
        )


def open_run(run: Path) -> RunReader:
    """Open a run's store for reading. `run`: its directory, or the name of one below `runs`. Raises StpError."""
    below = Path("runs") / run
    chosen = below if not (run / FILE).is_file() and (below / FILE).is_file() else run
    return RunReader(chosen / FILE, read_only=True)


# --- when rounds and runs are finished --------------------------------------------------------------------------------


def rounds_are_over(rounds: Sequence[RoundRow], cycle: int, settings: StpSettings, *, all_solved: bool) -> bool:
    """Whether a cycle has no further round. `rounds`: the rounds of the whole run."""
    played = [each for each in rounds if each.kind is RoundKind.SELF_PLAY]
    seconds = sum(sum(each.seconds.values()) for each in played)
    return (
        sum(each.cycle == cycle for each in played) >= settings.rounds
        or (settings.minutes > 0 and seconds >= settings.minutes * 60)
        or (settings.until_solved and all_solved)
    )


def is_finished(rounds: Sequence[RoundRow], settings: StpSettings, *, all_solved: bool) -> bool:
    """Whether a run is finished: after the last cycle's training from the base, or after the last round of a run
    without such a training."""
    if not rounds or rounds[-1].stage is not Stage.DONE:
        return False
    last = rounds[-1]
    if last.kind is RoundKind.FINAL:
        return last.cycle >= settings.cycles
    if settings.until_solved and all_solved:
        return True
    return not settings.final.train and rounds_are_over(rounds, max(last.cycle, 1), settings, all_solved=all_solved)


# --- the history of one conjecture or statement -----------------------------------------------------------------------


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


def story_of(store: RunReader, name: str) -> ConjectureStory | StatementStory:
    """The history of a conjecture or statement by its name. Raises StpError with similar names for an unknown name."""
    with store.snapshot():
        conjecture = store.conjecture(name)
        if conjecture is not None:
            return _of_conjecture(store, conjecture)
        theorem, split, seeds = store.statement(name)
        tried = store.tried(name)
        first = next((at for at, each in tried.attempted if each.correct), None)
        return StatementStory(theorem, split, tried, first, seeds)


def examples_of(store: RunReader, round: int, count: int) -> list[ConjectureStory]:
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


def _of_conjecture(store: RunReader, conjecture: Conjecture) -> ConjectureStory:
    tried, theorem = store.tried(conjecture.name), conjecture.theorem
    asked = conjecture.seed.lemma.name != EMPTY_LEMMA.name
    return ConjectureStory(
        conjecture,
        tried,
        invokes_its_lemma(conjecture, tried.proofs) if tried.proofs and asked else None,
        elegance(theorem, tried.proofs) if theorem is not None and tried.proofs else None,
        store.conjecture_trained(conjecture.name),
    )
