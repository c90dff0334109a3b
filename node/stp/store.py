"""The store of a run of self-play: stp.sqlite. Synchronous; a call takes some milliseconds, mostly for the disk.

Records never change once they are written, and every step is written in one transaction before the next step begins.
So a run that is killed at any point resumes from its last transaction: it reads the state of its round, and does the
missing steps with the same ids and seeds. Adding a record again changes nothing.

A statement is solved if a proof that one of its attempts sampled is verified. Proofs from the initial data are only
for training and do not solve statements. What only views read is in `node.stp.readers`.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from common.lean import Theorem
from common.records.database import Database
from node.stp.records import (
    ADVICE,
    MIGRATIONS,
    STAGES,
    Attempted,
    AttemptRow,
    Conjecture,
    ConjecturerExample,
    Fate,
    Found,
    Lemma,
    Part,
    Proof,
    ProverExample,
    RoundKind,
    RoundRow,
    Seed,
    Solved,
    Stage,
    Statement,
    StpError,
)

_SEED = "statement, s.binders, s.conclusion, s.header, proof, lemma, lemma_statement"

_SEEDS = "JOIN seeds USING (seed_id) JOIN theorems s ON s.name = statement"

PROOF = "proofs.name, script, proofs.seconds, lemmas"

_ORDER = "proofs.round, LENGTH(script), script"
"""Order of proofs that does not depend on the order of the mesh's replies."""

BY_ROUND = (
    "WITH samples AS (SELECT name, round, SUM(samples) AS samples FROM attempts GROUP BY name, round),"
    " hits AS ("
    "  SELECT attempts.name, attempts.round, SUM(count) AS correct FROM found"
    "  JOIN proofs USING (proof_id) JOIN attempts ON attempt = attempts.number"
    "  WHERE verified = 1 GROUP BY attempts.name, attempts.round)"
)
"""Start of a query: the samples of each name in each round, and how many of them are verified proofs."""

_ADD_SECONDS = (
    "INSERT INTO seconds VALUES (?, ?, ?) ON CONFLICT (round, part) DO UPDATE SET seconds = seconds + excluded.seconds"
)


BUSY_SECONDS = 30.0
"""Seconds to wait for another process's transaction, each of which takes some milliseconds."""


