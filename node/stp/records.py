"""The records of a run of self-play: their data types, and the tables of stp.sqlite."""

from __future__ import annotations

import enum
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from common.lean import Theorem
from common.output.command import UserError
from common.records import database


class StpError(UserError):
    """One line: what is wrong, where, and what to do."""


class Lemma(msgspec.Struct, frozen=True):
    """A lemma that a proof invokes, and that a conjecture should be about."""

    name: str
    statement: str
    """`theorem NAME BINDERS : CONCLUSION`."""


EMPTY_LEMMA = Lemma("true", "theorem true : True")
"""Requests a conjecture without a specific topic (STP, section 3.2)."""


class Statement(msgspec.Struct, frozen=True):
    """A statement of the data set. Its theorem's name is its key."""

    theorem: Theorem
    split: str = "train"
    """`train`: to prove and to learn from; `test`: only for evaluation."""


class Proof(msgspec.Struct, frozen=True):
    """One proof of a statement or of a conjecture."""

    name: str
    """Name of the statement or conjecture."""
    script: str
    """A tactic block that starts in column 0."""
    seconds: float = 0.0
    """Seconds that Lean took to check it."""
    lemmas: tuple[str, ...] = ()
    """Names of the lemmas that it invokes."""

    @property
    def length(self) -> int:
        """Length in characters."""
        return len(self.script)


class Attempted(msgspec.Struct, frozen=True):
    """The results of the samples for one statement or conjecture."""

    name: str
    samples: int
    """Number of sampled proofs, including duplicates and cut ones."""
    correct: int
    """Number of samples that are correct proofs."""
    proofs: tuple[Proof, ...] = ()
    """Distinct verified proofs, in the order of their first samples."""

    @property
    def rate(self) -> float:
        """Share of the samples that are correct; 0 without samples."""
        return self.correct / self.samples if self.samples else 0.0


class Seed(msgspec.Struct, frozen=True):
    """The input for a conjecture: a proved statement, and a lemma that its proof invokes."""

    theorem: Theorem
    proof: str
    lemma: Lemma


@dataclass(frozen=True)
class Output:
    """One output of the network for a seed."""

    text: str
    """`example BINDERS : CONCLUSION`, if the network follows its training."""
    complete: bool
    """False if the output was cut off, is empty, or is not valid text."""
    tokens: int
    """Number of tokens, including the end token."""


class Fate(enum.StrEnum):
    """How far a conjecture got."""

    CUT = "cut"
    """It was cut off at the token limit."""
    REFUSED = "refused"
    """It is not a statement, or our rules forbid the statement."""
    KNOWN = "known"
    """It equals a statement of the data set or an earlier conjecture, up to spaces and bound names."""
    SURPLUS = "surplus"
    """There were already as many conjectures as unproved statements."""
    NEW = "new"
    """Lean has not elaborated it yet."""
    NOT_ELABORATED = "not elaborated"
    ELABORATED = "elaborated"
    """It was not attempted yet, or no sample was a correct proof."""
    PROVED = "proved"


class Conjecture(msgspec.Struct, frozen=True):
    """One output of the conjecturer."""

    name: str
    """Its key: `conjecture_ROUND_NUMBER`."""
    round: int
    seed: Seed
    output: str
    """The model's text."""
    fate: Fate
    theorem: Theorem | None = None
    """The statement; None if the output is not a statement."""
    reason: str = ""
    """The reason for its fate."""


class ProverExample(msgspec.Struct, frozen=True):
    """A proof to train on."""

    theorem: Theorem
    proof: str
    weight: float
    conjectured: bool = False


class ConjecturerExample(msgspec.Struct, frozen=True):
    """A conjecture to train on: the seed is the prompt, and the conjecture is the target."""

    seed: Seed
    conjecture: str
    """`theorem NAME BINDERS : CONCLUSION`."""
    weight: float
    name: str = ""
    """Name of the conjecture; empty for examples from the initial data."""


@dataclass(frozen=True)
class Given:
    """A theorem of the initial data with its proof."""

    theorem: Theorem
    proof: Proof
    kind: str = ""
    """The group of similar theorems that it belongs to: a family of the bank, a file of a trace."""


# --- rounds and attempts ----------------------------------------------------------------------------------------------


class RoundKind(enum.StrEnum):
    """The kind of a round. All kinds train; only `round` makes conjectures and attempts."""

    INITIAL = "initialisation"
    """Supervised training on the initial data."""
    SELF_PLAY = "round"
    """Conjecture, prove, select, train."""
    FINAL = "final"
    """Training from the base on everything verified, which ends a cycle."""


