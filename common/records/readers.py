"""Readers of a run's records (`proofs.sqlite`), for commands that show a run: verified proofs, statistics of theorems.

They open the file read-only, do not disturb a running learner, and read files of older schema versions.
"""

from __future__ import annotations

import enum
import json
import sqlite3
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from common.lean import NO_CONTEXT, Context, Place, TacticRule, Theorem
from common.output.command import UserError
from common.protocol.messages import ProofFound
from common.records.lately import TIMELINES_SINCE
from common.records.rows import Parts

# ----------------------------------------------------------------------------------------------------------------------
# Verified proofs.

DATABASE = "proofs.sqlite"

SELF_PLAY = "stp.sqlite"
"""The records of a run of self-play."""

_PLACES_SINCE = 4
"""Schema version from which theorems have places in files."""

_HEADERS_SINCE = 8
"""Schema version from which proofs have the header that they were verified with."""

_RULES_SINCE = 10
"""Schema version from which theorems have rules for tactics."""


class UnreadableRecords(UserError, ValueError):
    """The records of a run cannot be read. The message names the file and the reason."""


def latest(path: Path, limit: int, after: int = 0) -> list[tuple[int, ProofFound]]:
    """The newest `limit` verified proofs with ids above `after`, the oldest of them first; none if there is no file.

    Raises UnreadableRecords.
    """
    if not path.exists():
        return []
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        place = "place" if version >= _PLACES_SINCE else "NULL"
        rows = database.execute(
            "SELECT proof_id, theorem_id, attempt_id, purpose, recorded, results.simulations, disproof, script,"
            f" binders, conclusion, {place} FROM proofs JOIN results USING (attempt_id)"
            " JOIN attempts USING (attempt_id, theorem_id) JOIN theorems USING (theorem_id)"
            " WHERE proof_id > ? ORDER BY proof_id DESC LIMIT ?",
            (after, limit),
        ).fetchall()
    return [(row[0], _proof_message(*row[1:])) for row in reversed(rows)]


class CheckedProof(NamedTuple):
    """A verified proof, and what checked it."""

    found: ProofFound
    disproof: bool
    axioms: str
    """Names, with spaces; empty: none."""
    lean_version: str


def proofs_of(path: Path, limit: int, *, theorem: str = "", attempt: str = "") -> list[CheckedProof]:
    """The newest verified proofs and disproofs of a theorem, or of an attempt. Raises UnreadableRecords."""
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        place = "place" if version >= _PLACES_SINCE else "NULL"
        chosen = "attempts.attempt_id = :name" if attempt else "attempts.theorem_id = :name"
        rows = database.execute(
            "SELECT axioms, lean_version, theorem_id, attempt_id, purpose, recorded, results.simulations, disproof,"
            f" script, binders, conclusion, {place} FROM attempts CROSS JOIN proofs USING (attempt_id, theorem_id)"
            f" JOIN results USING (attempt_id) JOIN theorems USING (theorem_id) WHERE {chosen}"
            " ORDER BY proof_id DESC LIMIT :limit",
            {"name": attempt or theorem, "limit": limit},
        ).fetchall()
    return [CheckedProof(_proof_message(*row[2:]), bool(row[7]), row[0], row[1]) for row in rows]


@dataclass(frozen=True)
class RunProof:
    """The shortest verified proof, or disproof, of a theorem of a run."""

    theorem: Theorem
    """For a disproof, the negation. For a gap in a file, `place` has the command around it, without its context."""
    script: str
    lean_version: str
    proofs: int
    """Number of verified proofs (or disproofs) of the theorem."""
    disproof: bool


def shortest(path: Path) -> list[RunProof]:
    """A proof of each train theorem that has one, in the order in which they were first proved. Raises
    UnreadableRecords."""
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        place = "place" if version >= _PLACES_SINCE else "NULL"
        # SQLite takes the other columns from the row that has the minimum.
        rows = database.execute(
            f"SELECT theorem_id, binders, conclusion, theorems.header, {place}, disproof, script, lean_version,"
            " COUNT(*), MIN(LENGTH(script)) FROM proofs JOIN theorems USING (theorem_id) WHERE split = 'train'"
            " GROUP BY theorem_id, disproof ORDER BY MIN(proof_id)"
        ).fetchall()
    return [_shortest(*row[:-1]) for row in rows]


