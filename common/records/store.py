"""The learner's database, proofs.sqlite: attempts, results, proofs, transitions, weights and notes.

Synchronous; `StoreThread` runs it in a separate thread. Invariant: recorded = dispatched - outstanding, each attempt id
once. One transaction writes an attempt and its outbox row, before the attempt is published. Another one writes the
result, its proof, its transitions and its theorem's statistics, and removes the outbox row, before the result is
acknowledged. So after a crash at any moment, every attempt is either outstanding or recorded.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from common.lean import Context, Place, TacticRule, Theorem
from common.protocol.attempts import (
    MAX_PARTS,
    TRAINED_PURPOSES,
    Attempt,
    AttemptOutcome,
    AttemptResult,
    Purpose,
    ResultPart,
    Transition,
    joined,
)
from common.protocol.messages import SCHEMA_VERSION, MalformedMessage, MessageError, encode
from common.records import database
from common.records.lately import WINDOW, Lately, lately
from common.records.rows import (
    Arrival,
    Audit,
    EvaluationRow,
    Example,
    Parts,
    Planned,
    Recent,
    Standing,
    TheoremRow,
    Tried,
    Verdict,
    VerifiedProof,
    WeightsRow,
    learn,
)
from common.records.schema import MIGRATIONS


class Database(database.Database):
    """One open database. Raises RunDirectoryError if it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, MIGRATIONS)


# ----------------------------------------------------------------------------------------------------------------------
# The statistics of each train theorem: outcomes and costs of its attempts. They are updated in the transaction that
# records a result, so they always agree with the results.

_COLUMNS = ", ".join(field.name for field in fields(Standing))

_KEEP = (
    f"INSERT INTO theorem_statistics (theorem_id, {_COLUMNS}, shortest, last_budget, last_weights, expansions,"
    f" lean_attempts) VALUES (?, {', '.join('?' * len(fields(Standing)))}, ?, ?, ?, ?, ?)"
    " ON CONFLICT (theorem_id) DO UPDATE SET "
    + ", ".join(f"{field.name} = excluded.{field.name}" for field in fields(Standing))
    # MIN of several values is NULL when one of them is.
    + ", shortest = COALESCE(MIN(shortest, excluded.shortest), shortest, excluded.shortest)"
    ", last_budget = excluded.last_budget, last_weights = excluded.last_weights,"
    " expansions = expansions + excluded.expansions, lean_attempts = lean_attempts + excluded.lean_attempts"
)


class TheoremStatistics(Database):
    """Statistics of the train theorems of an open database."""

    def standings(self) -> dict[str, Standing]:
        """The record of every theorem that has a result."""
        rows = self._rows(f"SELECT theorem_id, {_COLUMNS} FROM theorem_statistics")
        return {theorem_id: _standing(columns) for theorem_id, *columns in rows}

    def outstanding_theorems(self) -> list[str]:
        """The theorem of every outstanding attempt on a train statement."""
        rows = self._rows(
            "SELECT theorem_id FROM outbox JOIN attempts USING (attempt_id) WHERE purpose IN ('train', 'disprove')"
        )
        return [theorem_id for (theorem_id,) in rows]

    def recent(self, limit: int) -> list[Recent]:
        """The latest decided attempts to prove train statements, oldest first."""
        rows = self._rows(
            "SELECT theorem_id, outcome = 'proved' FROM results CROSS JOIN attempts USING (attempt_id)"
            " WHERE purpose = 'train' AND outcome IN ('proved', 'failed', 'rejected')"
            " ORDER BY results.rowid DESC LIMIT ?",
            limit,
        )
        return [Recent(theorem_id, bool(proved)) for theorem_id, proved in reversed(rows)]

    def _keep_statistics(
        self, db: sqlite3.Connection, theorem_id: str, purpose: str, result: AttemptResult, verdict: Verdict
    ) -> None:
        """Update a theorem's statistics with a result, in the transaction that records the result."""
        row = db.execute(f"SELECT {_COLUMNS} FROM theorem_statistics WHERE theorem_id = ?", (theorem_id,)).fetchone()
        standing = _standing(row) if row else Standing()
        learn(standing, purpose == Purpose.DISPROVE, verdict.outcome)
        (budget,) = db.execute("SELECT simulations FROM attempts WHERE attempt_id = ?", (result.attempt_id,)).fetchone()
        spent = result.statistics
        steps = _steps(verdict) if purpose == Purpose.TRAIN else None
        db.execute(
            _KEEP,
            (
                *(theorem_id, *astuple(standing), steps, budget),
                *(spent.weights_last, spent.expansions, spent.lean_attempts),
            ),
        )