class Stage(enum.StrEnum):
    """Stages of a round, in order. A stage is reached when all of its results are recorded."""

    BEGUN = "begun"
    SEEDED = "seeded"
    """The seeds are drawn."""
    CONJECTURED = "conjectured"
    """The model has answered all prompts, and its outputs have their fates."""
    ELABORATED = "elaborated"
    """Lean has elaborated or rejected every new conjecture."""
    ATTEMPTED = "attempted"
    """Every attempt of the round has its result."""
    VERIFIED = "verified"
    """Every proof is verified or refused."""
    SELECTED = "selected"
    """The training examples are chosen and weighted."""
    TRAINED = "trained"
    """The checkpoint is written."""
    DONE = "done"
    """Its weights are served, and its evaluation, if there is one, is recorded."""


STAGES = tuple(Stage)


class Part(enum.StrEnum):
    """The parts of a round whose time is measured."""

    GENERATION = "generation"
    ELABORATION = "elaboration"
    PROVING = "proving"
    VERIFICATION = "verification"
    SELECTION = "selection"
    TRAINING = "training"
    EVALUATION = "evaluation"


@dataclass(frozen=True)
class RoundRow:
    """A round and its stage."""

    number: int
    cycle: int
    kind: RoundKind
    stage: Stage
    weights: int | None
    """Weights version that its training published."""
    checkpoint: str | None
    """Checkpoint that its training wrote."""
    begun: float
    """Unix time."""
    changed: float
    """Unix time at which its stage was reached."""
    seconds: Mapping[Part, float] = field(default_factory=dict)
    """Time spent by part; parts without any are missing."""

    def reached(self, stage: Stage) -> bool:
        """Whether the round has reached this stage."""
        return STAGES.index(self.stage) >= STAGES.index(stage)