def _shortest(
    theorem_id: str, binders: str, conclusion: str, header: str, place: str | None, disproof: int, script: str,
    lean_version: str, proofs: int,
) -> RunProof:  # fmt: skip
    gap = json.loads(place) if place is not None else None
    command = Place(NO_CONTEXT, gap["before"], gap["after"]) if gap is not None else None
    theorem = Theorem(theorem_id, binders, conclusion, header, command)
    return RunProof(theorem.negation() if disproof else theorem, script, lean_version, proofs, bool(disproof))


@dataclass(frozen=True)
class RecordedProof:
    """A proof that a run has recorded as verified."""

    number: int
    """In the records, from 1."""
    name: str
    attempt_id: str
    """Empty for self-play, which may have found it several times."""
    theorem: Theorem
    """What it proves. For a disproof, the negation."""
    script: str
    header: str | None
    """The configured header when it was verified; None if the records do not tell."""


def recorded(folder: Path) -> list[RecordedProof]:
    """All verified proofs in the records of a run, of a learner or of self-play, in their order. Raises
    UnreadableRecords."""
    if (folder / SELF_PLAY).is_file():
        return _recorded_by_self_play(folder / SELF_PLAY)
    path = folder / DATABASE
    if not path.is_file():
        raise UnreadableRecords(f"{folder} is not the folder of a run (it has no {DATABASE}); name one, like runs/demo")
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        places = version >= _PLACES_SINCE
        rows = database.execute(
            "SELECT proof_id, theorem_id, attempt_id, binders, conclusion, theorems.header, disproof, script,"
            f" {'default_header' if version >= _HEADERS_SINCE else 'NULL'},"
            f" {'digest, packed, place' if places else 'NULL, NULL, NULL'},"
            f" {'rule' if version >= _RULES_SINCE else 'NULL'}"
            " FROM proofs JOIN theorems USING (theorem_id)"
            f"{' LEFT JOIN contexts ON digest = context' if places else ''} ORDER BY proof_id"
        ).fetchall()
    return [_recorded(*row) for row in rows]


def _recorded(
    number: int, theorem_id: str, attempt_id: str, binders: str, conclusion: str, own_header: str, disproof: int,
    script: str, header: str | None, digest: str | None, packed: bytes | None, place: str | None, written: str | None,
) -> RecordedProof:  # fmt: skip
    gap = Place(Context(digest, packed or b""), **json.loads(place)) if digest and place else None
    rule = msgspec.json.decode(written, type=TacticRule) if written is not None else None
    theorem = Theorem(theorem_id, binders, conclusion, own_header, gap, rule)
    proved = theorem.negation() if disproof else theorem
    return RecordedProof(number, theorem_id, attempt_id, proved, script, header)


def _recorded_by_self_play(path: Path) -> list[RecordedProof]:
    with reading(path) as database:
        rows = database.execute(
            "SELECT proof_id, name, binders, conclusion, header, script FROM proofs JOIN theorems USING (name)"
            " WHERE verified = 1 ORDER BY proof_id"
        ).fetchall()
    return [
        RecordedProof(number, name, "", Theorem(name, binders, conclusion, header), script, None)
        for number, name, binders, conclusion, header, script in rows
    ]


class ProofToLearn(NamedTuple):
    """A verified proof of a run, without those of evaluations."""

    theorem_id: str
    theorem: Theorem
    """What it proves. For a disproof, the negation. Without its place in a file."""
    script: str
    in_file: bool
    """The theorem is a gap in a file, so it does not stand by itself."""


def proofs_to_learn(path: Path) -> list[ProofToLearn]:
    """All proofs that a run may be learned from, in their order. Raises UnreadableRecords."""
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        rows = database.execute(
            "SELECT theorem_id, binders, conclusion, header, disproof, script,"
            f" {'place IS NOT NULL' if version >= _PLACES_SINCE else '0'}"
            " FROM proofs JOIN attempts USING (attempt_id, theorem_id) JOIN theorems USING (theorem_id)"
            " WHERE purpose != 'eval' ORDER BY proof_id"
        ).fetchall()
    found = []
    for name, binders, conclusion, header, disproof, script, in_file in rows:
        theorem = Theorem(name, binders, conclusion, header)
        found.append(ProofToLearn(name, theorem.negation() if disproof else theorem, script, bool(in_file)))
    return found


