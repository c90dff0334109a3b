"""Stores statements, seeds and conjectures."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from common.lean import Theorem
from node.stp.errors import StpError
from node.stp.records import Conjecture, Fate, Lemma, Seed, Statement
from node.stp.store.database import Database

_SEED = "statement, s.binders, s.conclusion, s.header, proof, lemma, lemma_statement"

_SEEDS = "JOIN seeds USING (seed_id) JOIN theorems s ON s.name = statement"


class TheoremRecords(Database):
    """Statements, seeds and conjectures of an open database."""

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

    # --- seeds ------------------------------------------------------------------------------------------------------

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

    def seeds_with(self, statement: str) -> list[tuple[int, int]]:
        """Rounds that used this statement in seeds, with the number of seeds."""
        query = "SELECT round, COUNT(*) FROM round_seeds JOIN seeds USING (seed_id) WHERE statement = ? GROUP BY round"
        return self._rows(query, statement)

    def _keep_seed(self, db: sqlite3.Connection, seed: Seed) -> int:
        """Store a seed within a transaction; returns its id."""
        self._keep_theorem(db, seed.theorem)
        values = (seed.theorem.name, seed.lemma.name, seed.lemma.statement, seed.proof)
        db.execute("INSERT OR IGNORE INTO seeds (statement, lemma, lemma_statement, proof) VALUES (?, ?, ?, ?)", values)
        (seed_id,) = db.execute(
            "SELECT seed_id FROM seeds WHERE statement = ? AND lemma = ? AND lemma_statement = ? AND proof = ?", values
        ).fetchone()
        return int(seed_id)

    # --- conjectures ------------------------------------------------------------------------------------------------

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

    def conjecture(self, name: str) -> Conjecture | None:
        """The conjecture with a name, if there is one."""
        matches = self._conjectures("c.name = ?", name)
        return matches[0] if matches else None

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


def _seed(
    statement: str, binders: str, conclusion: str, header: str, proof: str, lemma: str, lemma_statement: str
) -> Seed:
    return Seed(Theorem(statement, binders, conclusion, header), proof, Lemma(lemma, lemma_statement))
