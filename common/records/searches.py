"""Searches that are kept: their trees in a form that travels with a result, and the file of a run that has them.

A prover packs the trees of an attempt that asks for it (`Attempt.keep_search`); nobody unpacks them until a person
looks. They lie in `searches.sqlite`, beside the records: losing them loses no result. docs/operations.md says how other
programs read them.
"""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import msgspec

from common.limits import MOST_CANDIDATES, MOST_LISTED
from common.output.command import UserError
from common.protocol.attempts import MOST_PACKED, Attempt, AttemptOutcome, AttemptResult, AttemptStatistics
from common.records.database import Advice, Database

FILE = "searches.sqlite"

MOST_UNPACKED = 64 * 2**20
"""Most bytes of unpacked trees, fifty times what trees of 1,000 expansions have."""

MOST_STATES = 1_000_000

LONGEST_MESSAGES = (2000, 200, 40, 0)
"""Most characters of Lean's messages. Trees that are too large get the next length, and lose failed tactics at last."""


class TakenTactic(msgspec.Struct, frozen=True):
    """A legal tactic of a state."""

    tactic: str
    prior: float
    """Its normalised prior."""
    visits: int
    value: float | None
    """Mean value: minus the remaining tactics, this one included. None: never visited."""
    children: Annotated[tuple[int, ...], msgspec.Meta(max_length=MOST_LISTED)]
    """The states that it leaves to be proved; empty: it closes the state."""
    steps: int | None = None
    """Length of the longest branch of the shortest known proof through it."""
    dead: bool = False
    """True if one of its states cannot be proved with the policy's tactics."""


class FailedTactic(msgspec.Struct, frozen=True):
    """A tactic that failed, or that the search ignores."""

    tactic: str
    kind: str
    """An outcome's kind, `useless` (it changed nothing or led back), or `same` (as another tactic)."""
    message: str
    """Lean's message."""


class SearchState(msgspec.Struct, frozen=True):
    """A state of a search."""

    id: int
    """Its place in the list of states. That of `parent` is smaller."""
    state: str
    depth: int
    visits: int
    value: float
    """Mean value: minus the remaining tactics. Exact once a proof is known."""
    expansions: int
    parent: int | None
    """The state from which it was first reached."""
    tactic: str = ""
    """The tactic that led from the parent to this state."""
    steps: int | None = None
    """Length of the longest branch of its shortest known proof."""
    dead: bool = False
    best: int | None = None
    """Index of the first tactic of that proof."""
    tactics: Annotated[tuple[TakenTactic, ...], msgspec.Meta(max_length=MOST_STATES)] = ()
    """Sorted by decreasing prior."""
    failed: Annotated[tuple[FailedTactic, ...], msgspec.Meta(max_length=MOST_STATES)] = ()
    estimate: float | None = None
    """V of the network at its first expansion; None: it gave none."""
    at: float | None = None
    """Seconds from the beginning of the search to the end of its first expansion; None: not expanded."""
    policy_seconds: float = 0.0
    """Waiting for the policy, summed over its expansions."""
    lean_seconds: float = 0.0


class SearchTree(msgspec.Struct, frozen=True):
    """One tree. An attempt may have several, with different policies, or for the negation of its theorem."""

    theorem: str
    simulations: int
    tactics_tried: int
    tactics_failed: int
    states: Annotated[tuple[SearchState, ...], msgspec.Meta(min_length=1, max_length=MOST_STATES)]


Trees = Annotated[tuple[SearchTree, ...], msgspec.Meta(max_length=MOST_CANDIDATES)]


# --- packed -----------------------------------------------------------------------------------------------------------


def packed(trees: Iterable[SearchTree], most: int = MOST_PACKED) -> bytes:
    """The trees as msgpack, compressed by zlib: at most `most` bytes. Empty if they are larger without Lean's
    messages and failed tactics, too."""
    trees = tuple(trees)
    for longest in LONGEST_MESSAGES:
        shorter = tuple(_shortened(tree, longest) for tree in trees)
        written = msgspec.msgpack.encode(shorter)
        if len(written) <= MOST_UNPACKED and len(found := zlib.compress(written)) <= most:
            return found
    return b""