class StepToLearn(NamedTuple):
    """A recorded transition of a run, without those of evaluations."""

    theorem: Theorem
    state: str
    tactic: str
    remaining_steps: int


def steps_to_learn(path: Path) -> list[StepToLearn]:
    """All transitions of a run, in the order of recording. Raises UnreadableRecords."""
    with reading(path) as database:
        rows = database.execute(
            "SELECT theorem_id, binders, conclusion, header, state, tactic, remaining_steps"
            " FROM transitions JOIN attempts USING (attempt_id) JOIN theorems USING (theorem_id)"
            " WHERE purpose != 'eval' ORDER BY transition_id"
        ).fetchall()
    return [StepToLearn(Theorem(*row[:4]), *row[4:]) for row in rows]


class ReplayRow(NamedTuple):
    """A recorded transition, and where it came from."""

    number: int
    state: str
    tactic: str
    remaining_steps: int
    weight: float
    theorem_id: str
    attempt_id: str
    purpose: str
    recorded: float
    """Unix time."""
    found_at: int | None
    """Training step of the weights that found it; None: not known."""


_WEIGHTS_SINCE = 9
"""Schema version from which transitions have weights."""


def replay_rows(path: Path, after: int = 0) -> Iterator[ReplayRow]:
    """Everything that a replay buffer is made of, in the order of recording: transitions with numbers above `after`.
    Raises UnreadableRecords."""
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        if version < _WEIGHTS_SINCE:
            raise UnreadableRecords(f"{path}: an earlier version of proofmesh wrote it; resume the run once to upgrade")
        rows = database.execute(
            "SELECT transition_id, state, tactic, remaining_steps, weight, theorem_id, attempt_id, purpose, recorded,"
            " step FROM transitions JOIN results USING (attempt_id) JOIN attempts USING (attempt_id)"
            " LEFT JOIN weights ON version = weights_last WHERE transition_id > ? ORDER BY transition_id",
            (after,),
        )
        yield from map(ReplayRow._make, rows)


def replay_numbers(path: Path, text: str) -> set[int]:
    """The numbers of the transitions whose state or tactic contains a text; of a run's records, or of a file of
    supervised transitions. Raises UnreadableRecords."""
    with reading(path) as database:
        rows = database.execute(
            "SELECT transition_id FROM transitions WHERE INSTR(state, ?) OR INSTR(tactic, ?)", (text, text)
        ).fetchall()
    return {row[0] for row in rows}


class WeightsRecord(NamedTuple):
    """A version of the weights that the run has published."""

    version: int
    step: int
    """Training step."""
    digest: str
    created: float
    """Unix time."""


def read_weights(path: Path, limit: int) -> tuple[int, list[WeightsRecord]]:
    """The number of versions of the weights, and the newest, the newest first. Raises UnreadableRecords."""
    with reading(path) as database:
        total: int = database.execute("SELECT COUNT(*) FROM weights").fetchone()[0]
        rows = database.execute(
            "SELECT version, step, digest, created FROM weights ORDER BY version DESC LIMIT ?", (limit,)
        ).fetchall()
    return total, [WeightsRecord(*row) for row in rows]


def results_by_weights(path: Path, after: int) -> tuple[int, list[tuple[int, int, int]]]:
    """Of the results that were recorded after result number `after` (0: all): the number of the last one, and for each
    version of the weights that searches ended with, how many ended and how many proved. Raises UnreadableRecords."""
    with reading(path) as database:
        rows = database.execute(
            "SELECT weights_last, COUNT(*), SUM(outcome = 'proved'), MAX(rowid) FROM results WHERE rowid > ?"
            " GROUP BY weights_last",
            (after,),
        ).fetchall()
    return max([after, *(row[3] for row in rows)]), [(row[0], row[1], row[2]) for row in rows]


def results(path: Path) -> list[tuple[str, str, float]]:
    """(attempt, outcome, Unix time of recording) of every result, also while the learner creates the file; none without
    it."""
    return [(row[0], row[1], row[2]) for row in _live(path, "SELECT attempt_id, outcome, recorded FROM results")]


def outstanding(path: Path) -> set[str]:
    """Ids of the attempts without a result, also while the learner creates the file."""
    return {row[0] for row in _live(path, "SELECT attempt_id FROM outbox")}


