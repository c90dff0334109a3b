"""The folder of an evaluation: its plan, its statements, and its attempts. Each attempt is appended when it ends.

evaluation.json     what is evaluated, with what (`node.eval.plan`)
statements.jsonl    a line for each statement
attempts.jsonl      a line for each attempt that has ended; a line that a killed process left incomplete is cut off
sessions.jsonl      what each process has spent so far: the last line of each process counts
results.json, report.html, solved.png, proofs.lean    made from the files above, whenever the command ends
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import msgspec

from common.files import write_whole
from common.output.command import UserError
from common.run_folder import append_line, cut_torn_line, owned
from node.eval.plan import Plan, differences
from node.eval.records import AttemptRecord, StatementRecord

PLAN, STATEMENTS, ATTEMPTS, SESSIONS = "evaluation.json", "statements.jsonl", "attempts.jsonl", "sessions.jsonl"
LOCK = "lock"

T = TypeVar("T")


class FolderError(UserError, ValueError):
    """A folder cannot be used for an evaluation, or has none. The text says which folder, why, and what to do."""


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """What one process has spent on an evaluation."""

    id: str
    seconds: float
    lean_cpu: float | None = None
    """CPU seconds of its Lean processes; None: they belong to a mesh."""
    own_cpu: float = 0.0
    """CPU seconds of the process itself: search, and the network if it runs in this process."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation as its folder holds it."""

    path: Path
    plan: Plan
    statements: tuple[StatementRecord, ...]
    attempts: tuple[AttemptRecord, ...]
    """In the order in which they ended. (name, number) identifies an attempt; its last line counts."""
    sessions: tuple[Session, ...] = ()


def read(path: Path) -> Evaluation:
    """An evaluation, finished or not. Raises FolderError."""
    if not (path / PLAN).is_file():
        raise FolderError(f"{path}: has no evaluation (no {PLAN}); `proofmesh eval --out {path}` makes one")
    sessions = {each.id: each for each in _lines(path / SESSIONS, Session)}
    return Evaluation(
        path,
        _plan(path / PLAN),
        tuple(_lines(path / STATEMENTS, StatementRecord)),
        tuple(_lines(path / ATTEMPTS, AttemptRecord)),
        tuple(sessions.values()),
    )


class EvaluationFolder:
    """An evaluation's folder while this process has locked it. Use it as a context manager; the end releases the
    lock."""

    def __init__(self, path: Path) -> None:
        """Raises FolderError if another process has locked the folder, or it cannot be written."""
        self.path = path
        self._session = secrets.token_hex(4)
        self._held = ExitStack()
        in_use = f"{path}: another evaluation is running in this folder; name another folder with --out"
        with explained(path):
            self._held.enter_context(owned(path, lambda: FolderError(in_use), lock=LOCK))

    def __enter__(self) -> EvaluationFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.close()

    def begin(self, plan: Plan) -> Evaluation:
        """Begins this evaluation, or resumes it. Returns what the folder has of it. Raises FolderError if the folder
        has another evaluation."""
        if not (self.path / PLAN).is_file():
            if foreign := [each.name for each in self.path.iterdir() if each.name not in (LOCK, STATEMENTS)]:
                raise FolderError(f"{self.path}: holds something else ({foreign[0]}); name an empty folder with --out")
            return Evaluation(self.path, plan, (), ())
        evaluation = read(self.path)
        if different := differences(evaluation.plan, plan):
            raise FolderError(
                f"{self.path}: holds another evaluation ({'; '.join(different)}); name another folder with --out"
            )
        cut_torn_line(self.path / ATTEMPTS)
        cut_torn_line(self.path / SESSIONS)
        if plan.passes <= evaluation.plan.passes:
            return evaluation
        more = msgspec.structs.replace(evaluation.plan, passes=plan.passes)
        self._write_plan(more)
        return replace(evaluation, plan=more)

    def write(self, plan: Plan, statements: Sequence[StatementRecord]) -> None:
        """Writes the statements, then the plan: so a folder with a plan always has its statements. Raises
        FolderError."""
        self._write(STATEMENTS, b"".join(msgspec.json.encode(each) + b"\n" for each in statements))
        self._write_plan(plan)

    def _write_plan(self, plan: Plan) -> None:
        self._write(PLAN, msgspec.json.format(msgspec.json.encode(plan), indent=2) + b"\n")

    def _write(self, name: str, content: bytes) -> None:
        with explained(self.path / name):
            write_whole(self.path / name, content)

    def add(self, record: AttemptRecord) -> None:
        """Appends an attempt. After this call a kill of the process cannot lose it. Raises FolderError."""
        with explained(self.path / ATTEMPTS):
            append_line(self.path / ATTEMPTS, msgspec.json.encode(record))

    def note_session(self, seconds: float, own_cpu: float, lean_cpu: float | None) -> None:
        """Appends what this process has spent so far. Raises FolderError."""
        session = Session(id=self._session, seconds=round(seconds, 2), lean_cpu=lean_cpu, own_cpu=round(own_cpu, 2))
        with explained(self.path / SESSIONS):
            append_line(self.path / SESSIONS, msgspec.json.encode(session))


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turns OSErrors of writing a file into a FolderError."""
    try:
        yield
    except OSError as error:
        raise FolderError(f"{path}: cannot be written: {error.strerror}") from error


def _plan(path: Path) -> Plan:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except (OSError, msgspec.DecodeError) as error:
        raise FolderError(f"{path}: cannot be read: {error}") from error


def _lines(path: Path, kind: type[T]) -> list[T]:
    """The lines of a file, without an incomplete last one. Raises FolderError."""
    if not path.is_file():
        return []
    decoder = msgspec.json.Decoder(kind)
    rows = []
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FolderError(f"{path}: cannot be read: {error.strerror}") from error
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            rows.append(decoder.decode(line))
        except msgspec.DecodeError as error:
            raise FolderError(f"{path}, line {number}: cannot be read: {error}") from error
    return rows
