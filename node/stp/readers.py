"""What views read of a run of self-play, which may be writing at the same time: the numbers of each round, and the
histories of conjectures and statements.
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from common.lean import Theorem
from node.stp import selection
from node.stp.records import (
    EMPTY_LEMMA,
    FILE,
    Attempted,
    AttemptRow,
    Conjecture,
    Fate,
    Part,
    Progress,
    Proof,
    RoundKind,
    RoundRow,
    Stage,
    StpError,
)
from node.stp.settings import StpSettings
from node.stp.store import BY_ROUND, PROOF, StpStore, proof_of


class RunReader(StpStore):
    """A store with the queries of views. Each count is one query over all rounds."""

    def attempts_at(self, name: str) -> list[AttemptRow]:
        """Attempts at one statement or conjecture, in the order of their results."""
        return self._attempts("name = ?", name)

    def refused(self, name: str = "") -> list[tuple[Proof, str]]:
        """Proofs that verification refused, and why."""
        rows = self._rows(
            f"SELECT reason, {PROOF} FROM proofs WHERE verified = 0 AND ? IN ('', proofs.name) ORDER BY proof_id", name
        )
        return [(proof_of(*row), reason) for reason, *row in rows]

    def seeds_with(self, statement: str) -> list[tuple[int, int]]:
        """Rounds that used this statement in seeds, with the number of seeds."""
        query = "SELECT round, COUNT(*) FROM round_seeds JOIN seeds USING (seed_id) WHERE statement = ? GROUP BY round"
        return self._rows(query, statement)

    def conjecture(self, name: str) -> Conjecture | None:
        """The conjecture with a name, if there is one."""
        matches = self._conjectures("c.name = ?", name)
        return matches[0] if matches else None

    def conjecture_trained(self, name: str) -> list[tuple[int, float]]:
        """The rounds that trained the conjecturer on this conjecture, each with its weight."""
        return self._rows("SELECT round, weight FROM conjecturer_examples WHERE name = ? ORDER BY round", name)

    def proofs_trained(self, name: str) -> list[tuple[int, str, float]]:
        """The rounds that trained the prover on proofs of this statement or conjecture: round, script, weight."""
        query = "SELECT round, proof, weight FROM prover_examples WHERE name = ? ORDER BY round, number"
        return self._rows(query, name)

    def split_of(self, name: str) -> str | None:
        """The split of a statement of the data set; None if the data set has no such statement."""
        rows = self._rows("SELECT split FROM statements WHERE name = ?", name)
        return str(rows[0][0]) if rows else None

    def names_like(self, part: str, limit: int = 5) -> list[str]:
        """Names of statements and conjectures that contain this text, ignoring case."""
        rows = self._rows(
            "SELECT name FROM (SELECT name FROM statements UNION SELECT name FROM conjectures)"
            " WHERE INSTR(LOWER(name), LOWER(?)) ORDER BY LENGTH(name), name LIMIT ?",
            *(part, limit),
        )
        return [name for (name,) in rows]

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

    def progress(self) -> list[Progress]:
        """The progress after each round that has attempts at statements of `train` or at conjectures."""
        first: dict[int, int] = defaultdict(int)
        for each in self.solved():
            first[each.round] += 1
        statements = self._rows("SELECT COUNT(*) FROM statements WHERE split = 'train'")[0][0]
        points, samples, solved = [], 0, 0
        for round, sampled in self._rows(
            "SELECT round, SUM(samples) FROM attempts LEFT JOIN statements USING (name)"
            " WHERE COALESCE(split, 'train') = 'train' GROUP BY round ORDER BY round"
        ):
            samples, solved = samples + sampled, solved + first[round]
            points.append(Progress(round, samples, solved, statements))
        return points

    def count_statements(self) -> tuple[int, int]:
        """Number of statements of `train`, and of all other splits."""
        (counts,) = self._rows(
            "SELECT COALESCE(SUM(split = 'train'), 0), COALESCE(SUM(split <> 'train'), 0) FROM statements"
        )
        return counts[0], counts[1]

    def count_seeds(self) -> dict[int, tuple[int, int]]:
        """By round: seeds, and distinct lemmas among them."""
        rows = self._rows(
            "SELECT round, COUNT(*), COUNT(DISTINCT lemma) FROM round_seeds JOIN seeds USING (seed_id) GROUP BY round"
        )
        return {round: (seeds, lemmas) for round, seeds, lemmas in rows}

    def count_fates(self) -> defaultdict[int, dict[Fate, int]]:
        """By round: number of conjectures with each fate."""
        counts: defaultdict[int, dict[Fate, int]] = defaultdict(lambda: dict.fromkeys(Fate, 0))
        for round, fate, number in self._rows("SELECT round, fate, COUNT(*) FROM conjectures GROUP BY round, fate"):
            counts[round][Fate(fate)] = number
        return counts

    def count_barely(self, below: float) -> dict[int, int]:
        """By round: proved conjectures with a rate below this."""
        rows = self._rows(
            f"{BY_ROUND} SELECT conjectures.round, COUNT(*) FROM conjectures JOIN hits USING (name, round)"
            " JOIN samples USING (name, round) WHERE fate = ? AND CAST(correct AS REAL) / samples < ?"
            " GROUP BY conjectures.round",
            *(Fate.PROVED, below),
        )
        return dict(rows)

    def count_attempts(self) -> dict[int, tuple[int, int, int, int]]:
        """By round: attempted statements of `train`, samples for these and conjectures, samples for conjectures only,
        and samples that were reported as proofs."""
        rows = self._rows(
            "SELECT round, COUNT(DISTINCT CASE WHEN split IS NOT NULL THEN name END), SUM(samples),"
            " COALESCE(SUM(CASE WHEN split IS NULL THEN samples END), 0), SUM(correct)"
            " FROM attempts LEFT JOIN statements USING (name) WHERE COALESCE(split, 'train') = 'train' GROUP BY round"
        )
        return {round: tuple(counts) for round, *counts in rows}

    def count_proofs(self) -> dict[int, tuple[int, int]]:
        """By the round that first sampled them: verified and refused proofs of statements of `train` and of
        conjectures."""
        rows = self._rows(
            "SELECT first, SUM(verified = 1), SUM(verified = 0) FROM proofs JOIN ("
            "  SELECT proof_id, MIN(round) AS first FROM found JOIN attempts ON attempt = number GROUP BY proof_id"
            " ) USING (proof_id) LEFT JOIN statements USING (name)"
            " WHERE verified IS NOT NULL AND COALESCE(split, 'train') = 'train' GROUP BY first"
        )
        return {round: (verified, refused) for round, verified, refused in rows}

    def count_examples(self) -> dict[int, tuple[int, int]]:
        """By round: proofs and conjectures in its training data."""
        rows = self._rows(
            "SELECT round, SUM(of = 'proof'), SUM(of = 'conjecture') FROM ("
            " SELECT round, 'proof' AS of FROM prover_examples"
            " UNION ALL SELECT round, 'conjecture' FROM conjecturer_examples) GROUP BY round"
        )
        return {round: (proofs, conjectures) for round, proofs, conjectures in rows}

    def changes(self) -> int:
        """A number that changes whenever another process has written."""
        return int(self._rows("PRAGMA data_version")[0][0])


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

    def __init__(self, store: RunReader, barely: float) -> None:
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


def open_run(run: Path) -> RunReader:
    """Open a run's store for reading. `run`: its directory, or the name of one below `runs`. Raises StpError."""
    below = Path("runs") / run
    chosen = below if not (run / FILE).is_file() and (below / FILE).is_file() else run
    return RunReader(chosen / FILE, read_only=True)