def _live(path: Path, query: str) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)) as database:
        try:
            return database.execute(query).fetchall()
        except sqlite3.OperationalError:  # the learner is creating the tables
            return []


CACHE_KB = 65536
"""What a reader keeps of a file: a join of 100,000 theorems reads pages again and again, and takes half the time."""


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The records of a run, opened read-only. Raises UnreadableRecords, also for SQLite errors inside the block."""
    # A database that no process has open has no -wal file. `immutable` then also allows a read-only folder.
    finished = not path.with_name(f"{path.name}-wal").exists()
    mode = "immutable=1" if finished else "mode=ro"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as database:
            database.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            yield database
    except sqlite3.Error as error:
        raise UnreadableRecords(f"{path}: {error}") from error


def _proof_message(
    theorem_id: str,
    attempt_id: str,
    purpose: str,
    recorded: float,
    simulations: int,
    disproof: int,
    script: str,
    binders: str,
    conclusion: str,
    place: str | None,
) -> ProofFound:
    theorem = Theorem(theorem_id, binders, conclusion)
    tactics = textwrap.indent(textwrap.dedent(script).strip("\n"), "  ")
    if place is None or disproof:
        lean = f"{(theorem.negation() if disproof else theorem).signature} := by\n{tactics}"
    else:  # only the command itself, for people to read; the file above it is left out
        gap = json.loads(place)
        lean = f"{gap['before'].rstrip()}\n{tactics}{gap['after'].rstrip()}"
    return ProofFound(
        theorem_id=theorem_id,
        attempt_id=attempt_id,
        purpose=purpose,
        time=recorded,
        lean=lean,
        simulations=simulations,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Statistics of the train theorems.

STATISTICS_SINCE = 6
"""Schema version from which records have statistics of theorems."""


class Order(enum.StrEnum):
    """The order of the theorems."""

    HARDEST = "hardest"
    """Undecided theorems first, those with most failures at the top."""
    TRIED = "tried"
    """Theorems with most attempts first."""
    COST = "cost"
    """Theorems with most expansions first."""
    SHORTEST = "shortest"
    """Theorems with a short proof first."""
    NAME = "name"


_ORDERS = {
    Order.HARDEST: "proofs > 0 OR disproved OR refused, failures DESC, expansions DESC, ",
    Order.TRIED: "attempts DESC, expansions DESC, ",
    Order.COST: "expansions DESC, attempts DESC, ",
    Order.SHORTEST: "shortest IS NULL, shortest, ",
    Order.NAME: "",
}


class TheoremResult(enum.StrEnum):
    """What is known of a theorem."""

    OPEN = "open"
    """Tried, and neither proved nor disproved."""
    PROVED = "proved"
    DISPROVED = "disproved"
    REFUSED = "refused"
    """Lean does not accept the statement."""
    UNTRIED = "untried"
    """It has no result."""


_RESULTS = {
    TheoremResult.OPEN: "tried AND NOT (proofs > 0 OR disproved OR refused)",
    TheoremResult.PROVED: "proofs > 0 AND NOT (disproved OR refused)",
    TheoremResult.DISPROVED: "disproved AND NOT refused",
    TheoremResult.REFUSED: "refused",
    TheoremResult.UNTRIED: "NOT tried",
}


@dataclass(frozen=True)
class Wanted:
    """Which theorems of a run."""

    text: str = ""
    """In the name, the family or the statement."""
    result: TheoremResult | None = None
    family: str = ""
    """Empty: of all."""
    level: int | None = None
    """None: of all."""
    untried: bool = False
    """Also those without a result."""
    test: bool = False
    """Test theorems in place of train ones; their attempts are those of evaluations."""


@dataclass(frozen=True)
class TheoremRecord:
    """A theorem. Without a result, all counts are 0."""

    theorem_id: str
    family: str
    level: int
    binders: str
    conclusion: str
    attempts: int
    """Decided attempts to prove or to disprove it."""
    failures: int
    tries: int
    """Decided attempts to prove it."""
    proofs: int
    """Tries that proved it."""
    disproved: bool
    refused: bool
    """Lean does not accept the statement."""
    in_a_row: int
    shortest: int | None
    """Tactics on the longest branch of the shortest proof."""
    last_budget: int
    """Simulations of the last attempt."""
    last_weights: int
    expansions: int
    lean_attempts: int
    tried: bool
    """It has a result."""

    @property
    def known(self) -> TheoremResult:
        """What is known of it."""
        if self.refused:
            return TheoremResult.REFUSED
        if self.disproved:
            return TheoremResult.DISPROVED
        if self.proofs:
            return TheoremResult.PROVED
        return TheoremResult.OPEN if self.tried else TheoremResult.UNTRIED

    @property
    def result(self) -> str:
        """The result in a few words."""
        if self.known is TheoremResult.REFUSED:
            return "refused by Lean"
        return f"proved {self.proofs} of {self.tries}" if self.known is TheoremResult.PROVED else str(self.known)


@dataclass(frozen=True)
class Level:
    """The train theorems of one level."""

    level: int
    theorems: int
    tried: int
    """Theorems with a decided attempt."""
    proved: int
    disproved: int
    refused: int
    attempts: int
    failures: int
    expansions: int


ALL_THEOREMS = Wanted()


def read_theorems(
    path: Path, limit: int, order: Order, wanted: Wanted = ALL_THEOREMS, offset: int = 0
) -> list[TheoremRecord]:
    """The first theorems by `order` after `offset` others. Raises UnreadableRecords."""
    return _theorems(path, limit, order, wanted, offset, "0")[0]


def find_theorems(
    path: Path, limit: int, order: Order, wanted: Wanted, offset: int = 0
) -> tuple[list[TheoremRecord], int | None]:
    """The same, and how many there are in all, which costs no second look at each statement; None if there are not more
    than `offset`. Raises UnreadableRecords."""
    return _theorems(path, limit, order, wanted, offset, "COUNT(*) OVER ()")


def _theorems(
    path: Path, limit: int, order: Order, wanted: Wanted, offset: int, total: str
) -> tuple[list[TheoremRecord], int | None]:
    chosen, values = _chosen(wanted)
    values |= {"limit": limit, "offset": offset}
    with _with_statistics(path) as database:
        # Only names are sorted: statements would take most of the time.
        names = database.execute(
            f"SELECT theorem_id, {total} {chosen} ORDER BY {_ORDERS[order]}theorem_id LIMIT :limit OFFSET :offset",
            values,
        ).fetchall()
        query = f"SELECT {_RECORD} FROM {_with_tries(wanted.test, one=True)} WHERE theorem_id = :theorem"
        rows = [_theorem_record(database.execute(query, {"theorem": name}).fetchone()) for name, _ in names]
        return rows, names[0][1] if names else None


@dataclass(frozen=True)
class TheoremGroup:
    """The train theorems of one family and level of which the same is known."""

    family: str
    level: int
    known: TheoremResult
    theorems: int
    attempts: int
    failures: int
    expansions: int


def read_groups(path: Path) -> list[TheoremGroup]:
    """All groups of train theorems; together they have every train theorem once. Raises UnreadableRecords."""
    known = " ".join(f"WHEN {condition} THEN '{result}'" for result, condition in _RESULTS.items())
    with _with_statistics(path) as database:
        rows = database.execute(
            f"SELECT family, level, CASE {known} END AS known, COUNT(*), SUM(attempts), SUM(failures), SUM(expansions)"
            f" FROM {_with_tries(test=False)} GROUP BY family, level, known ORDER BY family, level, known"
        ).fetchall()
    return [TheoremGroup(family, level, TheoremResult(known), *counts) for family, level, known, *counts in rows]


def read_levels(path: Path) -> list[Level]:
    """The run's levels. Raises UnreadableRecords."""
    with _with_statistics(path) as database:
        return _levels(database)