def _standing(columns: list[int]) -> Standing:
    attempts, failures, tries, proofs, disproved, refused, in_a_row = columns
    return Standing(attempts, failures, tries, proofs, bool(disproved), bool(refused), in_a_row)


def _steps(verdict: Verdict) -> int | None:
    """Tactics on the longest branch of a verified proof; None without a proof, or if it has no transitions."""
    if verdict.proof is None:
        return None
    return max((each.remaining_steps for each in verdict.proof.transitions), default=None)


# ----------------------------------------------------------------------------------------------------------------------
# Evaluations: their state, the outcomes of their attempts, and their costs.

COSTS = (
    "simulations",
    "expansions",
    "expansions_lost",
    "nodes",
    "tactics_tried",
    "tactics_failed",
    "seconds",
    "seconds_policy",
    "seconds_lean",
    "lean_attempts",
    "tokens",
)
"""Columns of `results` with the costs of an attempt."""

_SUMS = ", ".join(f"COALESCE(SUM(results.{name}), 0)" for name in COSTS)

_FIELDS = (
    "label, evaluation_id, weights, simulations, evaluations.created, finished, beside, worked, given_up,"
    " COALESCE(step, 0) FROM evaluations LEFT JOIN weights ON version = weights"
)


def _evaluation(row: tuple[Any, ...]) -> EvaluationRow:
    """An evaluation from its `_FIELDS`; SQLite has no booleans."""
    values = [*row[:6], bool(row[6]), *row[7:]]
    return EvaluationRow(*values)


class EvaluationRecords(Database):
    """The evaluations of an open database."""

    def begin_evaluation(self, label: str, weights: int, simulations: int, now: float, beside: bool = False) -> int:
        """The id of the evaluation with this label; begins it if it does not exist."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO evaluations (label, weights, simulations, created, beside)"
                " VALUES (?, ?, ?, ?, ?)",
                (label, weights, simulations, now, beside),
            )
        return int(self._rows("SELECT evaluation_id FROM evaluations WHERE label = ?", label)[0][0])

    def finish_evaluation(self, evaluation: int, now: float, worked: float | None = None) -> None:
        """Mark an evaluation as finished. `worked`: seconds that the run has been running so far."""
        with self._transaction() as db:
            db.execute(
                "UPDATE evaluations SET finished = ?, worked = ? WHERE evaluation_id = ? AND given_up IS NULL",
                (now, worked, evaluation),
            )

    def give_up_evaluation(self, evaluation: int, now: float, reason: str) -> None:
        """Mark an evaluation as abandoned: it has no result."""
        with self._transaction() as db:
            db.execute(
                "UPDATE evaluations SET given_up = ?, reason = ? WHERE evaluation_id = ? AND finished IS NULL",
                (now, reason, evaluation),
            )

    def evaluation(self, label: str) -> EvaluationRow | None:
        """An evaluation by its label, finished or not."""
        rows = self._rows(f"SELECT {_FIELDS} WHERE label = ?", label)
        return _evaluation(rows[0]) if rows else None

    def evaluations(self) -> list[EvaluationRow]:
        """All evaluations, in the order in which they were begun."""
        return [_evaluation(row) for row in self._rows(f"SELECT {_FIELDS} ORDER BY evaluation_id")]

    def evaluated(self, evaluation: int) -> dict[str, list[AttemptOutcome | None]]:
        """Outcomes of an evaluation's attempts by theorem; None: outstanding."""
        return {each.theorem_id: list(each.outcomes) for each in self.tried(evaluation)}

    def tried(self, evaluation: int) -> list[Tried]:
        """Every statement of an evaluation that has an attempt."""
        statements: dict[tuple[str, str, int], list[AttemptOutcome | None]] = {}
        for name, family, level, outcome in self._rows(
            "SELECT theorem_id, family, level, outcome FROM attempts JOIN theorems USING (theorem_id)"
            " LEFT JOIN results USING (attempt_id) WHERE evaluation_id = ? ORDER BY number",
            evaluation,
        ):
            outcomes = statements.setdefault((name, family, level), [])
            outcomes.append(None if outcome is None else AttemptOutcome(outcome))
        return [Tried(*statement, tuple(outcomes)) for statement, outcomes in statements.items()]

    def budgets(self, evaluation: int) -> dict[str, int]:
        """The simulations that each statement of an evaluation was given."""
        return dict(self._rows("SELECT theorem_id, simulations FROM attempts WHERE evaluation_id = ?", evaluation))

    def evaluation_costs(self, evaluation: int) -> dict[str, float]:
        """Total costs of the attempts of one evaluation (`COSTS`)."""
        (row,) = self._rows(
            f"SELECT {_SUMS} FROM results JOIN attempts USING (attempt_id) WHERE evaluation_id = ?", evaluation
        )
        return dict(zip(COSTS, row, strict=True))

    def costs(self) -> dict[str, dict[str, float]]:
        """Total costs by purpose of the attempts with a result: counts and seconds (`COSTS`). Evaluations beside
        learning have their own entry, `eval-beside`."""
        rows = self._rows(
            f"SELECT CASE WHEN beside THEN 'eval-beside' ELSE purpose END, COUNT(*), {_SUMS}"
            " FROM results JOIN attempts USING (attempt_id) LEFT JOIN evaluations USING (evaluation_id) GROUP BY 1"
        )
        return {purpose: dict(zip(("attempts", *COSTS), row, strict=True)) for purpose, *row in rows}

    def evaluation_expansions(self) -> int:
        """Expansions of all evaluations."""
        query = "SELECT COALESCE(SUM(expansions), 0) FROM results JOIN attempts USING (attempt_id)"
        return int(self._rows(f"{query} WHERE evaluation_id IS NOT NULL")[0][0])

    def learning_expansions(self) -> int:
        """Expansions of all attempts to learn from."""
        query = "SELECT COALESCE(SUM(expansions), 0) FROM results JOIN attempts USING (attempt_id)"
        return int(self._rows(f"{query} WHERE evaluation_id IS NULL")[0][0])