class StpStore(Database):
    """An open store: `StpStore(directory / FILE)`. `read_only`: for views, while another process writes; the file must
    exist. Raises StpError if it cannot be written or read."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if read_only and not path.is_file():
            raise StpError(f"{path.parent} holds no run of self-play ({path.name} does not exist); check the path")
        super().__init__(path, MIGRATIONS, ADVICE, read_only=read_only, busy_seconds=BUSY_SECONDS)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read a single state of the file within the block, even if other processes write."""
        with self._explained():
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _keep_theorem(self, db: sqlite3.Connection, theorem: Theorem) -> None:
        """Store a theorem within a transaction. Raises StpError if another theorem has its name."""
        if theorem.place is not None:
            raise StpError(f"{theorem.name} is inside a Lean file; self-play needs statements without a file context")
        statement = (theorem.binders, theorem.conclusion, theorem.header)
        stored = db.execute(
            "SELECT binders, conclusion, header FROM theorems WHERE name = ?", (theorem.name,)
        ).fetchone()
        if stored is None:
            db.execute("INSERT INTO theorems VALUES (?, ?, ?, ?)", (theorem.name, *statement))
        elif tuple(stored) != statement:
            raise StpError(
                f"{self.path} has another statement with the name {theorem.name}; give each statement a different "
                "name, or use another run directory"
            )

    # --- statements ---------------------------------------------------------------------------------------------------

    def add_statements(self, statements: Iterable[Statement]) -> None:
        """Add statements of the data set; existing ones are not changed.

        Raises StpError if another statement has the same name.
        """
        with self._transaction() as db:
            for each in statements:
                self._keep_theorem(db, each.theorem)
                values = (each.theorem.name, each.split)
                db.execute("INSERT OR IGNORE INTO statements (name, split) VALUES (?, ?)", values)

    def statements(self, split: str = "") -> list[Statement]:
        """The statements of a split, or all, in the order in which they were added."""
        rows = self._rows(
            "SELECT name, binders, conclusion, header, split FROM statements JOIN theorems USING (name)"
            " WHERE ? IN ('', split) ORDER BY number",
            split,
        )
        return [Statement(Theorem(*theorem), of) for *theorem, of in rows]

    def unproved(self, split: str = "train") -> list[Statement]:
        """Statements of the data set that are not solved, in its order."""
        rows = self._rows(
            "SELECT name, binders, conclusion, header, split FROM statements JOIN theorems USING (name)"
            " WHERE split = ? AND name NOT IN ("
            "  SELECT name FROM proofs WHERE verified = 1 AND proof_id IN (SELECT proof_id FROM found))"
            " ORDER BY number",
            split,
        )
        return [Statement(Theorem(*theorem), of) for *theorem, of in rows]

    def known(self, key: Callable[[Theorem], str], before: int | None = None) -> set[str]:
        """The keys of all statements, and of all conjectures of rounds before `before`.

        Surplus conjectures are not included, so they may be proposed again.
        """
        rows = self._rows(
            "SELECT name, binders, conclusion, header FROM theorems WHERE name IN (SELECT name FROM statements)"
            " OR name IN (SELECT theorem FROM conjectures WHERE fate <> ? AND (? IS NULL OR round < ?))",
            *(Fate.SURPLUS, before, before),
        )
        return {key(Theorem(*row)) for row in rows}

    def theorem(self, name: str) -> Theorem | None:
        """A statement or a conjecture, by its name."""
        rows = self._rows("SELECT name, binders, conclusion, header FROM theorems WHERE name = ?", name)
        return Theorem(*rows[0]) if rows else None

    # --- seeds --------------------------------------------------------------------------------------------------------

    def add_seeds(self, round: int, seeds: Sequence[Seed]) -> None:
        """Add the seeds of a round. If the round already has seeds, nothing changes."""
        with self._transaction() as db:
            if db.execute("SELECT 1 FROM round_seeds WHERE round = ?", (round,)).fetchone():
                return
            for number, seed in enumerate(seeds):
                db.execute("INSERT INTO round_seeds VALUES (?, ?, ?)", (round, number, self._keep_seed(db, seed)))

    def seeds_of(self, round: int) -> list[Seed]:
        """The seeds of a round, in the order in which they were added."""
        rows = self._rows(
            f"SELECT {_SEED} FROM round_seeds {_SEEDS} WHERE round = ? ORDER BY round_seeds.number",
            round,
        )
        return [_seed(*row) for row in rows]

    def _keep_seed(self, db: sqlite3.Connection, seed: Seed) -> int:
        """Store a seed within a transaction; returns its id."""
        self._keep_theorem(db, seed.theorem)
        values = (seed.theorem.name, seed.lemma.name, seed.lemma.statement, seed.proof)
        db.execute("INSERT OR IGNORE INTO seeds (statement, lemma, lemma_statement, proof) VALUES (?, ?, ?, ?)", values)
        (seed_id,) = db.execute(
            "SELECT seed_id FROM seeds WHERE statement = ? AND lemma = ? AND lemma_statement = ? AND proof = ?", values
        ).fetchone()
        return int(seed_id)

    # --- conjectures --------------------------------------------------------------------------------------------------

    def add_conjectures(self, conjectures: Iterable[Conjecture]) -> None:
        """Add outputs of the conjecturer in this order; existing ones are not changed.

        Raises StpError if a conjecture has the name of another statement.
        """
        with self._transaction() as db:
            for each in conjectures:
                if db.execute("SELECT 1 FROM conjectures WHERE name = ?", (each.name,)).fetchone():
                    continue
                self._check_name(db, each)
                if each.theorem is not None:
                    self._keep_theorem(db, each.theorem)
                theorem = each.theorem.name if each.theorem is not None else None
                seed = self._keep_seed(db, each.seed)
                db.execute(
                    "INSERT INTO conjectures (name, round, seed_id, output, fate, reason, theorem)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (each.name, each.round, seed, each.output, each.fate, each.reason, theorem),
                )

    def _check_name(self, db: sqlite3.Connection, conjecture: Conjecture) -> None:
        if conjecture.theorem is not None and conjecture.theorem.name != conjecture.name:
            raise StpError(f"conjecture {conjecture.name} has a theorem with another name, {conjecture.theorem.name}")
        if db.execute("SELECT 1 FROM statements WHERE name = ?", (conjecture.name,)).fetchone():
            raise StpError(f"a statement of the data set has the name of a conjecture, {conjecture.name}; rename it")

    def set_fates(self, fates: Iterable[tuple[str, Fate, str]]) -> None:
        """Set the fates of conjectures: name, fate and reason (may be empty)."""
        with self._transaction() as db:
            values = [(fate, reason, name) for name, fate, reason in fates]
            db.executemany("UPDATE conjectures SET fate = ?, reason = ? WHERE name = ?", values)

    def conjectures(self, round: int | None = None, *fates: Fate) -> list[Conjecture]:
        """The conjectures of a round, or of all, with one of these fates, or with any, in the order in which they were
        added."""
        return self._conjectures(
            "(? IS NULL OR c.round = ?)" + (f" AND fate IN ({', '.join('?' * len(fates))})" if fates else ""),
            *(round, round, *fates),
        )

    def _conjectures(self, where: str, *values: object) -> list[Conjecture]:
        rows = self._rows(
            f"SELECT c.name, c.round, output, fate, reason, {_SEED}, t.name, t.binders, t.conclusion, t.header"
            f" FROM conjectures c {_SEEDS} LEFT JOIN theorems t ON t.name = c.theorem"
            f" WHERE {where} ORDER BY c.number",
            *values,
        )
        return [
            Conjecture(
                *(name, round, _seed(*seed_and_theorem[:7]), output, Fate(fate)),
                theorem=Theorem(*seed_and_theorem[7:]) if seed_and_theorem[7] is not None else None,
                reason=reason,
            )
            for name, round, output, fate, reason, *seed_and_theorem in rows
        ]

    # --- attempts -----------------------------------------------------------------------------------------------------

    def add_attempts(self, attempts: Iterable[AttemptRow]) -> None:
        """Add results of attempts with their proofs, which still have to be verified. Attempts that already have a
        result are not changed."""
        with self._transaction() as db:
            for each in attempts:
                number = _add_attempt(db, each)
                if number is not None:
                    for found in each.found:
                        proof = _proof_id(db, each.round, Proof(each.name, found.script, found.seconds))
                        values = (number, proof, found.first, found.count)
                        db.execute("INSERT OR IGNORE INTO found VALUES (?, ?, ?, ?)", values)

    def attempts_of(self, round: int) -> dict[str, AttemptRow]:
        """The attempts of a round that have a result, by id, in the order of the results."""
        return {each.attempt_id: each for each in self._attempts("round = ?", round)}

    def _attempts(self, where: str, value: object) -> list[AttemptRow]:
        found: defaultdict[int, list[Found]] = defaultdict(list)
        for number, *proof in self._rows(
            "SELECT attempt, script, count, first, proofs.seconds FROM found JOIN proofs USING (proof_id)"
            f" WHERE attempt IN (SELECT number FROM attempts WHERE {where}) ORDER BY attempt, first",
            value,
        ):
            found[number].append(Found(*proof))
        rows = self._rows(
            "SELECT number, attempt_id, round, name, samples, correct, outcome, message, seconds FROM attempts"
            f" WHERE {where} ORDER BY number",
            value,
        )
        return [
            AttemptRow(identity, round, name, samples, correct, outcome, message, seconds, tuple(found[number]))
            for number, identity, round, name, samples, correct, outcome, message, seconds in rows
        ]

    def attempted(self, round: int, name: str = "") -> dict[str, Attempted]:
        """The results of all samples of a round, by statement and conjecture (or only for one), summed over attempts.

        Only verified proofs are included, and `correct` counts their samples.
        """
        proofs: dict[str, dict[str, Proof]] = defaultdict(dict)
        correct: dict[str, int] = defaultdict(int)
        for count, *row in self._rows(
            f"SELECT count, {PROOF} FROM found JOIN proofs USING (proof_id) JOIN attempts ON attempt = number"
            " WHERE attempts.round = ? AND ? IN ('', attempts.name) AND verified = 1 ORDER BY attempt_id, first",
            *(round, name),
        ):
            proof = proof_of(*row)
            proofs[proof.name].setdefault(proof.script, proof)
            correct[proof.name] += count
        rows = self._rows(
            "SELECT name, SUM(samples) FROM attempts WHERE round = ? AND ? IN ('', name) GROUP BY name ORDER BY name",
            *(round, name),
        )
        return {name: Attempted(name, samples, correct[name], tuple(proofs[name].values())) for name, samples in rows}

    # --- proofs -------------------------------------------------------------------------------------------------------

    def add_proofs(self, round: int, proofs: Iterable[tuple[Proof, str]]) -> None:
        """Record the verdicts on proofs: the reason why verification refused a proof, or empty if it is verified.

        An unverified proof gets its lemmas, its seconds and the verdict. A proof with a verdict is not changed. A proof
        that is not in the store is added; it comes from the initial data.
        """
        with self._transaction() as db:
            for proof, reason in proofs:
                db.execute(
                    "UPDATE proofs SET verified = ?, reason = ?, seconds = ?, lemmas = ?"
                    " WHERE proof_id = ? AND verified IS NULL",
                    (not reason, reason, proof.seconds, json.dumps(proof.lemmas), _proof_id(db, round, proof)),
                )

    def unverified(self, round: int | None = None, name: str = "") -> list[Proof]:
        """Proofs from the attempts of a round (or of all) that are not verified yet."""
        rows = self._rows(
            f"SELECT {PROOF} FROM proofs WHERE verified IS NULL AND (? IS NULL OR round = ?) AND ? IN ('', name)"
            " ORDER BY name, script",
            *(round, round, name),
        )
        return [proof_of(*row) for row in rows]

    def proofs(self, name: str = "") -> list[Proof]:
        """Verified proofs of a statement or conjecture, or all; sorted by round, then by length."""
        rows = self._rows(
            f"SELECT {PROOF} FROM proofs WHERE verified = 1 AND ? IN ('', proofs.name) ORDER BY {_ORDER}", name
        )
        return [proof_of(*row) for row in rows]

    def solved(self, split: str = "train") -> list[Solved]:
        """Solved statements of the data set, in its order."""
        proofs = defaultdict(list)
        for row in self._rows(
            f"SELECT {PROOF} FROM proofs JOIN statements USING (name) WHERE verified = 1 AND split = ?"
            f" ORDER BY {_ORDER}",
            split,
        ):
            proofs[row[0]].append(proof_of(*row))
        rows = self._rows(
            f"{BY_ROUND} SELECT name, binders, conclusion, header,"
            " MAX(CAST(correct AS REAL) / samples), MIN(hits.round)"
            " FROM statements JOIN theorems USING (name) JOIN hits USING (name) JOIN samples USING (name, round)"
            " WHERE split = ? GROUP BY name ORDER BY statements.number",
            split,
        )
        return [Solved(Theorem(*theorem), rate, round, tuple(proofs[theorem[0]])) for *theorem, rate, round in rows]

    # --- rounds -------------------------------------------------------------------------------------------------------

    def begin_round(
        self, number: int, cycle: int, now: float, kind: RoundKind = RoundKind.SELF_PLAY, stage: Stage = Stage.BEGUN
    ) -> RoundRow:
        """Begin the round with this number, or return it if it exists. Numbers count up over all kinds and cycles."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO rounds (number, cycle, kind, stage, begun, changed) VALUES (?, ?, ?, ?, ?, ?)",
                (number, cycle, kind, stage, now, now),
            )
        row = self.round(number)
        assert row is not None
        return row

    def reach(
        self,
        round: int,
        stage: Stage,
        now: float,
        *,
        seconds: Mapping[Part, float] | None = None,
        weights: int | None = None,
        checkpoint: str | None = None,
    ) -> None:
        """Mark a stage as reached: all its results are recorded. `seconds`: time spent by part that `spend` has not
        recorded. If the stage was reached before, nothing changes. Raises StpError for a round that has not begun."""
        with self._transaction() as db:
            row = db.execute("SELECT stage FROM rounds WHERE number = ?", (round,)).fetchone()
            if row is None:
                raise StpError(f"{self.path} has no round {round}, so it cannot reach `{stage}`")
            if STAGES.index(Stage(row[0])) >= STAGES.index(stage):
                return
            db.execute(
                "UPDATE rounds SET stage = ?, changed = ?, weights = COALESCE(?, weights),"
                " checkpoint = COALESCE(?, checkpoint) WHERE number = ?",
                (stage, now, weights, checkpoint, round),
            )
            db.executemany(_ADD_SECONDS, [(round, part, spent) for part, spent in (seconds or {}).items()])

    def spend(self, round: int, part: Part, seconds: float) -> None:
        """Add time spent on a part of a round. Called within a stage, so that a kill loses little of the time."""
        with self._transaction() as db:
            db.execute(_ADD_SECONDS, (round, part, seconds))

    def round(self, number: int) -> RoundRow | None:
        """The round with a number; None if it has not begun."""
        return next((each for each in self.rounds() if each.number == number), None)

    def rounds(self) -> list[RoundRow]:
        """All rounds, in order."""
        seconds: dict[int, dict[Part, float]] = {}
        for number, part, spent in self._rows("SELECT round, part, seconds FROM seconds"):
            seconds.setdefault(number, {})[Part(part)] = spent
        rows = self._rows(
            "SELECT number, cycle, kind, stage, weights, checkpoint, begun, changed FROM rounds ORDER BY number"
        )
        return [
            RoundRow(
                number, cycle, RoundKind(kind), Stage(stage), weights, path, begun, changed, seconds.get(number, {})
            )
            for number, cycle, kind, stage, weights, path, begun, changed in rows
        ]

    # --- examples and evaluations -------------------------------------------------------------------------------------

    def add_examples(
        self,
        round: int,
        prover: Iterable[ProverExample] = (),
        conjecturer: Iterable[ConjecturerExample] = (),
        source: int | None = None,
    ) -> None:
        """Add training examples of a round, including replayed ones. `source`: the round that the examples come from;
        None: this round. Examples that the round already has are not changed."""
        source = round if source is None else source
        with self._transaction() as db:
            for proof in prover:
                self._keep_theorem(db, proof.theorem)
                db.execute(
                    "INSERT OR IGNORE INTO prover_examples (round, source, name, proof, weight, conjectured)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (round, source, proof.theorem.name, proof.proof, proof.weight, proof.conjectured),
                )
            for each in conjecturer:
                db.execute(
                    "INSERT OR IGNORE INTO conjecturer_examples (round, source, name, seed_id, conjecture, weight)"
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (round, source, each.name, self._keep_seed(db, each.seed), each.conjecture, each.weight),
                )

    def prover_examples(self, round: int, source: int | None = None) -> list[ProverExample]:
        """The prover's training examples of a round, from one source round or from all."""
        rows = self._rows(
            "SELECT name, binders, conclusion, header, proof, weight, conjectured FROM prover_examples"
            " JOIN theorems USING (name) WHERE round = ? AND (? IS NULL OR source = ?) ORDER BY number",
            *(round, source, source),
        )
        return [
            ProverExample(Theorem(*theorem), proof, weight, bool(conjectured))
            for *theorem, proof, weight, conjectured in rows
        ]

    def conjecturer_examples(self, round: int, source: int | None = None) -> list[ConjecturerExample]:
        """The conjecturer's training examples of a round, from one source round or from all."""
        rows = self._rows(
            "SELECT t.name, binders, conclusion, header, proof, lemma, lemma_statement, conjecture, weight, e.name"
            " FROM conjecturer_examples e JOIN seeds USING (seed_id) JOIN theorems t ON t.name = statement"
            " WHERE round = ? AND (? IS NULL OR source = ?) ORDER BY e.number",
            *(round, source, source),
        )
        return [
            ConjecturerExample(Seed(Theorem(*row[:4]), row[4], Lemma(*row[5:7])), conjecture, weight, name)
            for *row, conjecture, weight, name in rows
        ]

    def add_evaluation(self, round: int, name: str, numbers: Mapping[str, float]) -> None:
        """Add numbers of an evaluation of a round's network, e.g. `test`: {`pass@1`: 0.2}. Existing numbers stay."""
        with self._transaction() as db:
            values = [(round, name, number, value) for number, value in numbers.items()]
            db.executemany("INSERT OR IGNORE INTO evaluations VALUES (?, ?, ?, ?)", values)

    def evaluations(self) -> dict[int, dict[str, dict[str, float]]]:
        """The numbers of all evaluations, by round and name of the evaluation."""
        by_round: dict[int, dict[str, dict[str, float]]] = {}
        for round, name, number, value in self._rows("SELECT * FROM evaluations ORDER BY round, name, number"):
            by_round.setdefault(round, {}).setdefault(name, {})[number] = value
        return by_round


