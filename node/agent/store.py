"""agent.sqlite: repositories, theorems, gaps, attempts, and finished stages."""

from __future__ import annotations

import enum
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from common.life import faults
from common.records import database
from node.agent.settings import AgentError


class Phase(enum.StrEnum):
    """The phase in which gaps are searched."""

    BASELINE = "baseline"
    """With only the list of tactics, before any training."""
    NETWORK = "network"
    """With the network that was just trained on the repository."""
    LAST = "last"
    """With the last network, for gaps that are still open."""


@dataclass(frozen=True)
class Repository:
    """A commit of a repository."""

    number: int
    name: str
    """Unique within the agent; also the name of its subfolder."""
    source: str
    """The folder, or the URL without credentials."""
    commit: str
    root: Path
    own: bool
    """True for a folder of the user, False for a clone of the agent."""
    lean: str = ""
    place: int | None = None
    """Its position in the curriculum, from 1."""


@dataclass(frozen=True)
class TheoremRow:
    """A declaration with tactic blocks."""

    path: str
    line: int
    name: str
    kind: str
    statement: str
    proof: str
    steps: int
    difficulty: float | None
    """e^steps; None without a proof."""
    problem: str
    category: str = ""
    held_out: bool = False
    number: int = 0


@dataclass(frozen=True)
class FileRow:
    """A file of a repository."""

    path: str
    digest: str
    error: str = ""


@dataclass(frozen=True)
class Attempt:
    """A search for one gap."""

    path: str
    line: int
    column: int
    name: str
    goal: str
    state: str
    """`node.proving.fill.GapState`."""
    reason: str
    script: str
    """The proof, verified together with its file."""
    rests: str
    """Open gaps that the proof depends on; empty: the proof is complete."""
    by: str
    seconds: float
    simulations: int


@dataclass(frozen=True)
class Patch:
    """A file with proofs in its gaps. The whole file is verified."""

    path: str
    old: str
    """Digest of the file without the proofs."""
    new: bytes
    diff: str


@dataclass(frozen=True)
class Evaluation:
    """Measures of a network on the held-out theorems of one repository."""

    training: int
    """The repository after whose training it was measured; 0: the first network."""
    repository: int
    """The repository of the held-out theorems; 0: data of the first network."""
    loss: float
    accuracy: float
    tokens: int


@dataclass(frozen=True)
class StageRow:
    """A finished stage."""

    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


# --- the database -----------------------------------------------------------------------------------------------------

FILE = "agent.sqlite"

AGENT = 0
"""Used instead of a repository for stages of the whole agent, and for the data of the first network."""

STAGE_ENDED = "agent:stage-ended"
"""Point at which tests can kill the process."""

ADVICE = database.Advice(
    AgentError,
    cannot="cannot be used",
    kept="What was recorded is kept, and the same command goes on from there",
    damaged="the file is damaged: restore it from a copy, or use another --out",
    denied="make it readable and writable for this user, or use another --out",
    newer="another --out",
    failing="the disk may be full or failing: look at it and start again",
    passed=(sqlite3.IntegrityError,),
)
"""Texts for errors about the file."""

_REPOSITORY = 'id, name, source, "commit", root, own, lean, place'
_THEOREM = "path, line, name, kind, statement, proof, steps, difficulty, problem, class, held_out, id"