# ----------------------------------------------------------------------------------------------------------------------


class Store(EvaluationRecords, TheoremStatistics):
    """One open database. Raises RunDirectoryError if it cannot be read or written."""

    # --- theorems ---------------------------------------------------------------------------------------------------

    def add_theorems(self, rows: Iterable[TheoremRow]) -> None:
        """Add theorems; of existing ones, only the rule for tactics may change. The text of a file is stored once for
        all its theorems."""
        contexts, values = {}, []
        for row in rows:
            place = row.theorem.place
            if place is not None:
                contexts[place.context.digest] = place.context.packed
            values.append(
                (
                    *(row.theorem.name, row.split, row.theorem.binders, row.theorem.conclusion),
                    *(row.theorem.header, row.family, row.level),
                    *((place.context.digest, _gap(place)) if place is not None else (None, None)),
                    msgspec.json.encode(row.theorem.rule).decode() if row.theorem.rule is not None else None,
                )
            )
        with self._transaction() as db:
            db.executemany("INSERT OR IGNORE INTO contexts VALUES (?, ?)", contexts.items())
            db.executemany(
                "INSERT INTO theorems (theorem_id, split, binders, conclusion, header, family, level,"
                " context, place, rule) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (theorem_id) DO UPDATE SET rule = excluded.rule WHERE rule IS NOT excluded.rule",
                values,
            )

    def theorem(self, theorem_id: str) -> TheoremRow | None:
        """A theorem of the run, with its place in a file if it has one; None if the name is unknown."""
        rows = self._rows(
            "SELECT split, binders, conclusion, header, family, level, digest, packed, place, rule"
            " FROM theorems LEFT JOIN contexts ON context = digest WHERE theorem_id = ?",
            theorem_id,
        )
        if not rows:
            return None
        split, binders, conclusion, header, family, level, digest, packed, gap, written = rows[0]
        place = _place(Context(digest, packed), gap) if digest is not None else None
        rule = msgspec.json.decode(written, type=TacticRule) if written is not None else None
        return TheoremRow(Theorem(theorem_id, binders, conclusion, header, place, rule), split, family, level)

    # --- outbox -----------------------------------------------------------------------------------------------------

    def dispatch(self, planned: Sequence[Planned], now: float) -> None:
        """Write attempts and their outbox rows: from here on they are outstanding."""
        with self._transaction() as db:
            for plan in planned:
                attempt = plan.attempt
                db.execute(
                    "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(plan.number, attempt.attempt_id, attempt.theorem_id, attempt.purpose),
                        *(attempt.simulations, attempt.weights, plan.evaluation, now),
                    ),
                )
                db.execute(
                    "INSERT INTO outbox (attempt_id, payload) VALUES (?, ?)", (attempt.attempt_id, encode(attempt))
                )

    def next_number(self) -> int:
        """The number of the next attempt."""
        return int(self._rows("SELECT COALESCE(MAX(number), 0) + 1 FROM attempts")[0][0])

    def unpublished(self, limit: int) -> list[tuple[Attempt, int]]:
        """Outstanding attempts that the broker has not acknowledged, oldest first, with how often they were
        published."""
        rows = self._rows(
            "SELECT payload, tries FROM outbox JOIN attempts USING (attempt_id)"
            " WHERE published IS NULL ORDER BY number LIMIT ?",
            limit,
        )
        return [(_attempt(payload), tries) for payload, tries in rows]

    def published(self, attempt_ids: Sequence[str], now: float) -> None:
        """Mark attempts as acknowledged by the broker."""
        with self._transaction() as db:
            db.executemany(
                "UPDATE outbox SET published = ?, tries = tries + 1 WHERE attempt_id = ?",
                [(now, attempt_id) for attempt_id in attempt_ids],
            )

    def publish_again(self, purpose: str | None = None, attempt_ids: Sequence[str] | None = None) -> int:
        """Mark the outstanding attempts (of a purpose, or these) to be published again; returns how many there are."""
        with self._transaction() as db:
            if attempt_ids is not None:
                again = [(each,) for each in attempt_ids]
                return db.executemany("UPDATE outbox SET published = NULL WHERE attempt_id = ?", again).rowcount
            chosen = "WHERE attempt_id IN (SELECT attempt_id FROM attempts WHERE purpose = :purpose)" if purpose else ""
            return db.execute(f"UPDATE outbox SET published = NULL {chosen}", {"purpose": purpose}).rowcount

    def published_first(self, purpose: str, newest: int) -> list[str]:
        """The published attempts of a purpose without a result, but for the `newest` ones."""
        rows = self._rows(
            "SELECT attempt_id FROM outbox JOIN attempts USING (attempt_id) WHERE purpose = ? AND published IS NOT NULL"
            " ORDER BY published DESC, number DESC LIMIT -1 OFFSET ?",
            purpose,
            newest,
        )
        return [attempt_id for (attempt_id,) in rows]

    def outstanding(self) -> dict[str, int]:
        """Outstanding attempts by purpose."""
        return dict(
            self._rows("SELECT purpose, COUNT(*) FROM outbox JOIN attempts USING (attempt_id) GROUP BY purpose")
        )

    # --- results ----------------------------------------------------------------------------------------------------

    def open_attempt(self, attempt_id: str) -> Attempt | None:
        """The dispatched attempt, while it is outstanding; None after its first result."""
        rows = self._rows("SELECT payload FROM outbox WHERE attempt_id = ?", attempt_id)
        return _attempt(rows[0][0]) if rows else None

    def keep_part(self, part: ResultPart) -> AttemptResult | None:
        """Store one part of a result; returns the whole result once all its parts have arrived. A repeated part is
        harmless.

        Raises MessageError if the joined parts are not a result of this attempt, or if there are more than those of two
        results; then the parts are deleted.
        """
        if self._rows("SELECT COUNT(*) FROM parts WHERE attempt_id = ?", part.attempt_id)[0][0] >= 2 * MAX_PARTS:
            with self._transaction() as db:
                db.execute("DELETE FROM parts WHERE attempt_id = ?", (part.attempt_id,))
            raise MalformedMessage(f"attempt {part.attempt_id} has parts of many results, and none is whole")
        key = (part.attempt_id, part.prover_id, part.digest, part.parts)
        same_result = "attempt_id = ? AND prover_id = ? AND digest = ? AND parts = ?"
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO parts (attempt_id, prover_id, digest, parts, part, payload)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (*key, part.part, part.payload),
            )
        if self._rows(f"SELECT COUNT(*) FROM parts WHERE {same_result}", *key)[0][0] < part.parts:
            return None
        rows = self._rows(f"SELECT payload FROM parts WHERE {same_result} ORDER BY part", *key)
        try:
            result = joined([payload for (payload,) in rows], part.digest)
            if result.attempt_id != part.attempt_id:
                raise MalformedMessage(f"the parts of attempt {part.attempt_id} hold a result of {result.attempt_id}")
        except MessageError:
            with self._transaction() as db:
                db.execute(f"DELETE FROM parts WHERE {same_result}", key)
            raise
        return result

    def parts(self, attempt_id: str) -> Parts | None:
        """Where the time of a recorded attempt went; None if nothing knows."""
        names = ", ".join(each.name for each in fields(Parts))
        rows = self._rows(f"SELECT {names} FROM timelines WHERE attempt_id = ?", attempt_id)
        return Parts(*rows[0]) if rows else None

    def record(self, result: AttemptResult, verdict: Verdict, now: float, arrival: Arrival | None = None) -> bool:
        """Record the first result of an attempt, with its proof and transitions. Returns False if the attempt already
        has a result or is unknown. `arrival`: how it came, for the attempt's timeline.

        Stores `verdict.outcome`, not the outcome that the prover reported (`result.outcome`).
        """
        with self._transaction() as db:
            row = db.execute(
                "SELECT created, theorem_id, purpose FROM outbox JOIN attempts USING (attempt_id) WHERE attempt_id = ?",
                (result.attempt_id,),
            ).fetchone()
            db.execute("DELETE FROM parts WHERE attempt_id = ?", (result.attempt_id,))
            if row is None:
                return False
            db.execute("DELETE FROM outbox WHERE attempt_id = ?", (result.attempt_id,))
            self._insert_result(db, result, verdict, now)
            created, theorem_id, purpose = row
            if arrival is not None and result.statistics.parts is not None:
                parts = astuple(arrival.parts(created, result.statistics.parts))
                parts = (*parts, result.statistics.parts.idle)
                db.execute(
                    f"INSERT INTO timelines VALUES (?{', ?' * len(parts)})",
                    (result.attempt_id, *(round(seconds, 6) for seconds in parts)),
                )
            if purpose in TRAINED_PURPOSES:
                self._keep_statistics(db, theorem_id, purpose, result, verdict)
            if verdict.outcome is AttemptOutcome.PROVED:
                assert verdict.proof is not None
                self._insert_proof(db, result.attempt_id, verdict.proof, theorem_id, purpose)
        return True

    def _insert_result(self, db: sqlite3.Connection, result: AttemptResult, verdict: Verdict, now: float) -> None:
        statistics = result.statistics
        db.execute(
            "INSERT INTO results (attempt_id, prover_id, outcome, message, simulations, expansions, seconds,"
            " weights_first, weights_last, recorded, nodes, tactics_tried, tactics_failed, expansions_lost,"
            " seconds_policy, seconds_lean, lean_attempts, tokens)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(result.attempt_id, result.prover_id, verdict.outcome, verdict.message or result.message),
                *(statistics.simulations, statistics.expansions, statistics.seconds),
                *(statistics.weights_first, statistics.weights_last, now),
                *(statistics.nodes, statistics.tactics_tried, statistics.tactics_failed, statistics.expansions_lost),
                *(statistics.seconds_policy, statistics.seconds_lean, statistics.lean_attempts, statistics.tokens),
            ),
        )

    def _insert_proof(
        self, db: sqlite3.Connection, attempt_id: str, proof: VerifiedProof, theorem_id: str, purpose: str
    ) -> None:
        db.execute(
            "INSERT INTO proofs (attempt_id, theorem_id, disproof, script, axioms, lean_version, default_header)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(attempt_id, theorem_id, purpose == Purpose.DISPROVE, proof.script),
                *(" ".join(proof.axioms), proof.lean_version, proof.header),
            ),
        )
        if purpose in TRAINED_PURPOSES:
            weights = proof.weights or (1.0,) * len(proof.transitions)
            _insert_transitions(db, attempt_id, proof.transitions, weights)

    # --- transitions for the replay buffer --------------------------------------------------------------------------

    def examples(self, after: int = 0, limit: int = 10_000) -> list[Example]:
        """Transitions with ids above `after`, in order of recording."""
        rows = self._rows(
            "SELECT transition_id, weight, state, tactic, remaining_steps FROM transitions"
            " WHERE transition_id > ? ORDER BY transition_id LIMIT ?",
            after,
            limit,
        )
        return [Example(number, Transition(*columns), weight) for number, weight, *columns in rows]

    def steps_found(self, after: int = 0) -> list[tuple[int, int | None]]:
        """(id, training step of the weights that found it) of transitions with ids above `after`; None: not known."""
        return self._rows(
            "SELECT transition_id, step FROM transitions JOIN results USING (attempt_id)"
            " LEFT JOIN weights ON version = weights_last WHERE transition_id > ? ORDER BY transition_id",
            after,
        )

    # --- weights ----------------------------------------------------------------------------------------------------

    def add_weights(self, row: WeightsRow, now: float) -> None:
        """Record a published version of the weights."""
        with self._transaction() as db:
            values = (row.version, row.step, row.digest, row.object_name, now)
            db.execute("INSERT OR REPLACE INTO weights VALUES (?, ?, ?, ?, ?)", values)

    def weights(self) -> list[WeightsRow]:
        """All versions, oldest first."""
        rows = self._rows("SELECT version, step, digest, object_name FROM weights ORDER BY version")
        return [WeightsRow(*row) for row in rows]

    # --- notes and audit --------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Results by `purpose:outcome`, and totals of transitions, proofs and expansions."""
        counts = {
            f"{purpose}:{outcome}": number
            for purpose, outcome, number in self._rows(
                "SELECT purpose, outcome, COUNT(*) FROM results JOIN attempts USING (attempt_id) GROUP BY 1, 2"
            )
        }
        for table in ("attempts", "results", "proofs", "transitions"):
            counts[table] = self._rows(f"SELECT COUNT(*) FROM {table}")[0][0]
        counts["expansions"] = self._rows("SELECT COALESCE(SUM(expansions), 0) FROM results")[0][0]
        return counts

    def lately(self) -> Lately:
        """Where the time of the latest attempts went."""
        with self._explained():
            return lately(self._db, WINDOW)

    def lean_version(self) -> str:
        """The version of Lean that verified the latest proof; empty before the first."""
        rows = self._rows("SELECT lean_version FROM proofs ORDER BY proof_id DESC LIMIT 1")
        return str(rows[0][0]) if rows else ""

    def audit(self) -> Audit:
        """The counts that check the invariant recorded = dispatched - outstanding, each id once."""
        dispatched, outstanding, recorded, both, neither, strays = self._rows(
            "SELECT (SELECT COUNT(*) FROM attempts), (SELECT COUNT(*) FROM outbox), (SELECT COUNT(*) FROM results),"
            " (SELECT COUNT(*) FROM outbox JOIN results USING (attempt_id)),"
            " (SELECT COUNT(*) FROM attempts WHERE attempt_id NOT IN (SELECT attempt_id FROM outbox)"
            "   AND attempt_id NOT IN (SELECT attempt_id FROM results)),"
            " (SELECT COUNT(*) FROM results WHERE attempt_id NOT IN (SELECT attempt_id FROM attempts))"
        )[0]
        return Audit(dispatched, outstanding, recorded, both, neither, strays)


