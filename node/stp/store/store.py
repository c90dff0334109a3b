"""The store of a run of self-play: stp.sqlite. Synchronous; a call takes some milliseconds, mostly for the disk.

Records never change once they are written, and every step is written in one transaction before the next step begins.
So a run that is killed at any point resumes from its last transaction: it reads the state of its round, and does the
missing steps with the same ids and seeds. Adding a record again changes nothing.
"""

from __future__ import annotations

from collections import defaultdict

from node.stp.records import Fate
from node.stp.store.attempts import BY_ROUND, AttemptRecords
from node.stp.store.database import Database
from node.stp.store.rounds import RoundRecords

# --- counts per round for views, each with one query over all rounds --------------------------------------------------


class Counts(Database):
    """Counts of an open database."""

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


# ----------------------------------------------------------------------------------------------------------------------

FILE = "stp.sqlite"
"""File name in the run directory."""


class StpStore(RoundRecords, AttemptRecords, Counts):
    """An open store: `StpStore(directory / FILE)`. Raises StpError if it cannot be written or read."""