def _shortened(tree: SearchTree, longest: int) -> SearchTree:
    """The tree with messages of at most so many characters; with 0, without failed tactics."""

    def cut(failed: FailedTactic) -> FailedTactic:
        message = failed.message
        return failed if len(message) <= longest else msgspec.structs.replace(failed, message=f"{message[:longest]}…")

    replace = msgspec.structs.replace
    states = tuple(
        replace(each, failed=tuple(map(cut, each.failed)) if longest else ()) if each.failed else each
        for each in tree.states
    )
    return replace(tree, states=states)


class BadSearch(UserError, ValueError):
    """A kept search cannot be read. The message says which, and why."""


def unpacked(name: str, packed: bytes) -> tuple[SearchTree, ...]:
    """The trees of a kept search, which a prover may have made up. `name`: for errors. Raises BadSearch."""
    unpacker = zlib.decompressobj()
    try:
        written = unpacker.decompress(packed, MOST_UNPACKED)
        if unpacker.unconsumed_tail:
            raise BadSearch(f"{name}: the search has more than {MOST_UNPACKED // 2**20} MiB")
        trees = msgspec.msgpack.decode(written, type=Trees)
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadSearch(f"{name}: the search cannot be read: {error}") from error
    for tree in trees:
        check_places(name, tree)
    return trees


def check_places(name: str, tree: SearchTree) -> None:
    """Check that the states of a tree name states and tactics of the tree only. Raises BadSearch."""
    count = len(tree.states)
    for place, state in enumerate(tree.states):
        fits = (
            state.id == place
            and (state.parent is None or 0 <= state.parent < place)
            and (state.best is None or 0 <= state.best < len(state.tactics))
            and all(0 <= child < count for taken in state.tactics for child in taken.children)
        )
        if not fits:
            raise BadSearch(f"{name}: the search cannot be read: state {place} names something that the tree lacks")


# --- the file ---------------------------------------------------------------------------------------------------------

_INITIAL = """
CREATE TABLE searches (
    number INTEGER PRIMARY KEY,       -- counts up, in the order of recording
    attempt_id TEXT NOT NULL UNIQUE,
    theorem_id TEXT NOT NULL,
    purpose TEXT NOT NULL,
    outcome TEXT NOT NULL,
    recorded REAL NOT NULL,           -- Unix time
    interest REAL NOT NULL,           -- 0 to 1 (`common.records.searches.interest`)
    bytes INTEGER NOT NULL,
    trees BLOB NOT NULL               -- msgpack of a list of `SearchTree`, compressed by zlib
) STRICT;
CREATE INDEX searches_by_interest ON searches (interest, number, bytes);  -- all that keeping one reads
CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""

_ADVICE = Advice(
    BadSearch,
    cannot="cannot be used",
    kept="Results are safe",
    damaged="the file of kept searches is damaged: delete it, no result is in it",
    denied="make it writable for this user",
    newer="delete it: no result is in it",
)


def interest(outcome: str, statistics: AttemptStatistics, budget: int, left: float) -> float:
    """How much there is to see in a search, from 0 to 1: its share of the budget if it found a proof, 1 / (tactics
    that were missing, as estimated) if it found none. So proofs that came late and near misses come first."""
    if outcome == AttemptOutcome.PROVED:
        spent = statistics.solved_at_simulations or statistics.simulations
        return min(1.0, spent / max(1, budget or statistics.simulations))
    return 1.0 / max(1.0, left) if AttemptOutcome(outcome).decided else 0.0


class KeptSearches(Database):
    """The kept searches of a run or an evaluation, of at most so many bytes. Raises BadSearch."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        super().__init__(folder / FILE, (_INITIAL,), _ADVICE)
        self._most = most_bytes

    def keep(self, attempt: Attempt, result: AttemptResult, outcome: str) -> None:
        """Keep the search of a result, if it has one that the attempt asked for. The least interesting searches go
        where there is no room, the oldest of them first. `outcome`: after verification."""
        kept = result.search
        if kept is None or not attempt.keep_search or not kept.trees:
            return
        rank = interest(outcome, result.statistics, attempt.simulations, kept.left)
        size = len(kept.trees)
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO searches (attempt_id, theorem_id, purpose, outcome, recorded, interest, bytes,"
                " trees) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(attempt.attempt_id, attempt.theorem_id, attempt.purpose, outcome),
                    *(time.time(), rank, size, kept.trees),
                ),
            )
            over = db.execute("SELECT SUM(bytes) FROM searches").fetchone()[0] - self._most
            db.executemany("DELETE FROM searches WHERE number = ?", _leaving(db, over))