def _insert_transitions(
    db: sqlite3.Connection, attempt_id: str, transitions: Sequence[Transition], weights: Sequence[float]
) -> None:
    db.executemany(
        "INSERT INTO transitions (attempt_id, weight, state, tactic, remaining_steps) VALUES (?, ?, ?, ?, ?)",
        [
            (attempt_id, weight, *msgspec.structs.astuple(each))
            for each, weight in zip(transitions, weights, strict=True)
        ],
    )


def _attempt(payload: bytes) -> Attempt:
    """Decode an attempt of the outbox. In attempts of older schema versions the fields have the same meaning."""
    attempt = msgspec.msgpack.decode(payload, type=Attempt)
    return msgspec.structs.replace(attempt, v=SCHEMA_VERSION)


def _gap(place: Place) -> str:
    """A place without its context, as JSON."""
    return msgspec.json.encode({"before": place.before, "after": place.after, "tactic": place.tactic}).decode()


def _place(context: Context, gap: str) -> Place:
    return Place(context, **msgspec.json.decode(gap))


# ----------------------------------------------------------------------------------------------------------------------
# SQLite's calls wait for the disk, and the event loop must not, so a thread runs them.

P = ParamSpec("P")
R = TypeVar("R")


class StoreThread:
    """Runs methods of one Store one after another in one thread."""

    def __init__(self, store: Store, executor: ThreadPoolExecutor) -> None:
        self._store = store
        self._executor = executor

    @classmethod
    async def open(cls, path: Path) -> StoreThread:
        """Raises RunDirectoryError."""
        executor = ThreadPoolExecutor(1, thread_name_prefix="store")
        store = await asyncio.get_running_loop().run_in_executor(executor, Store, path)
        return cls(store, executor)

    async def call(self, method: Callable[Concatenate[Store, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call a method, as in `await thread.call(Store.record, result, verdict, now)`. A call that has begun finishes
        even if the caller is cancelled. Raises what the method raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, lambda: method(self._store, *args, **kwargs))

    async def close(self) -> None:
        """Finish what is queued and close the database."""
        await self.call(Store.close)
        self._executor.shutdown()