class AgentStore(database.Database):
    """The open database. Raises AgentError if it cannot be written or read."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        path = folder / FILE
        if read_only and not path.is_file():
            raise AgentError(f"{folder}: has no agent (no {FILE}); `proofmesh agent --out {folder}` makes one")
        super().__init__(path, MIGRATIONS, ADVICE, read_only=read_only)

    # --- stages -----------------------------------------------------------------------------------------------------

    def stage(self, repository: int, stage: str) -> StageRow | None:
        """A finished stage; None if it is not finished."""
        rows = self._rows("SELECT seconds, details FROM stages WHERE repository = ? AND stage = ?", repository, stage)
        return StageRow(rows[0][0], msgspec.json.decode(rows[0][1])) if rows else None

    def end_stage(self, repository: int, stage: str, seconds: float, details: dict[str, Any]) -> None:
        """Records that a stage is finished."""
        with self._transaction() as db:
            _end_stage(db, repository, stage, seconds, details)
        faults.reach(STAGE_ENDED)

    # --- repositories and theorems ----------------------------------------------------------------------------------

    def repositories(self) -> list[Repository]:
        """All repositories in the order of the curriculum; those that are not in it come last."""
        rows = self._rows(f"SELECT {_REPOSITORY} FROM repositories ORDER BY place IS NULL, place, id")
        return [_repository(row) for row in rows]

    def repository(self, source: str, commit: str, root: Path, *, own: bool, name: str) -> Repository:
        """The repository at this commit; creates a row if there is none. A name that is in use gets a number."""
        with self._transaction() as db:
            row_before = _known(db, source, commit)
            if row_before is None:
                taken = {row[0] for row in db.execute("SELECT name FROM repositories")}
                free = next(each for each in _names(name) if each not in taken)
                values = (free, source, commit, str(root), own)
                db.execute(
                    'INSERT INTO repositories (name, source, "commit", root, own) VALUES (?, ?, ?, ?, ?)', values
                )
                row_before = _known(db, source, commit)
        assert row_before is not None
        return row_before

    def keep_trace(
        self,
        repository: int,
        lean: str,
        files: Iterable[FileRow],
        theorems: Iterable[TheoremRow],
        seconds: float,
        details: dict[str, Any],
    ) -> None:
        """Records files and theorems of a traced repository, replaces earlier ones, and ends the stage."""
        with self._transaction() as db:
            for table in ("files", "theorems"):
                db.execute(f"DELETE FROM {table} WHERE repository = ?", (repository,))
            db.execute("UPDATE repositories SET lean = ? WHERE id = ?", (lean, repository))
            rows = [(repository, each.path, each.digest, each.error) for each in files]
            db.executemany("INSERT INTO files VALUES (?, ?, ?, ?)", rows)
            db.executemany(
                f"INSERT INTO theorems (repository, {_THEOREM.removesuffix(', id')})"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(repository, *_theorem_values(each)) for each in theorems],
            )
            _end_stage(db, repository, "trace", seconds, details)
        faults.reach(STAGE_ENDED)

    def theorems(self, repository: int) -> list[TheoremRow]:
        """Theorems of a repository, by position."""
        rows = self._rows(f"SELECT {_THEOREM} FROM theorems WHERE repository = ? ORDER BY path, line, id", repository)
        return [replace(TheoremRow(*row[:9]), category=row[9], held_out=bool(row[10]), number=row[11]) for row in rows]

    def files(self, repository: int) -> list[FileRow]:
        """Files of a repository."""
        rows = self._rows("SELECT path, digest, error FROM files WHERE repository = ? ORDER BY path", repository)
        return [FileRow(*row) for row in rows]

    def keep_curriculum(self, places: dict[int, int], classes: Iterable[tuple[str, int]]) -> None:
        """Records the order of the repositories, and the classes of theorems: (class, theorem)."""
        with self._transaction() as db:
            for repository, place in places.items():
                db.execute("UPDATE repositories SET place = ? WHERE id = ?", (place, repository))
            db.executemany("UPDATE theorems SET class = ? WHERE id = ?", classes)

    # --- training ---------------------------------------------------------------------------------------------------

    def keep_training(self, repository: int, seconds: float, details: dict[str, Any]) -> None:
        """Records that a repository was trained on: all its theorems with proofs that are not held out."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO trained_in SELECT id, repository FROM theorems"
                " WHERE repository = ? AND problem = '' AND steps > 0 AND NOT held_out",
                (repository,),
            )
            _end_stage(db, repository, "train", seconds, details)
        faults.reach(STAGE_ENDED)

    def trained(self, repository: int) -> int:
        """Number of theorems of a repository that were trained on."""
        query = "SELECT COUNT(*) FROM trained_in JOIN theorems ON theorem = id WHERE repository = ?"
        return int(self._rows(query, repository)[0][0])

    def keep_evaluations(self, evaluations: Iterable[Evaluation]) -> None:
        """Records measurements, and replaces earlier ones."""
        with self._transaction() as db:
            for each in evaluations:
                values = (each.training, each.repository, each.loss, each.accuracy, each.tokens)
                db.execute("INSERT OR REPLACE INTO evaluations VALUES (?, ?, ?, ?, ?)", values)

    def evaluations(self) -> list[Evaluation]:
        """All measurements."""
        return [Evaluation(*row) for row in self._rows("SELECT * FROM evaluations")]

    # --- gaps -------------------------------------------------------------------------------------------------------

    def keep_filled(
        self, repository: int, phase: Phase, policy: str, attempts: Iterable[Attempt], patch: Patch | None
    ) -> None:
        """Records the results of a file's gaps."""
        # One transaction for a file, so that a stop leaves its patch and its attempts together or neither.
        with self._transaction() as db:
            for each in attempts:
                place = (repository, each.path, each.line, each.column)
                # A gap keeps its number through all phases: the attempts of each phase refer to it.
                db.execute(
                    'INSERT OR IGNORE INTO sorries (repository, path, line, "column", name, goal)'
                    " VALUES (?, ?, ?, ?, ?, ?)",
                    (*place, each.name, each.goal),
                )
                where = 'SELECT id FROM sorries WHERE repository = ? AND path = ? AND line = ? AND "column" = ?'
                (number,) = db.execute(where, place).fetchone()
                fields = (
                    policy,
                    each.state,
                    each.reason,
                    each.script,
                    each.rests,
                    each.by,
                    each.seconds,
                    each.simulations,
                )
                db.execute(
                    # A phase that was stopped and is repeated replaces its own attempts.
                    "INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, phase, *fields),
                )
            if patch is not None:
                values = (repository, patch.path, phase, patch.old, patch.new, patch.diff)
                db.execute("INSERT OR REPLACE INTO patches VALUES (?, ?, ?, ?, ?, ?)", values)

    def attempts(self, repository: int, phase: Phase) -> list[Attempt]:
        """Searches of a phase, by position."""
        rows = self._rows(
            'SELECT path, line, "column", name, goal, state, reason, script, rests, found_by, seconds, simulations'
            " FROM attempts JOIN sorries ON sorry = id WHERE repository = ? AND phase = ?"
            ' ORDER BY path, line, "column"',
            repository,
            phase,
        )
        return [Attempt(*row) for row in rows]

    def patches(self, repository: int, phase: Phase) -> list[Patch]:
        """Files of a repository with the proofs of a phase."""
        query = "SELECT path, old, new, diff FROM patches WHERE repository = ? AND phase = ? ORDER BY path"
        return [Patch(*row) for row in self._rows(query, repository, phase)]