def _seed(
    statement: str, binders: str, conclusion: str, header: str, proof: str, lemma: str, lemma_statement: str
) -> Seed:
    return Seed(Theorem(statement, binders, conclusion, header), proof, Lemma(lemma, lemma_statement))


def _add_attempt(db: sqlite3.Connection, row: AttemptRow) -> int | None:
    """Insert an attempt; returns its number, or None if it already has a result."""
    cursor = db.execute(
        "INSERT INTO attempts (attempt_id, round, name, samples, correct, outcome, message, seconds)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (attempt_id) DO NOTHING",
        (row.attempt_id, row.round, row.name, row.samples, row.correct, row.outcome, row.message, row.seconds),
    )
    return cursor.lastrowid if cursor.rowcount else None


def _proof_id(db: sqlite3.Connection, round: int, proof: Proof) -> int:
    """The id of a proof; a new proof is added as unverified."""
    db.execute(
        "INSERT INTO proofs (name, script, round, reason, seconds, lemmas) VALUES (?, ?, ?, '', ?, ?)"
        " ON CONFLICT (name, script) DO NOTHING",
        (proof.name, proof.script, round, proof.seconds, json.dumps(proof.lemmas)),
    )
    values = (proof.name, proof.script)
    return int(db.execute("SELECT proof_id FROM proofs WHERE name = ? AND script = ?", values).fetchone()[0])


def proof_of(name: str, script: str, seconds: float, lemmas: str) -> Proof:
    return Proof(name, script, seconds, tuple(json.loads(lemmas)))
