"""Stores rounds: their stage, time spent, training examples and evaluations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from common.lean import Theorem
from node.stp.errors import StpError
from node.stp.records import ConjecturerExample, Lemma, ProverExample, Seed
from node.stp.store.rows import STAGES, Part, RoundKind, RoundRow, Stage
from node.stp.store.theorems import TheoremRecords

_ADD_SECONDS = (
    "INSERT INTO seconds VALUES (?, ?, ?) ON CONFLICT (round, part) DO UPDATE SET seconds = seconds + excluded.seconds"
)


class RoundRecords(TheoremRecords):
    """Rounds of an open database."""

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

    # --- examples ---------------------------------------------------------------------------------------------------

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

    def conjecture_trained(self, name: str) -> list[tuple[int, float]]:
        """The rounds that trained the conjecturer on this conjecture, each with its weight."""
        return self._rows("SELECT round, weight FROM conjecturer_examples WHERE name = ? ORDER BY round", name)

    def proofs_trained(self, name: str) -> list[tuple[int, str, float]]:
        """The rounds that trained the prover on proofs of this statement or conjecture: round, script, weight."""
        query = "SELECT round, proof, weight FROM prover_examples WHERE name = ? ORDER BY round, number"
        return self._rows(query, name)

    # --- evaluations and notes --------------------------------------------------------------------------------------

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