@dataclass(frozen=True, slots=True)
class Found:
    """One of the distinct proofs that an attempt sampled."""

    script: str
    count: int = 1
    """Number of samples that were this proof."""
    first: int = 0
    """Index of the first of these samples, from 0."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """The result of one attempt."""

    attempt_id: str
    round: int
    name: str
    """Name of the statement or conjecture."""
    samples: int
    correct: int
    """Number of correct samples as reported by the prover. `attempted` does not count proofs that verification refuses.
    """
    outcome: str
    message: str = ""
    seconds: float = 0.0
    found: tuple[Found, ...] = ()


@dataclass(frozen=True)
class Solved:
    """A statement with a verified proof that an attempt sampled."""

    theorem: Theorem
    rate: float
    """The best success rate in a round."""
    round: int
    """The round that first solved it."""
    proofs: tuple[Proof, ...]
    """Verified proofs, including those of the initial data, sorted by round, then by length."""


# --- the tables of stp.sqlite -----------------------------------------------------------------------------------------


ADVICE = database.Advice(
    StpError,
    cannot="cannot be used",
    kept="What was recorded is kept, and the run goes on from there",
    damaged="the file is damaged: restore it from a copy, or use another run directory",
    denied="make it readable and writable for this user, or use another run directory",
    newer="another run directory",
    failing="the disk may be full or failing: look at it and start again",
    passed=(sqlite3.IntegrityError,),  # a missing round or statement is not a problem of the disk
)
"""Messages for errors about the files of a run."""

FILE = "stp.sqlite"
"""File name in the run directory."""


def explained(path: Path) -> AbstractContextManager[None]:
    """Turn errors of the file system and of SQLite about `path` into a StpError that says what to do."""
    return database.explained(path, ADVICE)


# --- the tables of stp.sqlite as migrations, each from one schema version to the next ---------------------------------
# Only append migrations, because run directories may be years old. `PRAGMA user_version` is the version of a file.

_INITIAL = """
CREATE TABLE theorems (             -- every statement and conjecture that is spoken of, each once
    name TEXT PRIMARY KEY,
    binders TEXT NOT NULL,
    conclusion TEXT NOT NULL,
    header TEXT NOT NULL
) STRICT;
CREATE TABLE statements (           -- of the data set, in its order
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE REFERENCES theorems,
    split TEXT NOT NULL             -- train, test
) STRICT;
CREATE TABLE rounds (
    number INTEGER PRIMARY KEY,
    cycle INTEGER NOT NULL,
    kind TEXT NOT NULL,             -- initialisation, round, final
    stage TEXT NOT NULL,            -- the last one that is reached
    weights INTEGER,                -- version that the round's training has published
    checkpoint TEXT,                -- that it has written
    begun REAL NOT NULL,
    changed REAL NOT NULL           -- when the stage was reached
) STRICT;
CREATE TABLE seconds (              -- that a round has spent on a part
    round INTEGER NOT NULL REFERENCES rounds,
    part TEXT NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (round, part)
) STRICT, WITHOUT ROWID;
CREATE TABLE seeds (                -- each once, whichever rounds ask with it
    seed_id INTEGER PRIMARY KEY,
    statement TEXT NOT NULL REFERENCES theorems,
    lemma TEXT NOT NULL,
    lemma_statement TEXT NOT NULL,
    proof TEXT NOT NULL,
    UNIQUE (statement, lemma, lemma_statement, proof)
) STRICT;
CREATE TABLE round_seeds (          -- what a round asks with, in its order
    round INTEGER NOT NULL REFERENCES rounds,
    number INTEGER NOT NULL,
    seed_id INTEGER NOT NULL REFERENCES seeds,
    PRIMARY KEY (round, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE conjectures (          -- every output of the conjecturer
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    round INTEGER NOT NULL REFERENCES rounds,
    seed_id INTEGER NOT NULL REFERENCES seeds,
    output TEXT NOT NULL,
    fate TEXT NOT NULL,             -- `node.stp.records.Fate`
    reason TEXT NOT NULL,
    theorem TEXT REFERENCES theorems    -- its name; NULL: the output is no statement
) STRICT;
CREATE INDEX conjectures_by_round ON conjectures (round, fate);
CREATE TABLE attempts (             -- with a result, at statements and conjectures
    number INTEGER PRIMARY KEY,     -- in the order of the results
    attempt_id TEXT NOT NULL UNIQUE,
    round INTEGER NOT NULL REFERENCES rounds,
    name TEXT NOT NULL REFERENCES theorems,
    samples INTEGER NOT NULL,
    correct INTEGER NOT NULL,       -- as the prover has reported; see `found` and `proofs` for what was verified
    outcome TEXT NOT NULL,
    message TEXT NOT NULL,
    seconds REAL NOT NULL
) STRICT;
CREATE INDEX attempts_by_round ON attempts (round, name);
CREATE INDEX attempts_by_name ON attempts (name);
CREATE TABLE proofs (               -- different ones, sampled or given by the initial data
    proof_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL REFERENCES theorems,
    script TEXT NOT NULL,
    round INTEGER NOT NULL REFERENCES rounds,   -- that first has it
    verified INTEGER,               -- NULL: not yet verified
    reason TEXT NOT NULL,           -- why verification refused it
    seconds REAL NOT NULL,
    lemmas TEXT NOT NULL,           -- names (JSON)
    UNIQUE (name, script)
) STRICT;
CREATE INDEX proofs_to_verify ON proofs (round) WHERE verified IS NULL;
CREATE TABLE found (                -- which samples of which attempt were which proof
    attempt INTEGER NOT NULL REFERENCES attempts (number),
    proof_id INTEGER NOT NULL REFERENCES proofs,
    first INTEGER NOT NULL,         -- the first of these samples, from 0
    count INTEGER NOT NULL,
    PRIMARY KEY (attempt, proof_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX found_by_proof ON found (proof_id);
CREATE TABLE prover_examples (      -- what the training of a round was on
    number INTEGER PRIMARY KEY,
    round INTEGER NOT NULL REFERENCES rounds,
    source INTEGER NOT NULL,        -- round whose results the example is from
    name TEXT NOT NULL REFERENCES theorems,
    proof TEXT NOT NULL,
    weight REAL NOT NULL,
    conjectured INTEGER NOT NULL,
    UNIQUE (round, name, proof)
) STRICT;
CREATE TABLE conjecturer_examples (
    number INTEGER PRIMARY KEY,
    round INTEGER NOT NULL REFERENCES rounds,
    source INTEGER NOT NULL,
    name TEXT NOT NULL,             -- of the conjecture; empty: it is of the initial data
    seed_id INTEGER NOT NULL REFERENCES seeds,
    conjecture TEXT NOT NULL,
    weight REAL NOT NULL,
    UNIQUE (round, seed_id, conjecture)
) STRICT;
CREATE INDEX conjecturer_examples_by_name ON conjecturer_examples (name);
CREATE TABLE evaluations (
    round INTEGER NOT NULL REFERENCES rounds,
    name TEXT NOT NULL,             -- what was evaluated, e.g. test
    number TEXT NOT NULL,           -- e.g. pass@1
    value REAL NOT NULL,
    PRIMARY KEY (round, name, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (                -- small facts of the run (JSON)
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
"""

MIGRATIONS: tuple[str, ...] = (_INITIAL,)
"""MIGRATIONS[n] takes schema version n to n + 1."""