# --- when rounds and runs are finished --------------------------------------------------------------------------------


def time_is_up(rounds: Sequence[RoundRow], settings: StpSettings) -> bool:
    """Whether the rounds have used up the run's time limit."""
    seconds = sum(sum(each.seconds.values()) for each in rounds if each.kind is RoundKind.SELF_PLAY)
    return bool(settings.minutes) and seconds >= settings.minutes * 60


def rounds_are_over(rounds: Sequence[RoundRow], cycle: int, settings: StpSettings, *, all_solved: bool) -> bool:
    """Whether a cycle has no further round. `rounds`: the rounds of the whole run."""
    played = sum(each.kind is RoundKind.SELF_PLAY and each.cycle == cycle for each in rounds)
    solved = settings.until_solved and all_solved
    return played >= settings.rounds or time_is_up(rounds, settings) or solved


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


def elegance(theorem: Theorem, proofs: Sequence[Proof]) -> float | None:
    """The elegance that the selection of conjectures uses; None without a proof."""
    return selection.elegance(theorem, proofs) if proofs else None


def story_of(store: RunReader, name: str) -> ConjectureStory | StatementStory:
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
    tried = _tried(store, conjecture.name)
    lemma = conjecture.seed.lemma.name
    return ConjectureStory(
        conjecture,
        tried,
        selection.invokes_its_lemma(conjecture, tried.proofs) if tried.proofs and lemma != EMPTY_LEMMA.name else None,
        elegance(conjecture.theorem, tried.proofs) if conjecture.theorem is not None else None,
        store.conjecture_trained(conjecture.name),
    )


def _tried(store: RunReader, name: str) -> Tried:
    attempts = store.attempts_at(name)
    return Tried(
        attempts,
        [(round, store.attempted(round, name)[name]) for round in sorted({each.round for each in attempts})],
        store.proofs(name),
        store.refused(name),
        store.proofs_trained(name),
        store.unverified(name=name),
    )


def _unknown(store: RunReader, name: str) -> str:
    """The error message for an unknown name, with similar names."""
    near = store.names_like(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"{store.path.parent} has no statement or conjecture {name}{hint}"