def read_theorem(path: Path, theorem_id: str) -> tuple[TheoremRecord, Theorem] | None:
    """A theorem of the run by its name, with what is known of it; its place in a file is without what stands above.
    None: the run has none of that name. Raises UnreadableRecords."""
    with _with_statistics(path) as database:
        place = "place" if database.execute("PRAGMA user_version").fetchone()[0] >= _PLACES_SINCE else "NULL"
        row = database.execute(
            f"SELECT split, header, {place} FROM theorems WHERE theorem_id = ?", (theorem_id,)
        ).fetchone()
        if row is None:
            return None
        split, header, gap = row
        columns = f"SELECT {_RECORD} FROM {_with_tries(split == 'test', one=True)} WHERE theorem_id = :theorem"
        record = _theorem_record(database.execute(columns, {"theorem": theorem_id}).fetchone())
        at = json.loads(gap) if gap is not None else None
        place_of = Place(NO_CONTEXT, at["before"], at["after"]) if at is not None else None
        return record, Theorem(theorem_id, record.binders, record.conclusion, header, place_of)


@contextmanager
def _with_statistics(path: Path) -> Iterator[sqlite3.Connection]:
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        if version < STATISTICS_SINCE:
            raise UnreadableRecords(
                f"{path}: an earlier version of proofmesh wrote it, without statistics of theorems; resume the run "
                "once to add them"
            )
        yield database


