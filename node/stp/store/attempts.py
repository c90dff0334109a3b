"""Stores attempts and proofs, and derives which statements are solved, and after how many samples.

A statement is solved if a proof that one of its attempts sampled is verified. Proofs from the initial data are only
for training and do not solve statements.
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from common.lean import Theorem
from node.stp.records import Attempted, Proof, Statement
from node.stp.store.database import Database
from node.stp.store.rows import AttemptRow, Found, Progress, Solved

_PROOF = "proofs.name, script, proofs.seconds, lemmas"

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


class AttemptRecords(Database):
    """Attempts and proofs of an open database."""

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

    def attempts_at(self, name: str) -> list[AttemptRow]:
        """Attempts at one statement or conjecture, in the order of their results."""
        return self._attempts("name = ?", name)

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
            f"SELECT count, {_PROOF} FROM found JOIN proofs USING (proof_id) JOIN attempts ON attempt = number"
            " WHERE attempts.round = ? AND ? IN ('', attempts.name) AND verified = 1 ORDER BY attempt_id, first",
            *(round, name),
        ):
            proof = _proof(*row)
            proofs[proof.name].setdefault(proof.script, proof)
            correct[proof.name] += count
        rows = self._rows(
            "SELECT name, SUM(samples) FROM attempts WHERE round = ? AND ? IN ('', name) GROUP BY name ORDER BY name",
            *(round, name),
        )
        return {name: Attempted(name, samples, correct[name], tuple(proofs[name].values())) for name, samples in rows}

    # --- proofs -----------------------------------------------------------------------------------------------------

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
            f"SELECT {_PROOF} FROM proofs WHERE verified IS NULL AND (? IS NULL OR round = ?) AND ? IN ('', name)"
            " ORDER BY name, script",
            *(round, round, name),
        )
        return [_proof(*row) for row in rows]

    def proofs(self, name: str = "") -> list[Proof]:
        """Verified proofs of a statement or conjecture, or all; sorted by round, then by length."""
        rows = self._rows(
            f"SELECT {_PROOF} FROM proofs WHERE verified = 1 AND ? IN ('', proofs.name) ORDER BY {_ORDER}", name
        )
        return [_proof(*row) for row in rows]

    def refused(self, name: str = "") -> list[tuple[Proof, str]]:
        """Proofs that verification refused, and why."""
        rows = self._rows(
            f"SELECT reason, {_PROOF} FROM proofs WHERE verified = 0 AND ? IN ('', proofs.name) ORDER BY proof_id", name
        )
        return [(_proof(*row), reason) for reason, *row in rows]

    # --- solved statements ------------------------------------------------------------------------------------------

    def solved(self, split: str = "train") -> list[Solved]:
        """Solved statements of the data set, in its order."""
        proofs = defaultdict(list)
        for row in self._rows(
            f"SELECT {_PROOF} FROM proofs JOIN statements USING (name) WHERE verified = 1 AND split = ?"
            f" ORDER BY {_ORDER}",
            split,
        ):
            proofs[row[0]].append(_proof(*row))
        rows = self._rows(
            f"{BY_ROUND} SELECT name, binders, conclusion, header,"
            " MAX(CAST(correct AS REAL) / samples), MIN(hits.round)"
            " FROM statements JOIN theorems USING (name) JOIN hits USING (name) JOIN samples USING (name, round)"
            " WHERE split = ? GROUP BY name ORDER BY statements.number",
            split,
        )
        return [Solved(Theorem(*theorem), rate, round, tuple(proofs[theorem[0]])) for *theorem, rate, round in rows]

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


def _proof(name: str, script: str, seconds: float, lemmas: str) -> Proof:
    return Proof(name, script, seconds, tuple(json.loads(lemmas)))