def _end_stage(db: sqlite3.Connection, repository: int, stage: str, seconds: float, details: dict[str, Any]) -> None:
    encoded = msgspec.json.encode(details).decode()
    db.execute("INSERT OR REPLACE INTO stages VALUES (?, ?, ?, ?)", (repository, stage, seconds, encoded))


def _repository(row: tuple[Any, ...]) -> Repository:
    number, name, source, commit, root, own, lean, place = row
    return Repository(number, name, source, commit, Path(root), bool(own), lean, place)


def _known(db: sqlite3.Connection, source: str, commit: str) -> Repository | None:
    query = f'SELECT {_REPOSITORY} FROM repositories WHERE source = ? AND "commit" = ?'
    row = db.execute(query, (source, commit)).fetchone()
    return _repository(row) if row else None


def _names(name: str) -> Iterable[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _theorem_values(each: TheoremRow) -> tuple[Any, ...]:
    return (
        each.path,
        each.line,
        each.name,
        each.kind,
        each.statement,
        each.proof,
        each.steps,
        each.difficulty,
        each.problem,
        each.category,
        each.held_out,
    )


# --- tables of agent.sqlite. MIGRATIONS[n] takes schema version n to n + 1 --------------------------------------------

MIGRATIONS = (
    """
    CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT NOT NULL);
    CREATE TABLE repositories (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,            -- the folder, or the URL without credentials
        "commit" TEXT NOT NULL,          -- git commit; of a folder without git: a digest of its files
        root TEXT NOT NULL,              -- where the files are
        own INTEGER NOT NULL,            -- 1: a folder of the user; 0: a clone of the agent
        lean TEXT NOT NULL DEFAULT '',
        place INTEGER,                   -- in the curriculum, from 1; NULL: not in it yet
        UNIQUE (source, "commit")
    );
    CREATE TABLE files (
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        digest TEXT NOT NULL,
        error TEXT NOT NULL,             -- why it could not be traced
        PRIMARY KEY (repository, path)
    );
    CREATE TABLE theorems (
        id INTEGER PRIMARY KEY,
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        statement TEXT NOT NULL,
        proof TEXT NOT NULL,             -- the tactics as written
        steps INTEGER NOT NULL,
        difficulty REAL,                 -- e^steps; NULL: no proof
        class TEXT NOT NULL DEFAULT '',  -- easy, medium, hard; empty: not in the curriculum
        held_out INTEGER NOT NULL DEFAULT 0,
        problem TEXT NOT NULL            -- why it is not used: an error, or it uses `sorry`
    );
    CREATE INDEX theorems_by_repository ON theorems (repository);
    CREATE TABLE stages (
        repository INTEGER NOT NULL,     -- 0: a stage of the agent itself
        stage TEXT NOT NULL,
        seconds REAL NOT NULL,
        details TEXT NOT NULL,           -- JSON
        PRIMARY KEY (repository, stage)
    );
    CREATE TABLE trained_in (
        theorem INTEGER NOT NULL REFERENCES theorems (id),
        training INTEGER NOT NULL REFERENCES repositories (id), -- the repository whose training read it first
        PRIMARY KEY (theorem, training)
    ) WITHOUT ROWID;
    CREATE TABLE evaluations (
        training INTEGER NOT NULL,       -- after which repository; 0: the first network
        repository INTEGER NOT NULL,     -- repository of the held-out theorems; 0: the first network's data
        loss REAL NOT NULL,              -- nats a token of the tactic
        accuracy REAL NOT NULL,          -- share of tactics whose every token is the most likely one
        tokens INTEGER NOT NULL,
        PRIMARY KEY (training, repository)
    );
    CREATE TABLE sorries (
        id INTEGER PRIMARY KEY,
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        "column" INTEGER NOT NULL,
        name TEXT NOT NULL,
        goal TEXT NOT NULL,
        UNIQUE (repository, path, line, "column")
    );
    CREATE TABLE attempts (
        sorry INTEGER NOT NULL REFERENCES sorries (id),
        phase TEXT NOT NULL,             -- baseline, network, last
        policy TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT NOT NULL,
        script TEXT NOT NULL,            -- the verified proof; empty: none
        rests TEXT NOT NULL,             -- open gaps that the proof depends on; empty: it is complete
        found_by TEXT NOT NULL,
        seconds REAL NOT NULL,
        simulations INTEGER NOT NULL,
        PRIMARY KEY (sorry, phase)
    );
    CREATE TABLE patches (
        repository INTEGER NOT NULL REFERENCES repositories (id),
        path TEXT NOT NULL,
        phase TEXT NOT NULL,
        old TEXT NOT NULL,               -- digest of the file without the proofs
        new BLOB NOT NULL,               -- the file with the proofs
        diff TEXT NOT NULL,
        PRIMARY KEY (repository, path, phase)
    );
    """,
)