def _levels(database: sqlite3.Connection) -> list[Level]:
    rows = database.execute(
        "SELECT level, COUNT(*), COALESCE(SUM(attempts > 0), 0), COALESCE(SUM(proofs > 0), 0),"
        " COALESCE(SUM(disproved), 0), COALESCE(SUM(refused), 0), COALESCE(SUM(attempts), 0),"
        " COALESCE(SUM(failures), 0), COALESCE(SUM(expansions), 0)"
        " FROM theorems LEFT JOIN theorem_statistics USING (theorem_id) WHERE split = 'train'"
        " GROUP BY level ORDER BY level"
    )
    return [Level(*row) for row in rows]


_NUMBERS = (
    *("attempts", "failures", "tries", "proofs", "disproved", "refused", "in_a_row"),
    *("last_budget", "last_weights", "expansions", "lean_attempts"),
)

_RECORD = "theorem_id, family, level, binders, conclusion, shortest, tried" + "".join(f", {each}" for each in _NUMBERS)


def _with_tries(test: bool, *, one: bool = False, inner: bool = False) -> str:
    """Theorems with what is known of them. `inner`: those with a result. `one`: no other than :theorem is read."""
    known = "theorem_statistics"
    if test:  # evaluations keep no statistics
        known = (
            "(SELECT theorem_id, SUM(outcome IN ('proved', 'failed', 'rejected')) AS attempts,"
            " SUM(outcome IN ('failed', 'rejected')) AS failures, SUM(outcome IN ('proved', 'failed', 'rejected'))"
            " AS tries, SUM(outcome = 'proved') AS proofs, 0 AS disproved, MAX(outcome = 'bad-statement') AS refused,"
            " 0 AS in_a_row, NULL AS shortest, attempts.simulations AS last_budget, weights_last AS last_weights,"
            " SUM(expansions) AS expansions, SUM(lean_attempts) AS lean_attempts, MAX(number)"
            " FROM attempts JOIN results USING (attempt_id) WHERE evaluation_id IS NOT NULL"
            f"{' AND theorem_id = :theorem' if one else ''} GROUP BY theorem_id)"
        )
    numbers = ", ".join(f"COALESCE(known.{each}, 0) AS {each}" for each in _NUMBERS)
    join = "JOIN" if inner else "LEFT JOIN"
    return (
        f"(SELECT theorems.theorem_id, family, level, binders, conclusion, known.shortest,"
        f" known.theorem_id IS NOT NULL AS tried, {numbers} FROM theorems {join} {known} AS known USING (theorem_id)"
        f" WHERE split = '{'test' if test else 'train'}')"
    )


def _theorem_record(row: tuple[Any, ...]) -> TheoremRecord:
    theorem_id, family, level, binders, conclusion, shortest, tried, *numbers = row
    known = dict(zip(_NUMBERS, numbers, strict=True))
    known |= {name: bool(known[name]) for name in ("disproved", "refused")}  # SQLite has no booleans
    return TheoremRecord(theorem_id, family, level, binders, conclusion, shortest=shortest, tried=bool(tried), **known)


def _chosen(wanted: Wanted) -> tuple[str, dict[str, str | int]]:
    """Theorems as SQL, from FROM on, and its values."""
    where, values = ["1"], dict[str, str | int]()
    if wanted.text:
        where.append("INSTR(theorem_id || ' ' || family || ' ' || binders || ' : ' || conclusion, :text)")
        values["text"] = wanted.text
    if wanted.result is not None:
        where.append(_RESULTS[wanted.result])
    if wanted.family:
        where.append("family = :family")
        values["family"] = wanted.family
    if wanted.level is not None:
        where.append("level = :level")
        values["level"] = wanted.level
    untried = wanted.untried or wanted.result is TheoremResult.UNTRIED
    return f"FROM {_with_tries(wanted.test, inner=not untried)} WHERE {' AND '.join(where)}", values


