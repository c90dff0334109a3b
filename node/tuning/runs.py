"""Training data from the proofs of runs (proofs.sqlite) and of evaluations (their folders)."""

from __future__ import annotations

import sqlite3
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from common.lean import Theorem
from common.protocol.attempts import Purpose
from common.records import readers as run_proofs
from node.training.errors import InputError
from node.training.proof_rows import ATTEMPTS, STATEMENTS
from node.tuning.data import SORRY, Data, Proof, Step, leaves_something_out, stated_as

PLACES_SINCE = 4
"""Schema version from which theorems have places in files."""

IN_FILES = "of theorems in Lean files, which cannot be stated without the file"

_PROOFS = """
SELECT theorem_id, binders, conclusion, header, disproof, script, {place}
FROM proofs JOIN attempts USING (attempt_id, theorem_id) JOIN theorems USING (theorem_id)
WHERE purpose != ? ORDER BY proof_id
"""

_TRANSITIONS = """
SELECT theorem_id, binders, conclusion, header, state, tactic, remaining_steps
FROM transitions JOIN attempts USING (attempt_id) JOIN theorems USING (theorem_id)
WHERE purpose != ? ORDER BY transition_id
"""


def run(database: Path) -> Data:
    """All distinct verified proofs of a run, and the steps of its replay buffer, without those of evaluations. Raises
    InputError."""
    data = Data()
    with _records(database) as records:
        version: int = records.execute("PRAGMA user_version").fetchone()[0]
        place = "place" if version >= PLACES_SINCE else "NULL"
        proofs = records.execute(_PROOFS.format(place=place), (Purpose.EVAL,)).fetchall()
    for name, binders, conclusion, header, disproof, script, in_file in dict.fromkeys(proofs):
        if in_file is not None:
            data.proofs_left_out[IN_FILES] += 1
            continue
        theorem = Theorem(name, binders, conclusion, header)
        data.proofs.append(Proof(theorem.negation() if disproof else theorem, _block(script)))
    data.steps += dict.fromkeys(replace(each, remaining=None) for each in steps(database))
    return data


def steps(database: Path) -> list[Step]:
    """The distinct steps of a run's replay buffer with their remaining steps, without those of evaluations. Raises
    InputError."""
    with _records(database) as records:
        rows = records.execute(_TRANSITIONS, (Purpose.EVAL,)).fetchall()
    return [
        Step(name, state, tactic, statement=stated_as(Theorem(name, binders, conclusion, header)), remaining=remaining)
        for name, binders, conclusion, header, state, tactic, remaining in dict.fromkeys(rows)
    ]


@contextmanager
def _records(database: Path) -> Iterator[sqlite3.Connection]:
    """Raises InputError."""
    try:
        with run_proofs.reading(database) as records:
            yield records
    except run_proofs.UnreadableRecords as error:
        raise InputError(f"{error}: not the database of a run") from error


class _Stated(msgspec.Struct):
    name: str
    theorem: Theorem


class _Solved(msgspec.Struct):
    name: str
    script: str = ""


def evaluation(folder: Path) -> Data:
    """The proofs of an evaluation. Raises InputError."""
    data = Data()
    try:
        theorems = {
            row.name: row.theorem
            for line in (folder / STATEMENTS).read_bytes().splitlines()
            for row in [msgspec.json.decode(line, type=_Stated)]
        }
        for line in (folder / ATTEMPTS).read_bytes().splitlines():
            solved = msgspec.json.decode(line, type=_Solved)
            if not solved.script or solved.name not in theorems:
                continue
            if leaves_something_out(solved.script):
                data.proofs_left_out[SORRY] += 1
            else:
                data.proofs.append(Proof(theorems[solved.name], _block(solved.script)))
    except (OSError, msgspec.MsgspecError) as error:
        raise InputError(f"{folder}: not a complete evaluation ({error})") from error
    return data


def _block(script: str) -> str:
    return textwrap.dedent(script).strip("\n")