def _leaving(db: sqlite3.Connection, over: int) -> list[tuple[int]]:
    """The searches that make room for so many bytes."""
    leaving: list[tuple[int]] = []
    for number, size in db.execute("SELECT number, bytes FROM searches ORDER BY interest, number"):
        if over <= 0:
            break
        leaving.append((number,))
        over -= size
    return leaving


@dataclass(frozen=True)
class KeptRow:
    """A kept search, without its trees."""

    attempt_id: str
    theorem_id: str
    purpose: str
    outcome: str
    recorded: float
    interest: float
    bytes: int


_CONTAINING = "INSTR(attempt_id || ' ' || theorem_id || ' ' || purpose || ' ' || outcome, :text)"


def kept_rows(
    folder: Path, limit: int, containing: str = "", *, offset: int = 0, outcome: str = "", newest: bool = False
) -> list[KeptRow]:
    """The kept searches of a run or an evaluation after `offset` others, the most interesting or the newest first.
    Raises BadSearch."""
    columns = ", ".join(each.name for each in fields(KeptRow))
    with _reading(folder) as db:
        rows = db.execute(
            f"SELECT {columns} FROM searches WHERE {_CONTAINING} AND :outcome IN ('', outcome)"
            f" ORDER BY {'' if newest else 'interest DESC, '}number DESC LIMIT :limit OFFSET :offset",
            {"text": containing, "outcome": outcome, "limit": limit, "offset": offset},
        ).fetchall()
    return [KeptRow(*row) for row in rows]


def count_kept(folder: Path, containing: str = "", outcome: str = "") -> int:
    """How many kept searches these are. Raises BadSearch."""
    query = f"SELECT COUNT(*) FROM searches WHERE {_CONTAINING} AND :outcome IN ('', outcome)"
    with _reading(folder) as db:
        return int(db.execute(query, {"text": containing, "outcome": outcome}).fetchone()[0])


def kept_of(folder: Path, attempt_ids: Iterable[str]) -> dict[str, float]:
    """Which of these attempts have a kept search, and when it was recorded; none if the folder keeps none. Raises
    BadSearch."""
    if not (folder / FILE).exists():
        return {}
    ids = msgspec.json.encode([*attempt_ids]).decode()
    with _reading(folder) as db:
        query = "SELECT attempt_id, recorded FROM searches WHERE attempt_id IN (SELECT value FROM json_each(?))"
        return {row[0]: row[1] for row in db.execute(query, (ids,))}


def kept_search(folder: Path, name: str) -> tuple[KeptRow, Sequence[SearchTree]]:
    """The search of an attempt, or the newest one of a theorem, by its id or the beginning of it. Raises BadSearch."""
    columns = ", ".join(each.name for each in fields(KeptRow))
    with _reading(folder) as db:
        row = db.execute(
            f"SELECT {columns}, trees FROM searches WHERE attempt_id = :name OR theorem_id = :name"
            " OR SUBSTR(attempt_id, 1, LENGTH(:name)) = :name"
            " ORDER BY attempt_id = :name DESC, theorem_id = :name DESC, number DESC LIMIT 1",
            {"name": name},
        ).fetchone()
    if row is None:
        raise BadSearch(f"{folder}: no search of {name!r} is kept; --searches 20 lists those that are")
    return KeptRow(*row[:-1]), unpacked(name, row[-1])


@contextmanager
def _reading(folder: Path) -> Iterator[sqlite3.Connection]:
    from common.records.readers import UnreadableRecords, reading

    path = folder / FILE
    if not path.exists():
        raise BadSearch(f"{folder}: no searches are kept; [learner] keep_searches says how many are")
    try:
        with reading(path) as db:
            yield db
    except UnreadableRecords as error:
        raise BadSearch(str(error)) from error