# ----------------------------------------------------------------------------------------------------------------------
# Attempts, and tactics of proofs.


@dataclass(frozen=True)
class AttemptRecord:
    """A dispatched attempt, with its result if there is one."""

    number: int
    """Counts up over the run."""
    attempt_id: str
    theorem_id: str
    purpose: str
    outcome: str
    """`outstanding` without a result."""
    budget: int
    """Simulations that it may spend."""
    simulations: int | None
    """None here and below: there is no result."""
    expansions: int | None
    lean_attempts: int | None
    """Tactics that were sent to Lean."""
    tactics_failed: int | None
    seconds: float | None
    """Of the search; those of policy and Lean are summed over expansions, which overlap."""
    seconds_policy: float | None
    seconds_lean: float | None
    weights: int | None
    """Version at its end; 0: none."""
    prover_id: str | None
    created: float
    """Unix time, as is `recorded`."""
    recorded: float | None
    message: str | None
    parts: Parts | None
    """Where the time from `created` to `recorded` went; None also if an earlier version or prover recorded it."""

    @property
    def total(self) -> float | None:
        """Seconds from `created` to `recorded`."""
        return None if self.recorded is None else self.recorded - self.created

    @property
    def largest(self) -> tuple[str, float] | None:
        """The name of the part that took most of it, and its seconds."""
        return max(asdict(self.parts).items(), key=lambda part: part[1]) if self.parts is not None else None


@dataclass(frozen=True)
class WantedAttempts:
    """Which attempts of a run; empty: all."""

    text: str = ""
    """In the id, the theorem's name, the purpose, the outcome, the prover or the message."""
    beginning: str = ""
    """Of the id."""
    outcome: str = ""
    purpose: str = ""
    theorem: str = ""

    def condition(self) -> tuple[str, dict[str, str]]:
        """As SQL, and its values."""
        values = {name: text for name, text in asdict(self).items() if text}
        conditions = [_ATTEMPTS[name] for name in values]
        if self.outcome == OUTSTANDING:
            conditions[[*values].index("outcome")] = "attempt_id IN (SELECT attempt_id FROM outbox) AND :outcome != ''"
        return " AND ".join(conditions) or "1", values


OUTSTANDING = "outstanding"
"""In place of an outcome: there is no result."""

_ATTEMPTS = {
    # Results are scanned once: to look up that of each attempt takes three times as long.
    "text": "(INSTR(attempt_id, :text) OR INSTR(theorem_id, :text) OR INSTR(purpose, :text) OR attempt_id IN (SELECT"
    " attempt_id FROM results WHERE INSTR(outcome, :text) OR INSTR(prover_id, :text) OR INSTR(message, :text))"
    f" OR INSTR('{OUTSTANDING}', :text) AND attempt_id IN (SELECT attempt_id FROM outbox))",
    "beginning": "attempt_id BETWEEN :beginning AND :beginning || CHAR(1114111)",
    "outcome": "attempt_id IN (SELECT attempt_id FROM results WHERE outcome = :outcome)",
    "purpose": "purpose = :purpose",
    "theorem": "theorem_id = :theorem",
}

ALL_ATTEMPTS = WantedAttempts()


def read_attempts(path: Path, limit: int, wanted: WantedAttempts = ALL_ATTEMPTS) -> list[AttemptRecord]:
    """The newest attempts; first the one whose id is `wanted.beginning`. Raises UnreadableRecords."""
    return find_attempts(path, limit, wanted, most=limit)[0]


def find_attempts(
    path: Path, limit: int, wanted: WantedAttempts = ALL_ATTEMPTS, offset: int = 0, most: int = 0
) -> tuple[list[AttemptRecord], int]:
    """The newest attempts after `offset` others, and how many there are: of those with a text or an outcome, at most
    `most` beyond the first of them are counted. Raises UnreadableRecords."""
    where, values = wanted.condition()
    exact = "attempt_id = :beginning DESC, " if wanted.beginning else ""
    whole = not (wanted.text or wanted.outcome)
    read = max(limit, 0 if whole else most)
    with _with_statistics(path) as database:
        numbers = database.execute(
            f"SELECT number FROM attempts WHERE {where} ORDER BY {exact}number DESC LIMIT :limit OFFSET :offset",
            {**values, "limit": read, "offset": offset},
        ).fetchall()
        total = offset + len(numbers)
        if (whole and len(numbers) == read) or (offset and not numbers):
            total = database.execute(f"SELECT COUNT(*) FROM attempts WHERE {where}", values).fetchone()[0]
        return _attempts(database, [number for (number,) in numbers[:limit]]), total


def _attempts(database: sqlite3.Connection, numbers: list[int]) -> list[AttemptRecord]:
    names = [each.name for each in fields(Parts)]
    known = database.execute("PRAGMA user_version").fetchone()[0] >= TIMELINES_SINCE
    parts = ", ".join(f"timelines.{name}" if known else "NULL" for name in names)
    rows = database.execute(
        f"SELECT number, attempt_id, theorem_id, purpose, COALESCE(outcome, '{OUTSTANDING}') AS outcome,"
        " attempts.simulations, results.simulations, expansions, lean_attempts, tactics_failed, seconds,"
        f" seconds_policy, seconds_lean, weights_last, prover_id, created, recorded, message, {parts}"
        " FROM json_each(:numbers) AS chosen CROSS JOIN attempts ON number = chosen.value"
        " LEFT JOIN results USING (attempt_id)"
        + (" LEFT JOIN timelines USING (attempt_id)" if known else "")
        + " ORDER BY chosen.key",
        {"numbers": json.dumps(numbers)},
    ).fetchall()
    own = len(fields(AttemptRecord)) - 1
    return [AttemptRecord(*(*row[:own], Parts(*row[own:]) if row[-1] is not None else None)) for row in rows]


@dataclass(frozen=True)
class EvaluatedStatement:
    """A statement of a run's evaluation, with its latest attempt."""

    theorem_id: str
    family: str
    level: int
    attempt_id: str
    outcome: str
    """`outstanding` without a result."""
    simulations: int | None
    seconds: float | None
    message: str


def evaluated_statements(path: Path, label: str) -> list[EvaluatedStatement]:
    """The statements of the evaluation with this label, by name; none if there is no such evaluation. Raises
    UnreadableRecords."""
    with reading(path) as database:
        rows = database.execute(
            "SELECT theorem_id, family, level, attempt_id, COALESCE(outcome, 'outstanding'), results.simulations,"
            " seconds, COALESCE(message, ''), MAX(number) FROM evaluations JOIN attempts USING (evaluation_id)"
            " JOIN theorems USING (theorem_id) LEFT JOIN results USING (attempt_id) WHERE label = ?"
            " GROUP BY theorem_id ORDER BY theorem_id",
            (label,),
        ).fetchall()
    return [EvaluatedStatement(*row[:-1]) for row in rows]


def read_statement(path: Path, theorem_id: str) -> Theorem:
    """A theorem of the run, without its place in a file. Raises UnreadableRecords."""
    with reading(path) as database:
        row = database.execute(
            "SELECT theorem_id, binders, conclusion, header FROM theorems WHERE theorem_id = ?", (theorem_id,)
        ).fetchone()
    return Theorem(*row)


@dataclass(frozen=True)
class TacticRecord:
    """The recorded tactics with the same first word."""

    head: str
    uses: int
    """Steps of verified proofs."""
    theorems: int
    example: str
    """The most frequent one."""


def read_tactics(
    path: Path, limit: int, containing: str = "", *, first_word: Callable[[str], str]
) -> list[TacticRecord]:
    """The first words of recorded tactics that contain a text, the most used first. Raises UnreadableRecords."""
    uses: dict[str, Counter[str]] = defaultdict(Counter)
    theorems: dict[str, set[str]] = defaultdict(set)

    def head(tactic: str) -> str:
        return first_word(tactic) or tactic.strip()

    for row in replay_rows(path):
        if row.tactic and containing in row.tactic:
            uses[head(row.tactic)][row.tactic] += 1
            theorems[head(row.tactic)].add(row.theorem_id)
    heads = sorted(uses, key=lambda each: (-uses[each].total(), each))
    frequent = {each: next((tactic for tactic, _ in uses[each].most_common(1)), "") for each in heads[:limit]}
    return [TacticRecord(each, uses[each].total(), len(theorems[each]), frequent[each]) for each in frequent]
