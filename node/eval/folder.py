"""The folder of an evaluation: its plan, its statements, and its attempts.

`evaluation.json` has the plan, `statements.jsonl` and `attempts.jsonl` have a record a line. Each attempt is appended
when it ends, so a killed evaluation loses only what was being played.
"""

from __future__ import annotations

import enum
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from common.files import NOT_JSON, append_line, write_whole
from common.lean import TacticRule, Theorem
from common.output.command import UserError
from common.output.words import number_of
from common.protocol.attempts import AttemptOutcome, AttemptStatistics, Ended, Method
from common.run_folder import changes, cut_torn_line, owned
from common.settings import Sampling

# --- records of statements and attempts -------------------------------------------------------------------------------


class Standing(enum.StrEnum):
    """The outcome of an attempt, or of all attempts at a statement."""

    SOLVED = "solved"
    """A proof was found, and Lean's kernel has accepted it."""
    UNSOLVED = "unsolved"
    """The budget was used up, or no tactic was left to try."""
    NOT_ELABORATED = "not-elaborated"
    """The statement does not elaborate in this Lean: neither solved nor unsolved."""
    UNDECIDED = "undecided"
    """Infrastructure failed: neither solved nor unsolved. The attempt is repeated."""
    NOT_PLAYED = "not-played"
    """No attempt at the statement has ended yet."""


class StatementRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement that is evaluated."""

    name: str
    """Unique within the evaluation."""
    theorem: Theorem
    family: str
    level: int
    flaw: str = ""
    """A known flaw of the statement."""
    refused: str = ""
    """Lean's error, if the statement does not elaborate."""
    extra: dict[str, Any] = {}
    """Other fields of its row."""


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one attempt."""

    name: str
    """Name of the statement."""
    number: int
    """Number of its pass, from 0."""
    standing: Standing
    ended: str = ""
    """What ended the search: a budget or `exhausted`; for undecided attempts the outcome."""
    reason: str = ""
    script: str = ""
    """The proof: a block of tactics, indented."""
    axioms: tuple[str, ...] = ()
    sources: dict[str, int] = {}
    """For a mixture of policies: how many of the proof's tactics each part proposed."""
    tries: int = 1
    """How often it was played: after infrastructure failures it is repeated."""
    time: float = 0.0
    """Unix time of the end."""
    statistics: AttemptStatistics = AttemptStatistics()

    @property
    def decided(self) -> bool:
        return self.standing in (Standing.SOLVED, Standing.UNSOLVED)


def standing(outcome: AttemptOutcome, statistics: AttemptStatistics) -> Standing:
    """The standing that follows from an outcome. A proof counts only if it is verified; then `outcome` is `proved`.

    An attempt that used up its seconds without losing an expansion had its full budget, so it is unsolved.
    """
    match outcome:
        case AttemptOutcome.PROVED:
            return Standing.SOLVED
        case AttemptOutcome.FAILED:
            return Standing.UNSOLVED
        case AttemptOutcome.BAD_STATEMENT:
            return Standing.NOT_ELABORATED
        case AttemptOutcome.UNDECIDED if statistics.ended is Ended.SECONDS and not statistics.expansions_lost:
            return Standing.UNSOLVED
    return Standing.UNDECIDED


# --- the plan: benchmark, policy, method, budgets, Lean ---------------------------------------------------------------


class BenchmarkFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Which statements are evaluated, and where they come from."""

    spec: str
    """The benchmark as the command line names it."""
    name: str
    split: str = ""
    digest: str
    """Digest of the whole benchmark (`Benchmark.digest`), even if only a part of it is evaluated."""
    rows: int
    """Rows of the benchmark, including those that could not be read as statements."""
    statements: int
    """Statements that are evaluated."""
    unread: tuple[tuple[str, str], ...] = ()
    """(name, reason) of each row that could not be read as a statement."""
    source: str = ""
    revision: str = ""
    licence: str = ""
    homepage: str = ""
    paper: str = ""
    notes: tuple[str, ...] = ()


class LeanFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The Lean that elaborates, searches and verifies."""

    version: str
    name: str = ""
    library: dict[str, str] = {}
    """Commits of the project and its packages."""
    header: str = ""
    """The header of statements that import nothing."""


class Budgets(msgspec.Struct, frozen=True, kw_only=True):
    """Budgets of one attempt, which ends when the first one is used up. 0: no limit."""

    simulations: int = 0
    lean_attempts: int = 0
    seconds: float = 0.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The plan of an evaluation: all that its results depend on."""

    benchmark: BenchmarkFacts
    lean: LeanFacts
    policy: str
    """The policy as the command line names it, such as `own:runs/demo+tactics`."""
    label: str
    """The policy in words."""
    weights: dict[str, str] = {}
    """Digests of networks and tactic lists, by part of the policy."""
    method: str = Method.MCTS
    budgets: Budgets
    samples: int
    correct: int = 0
    """With whole proofs: how often a proof that Lean rejects goes back to the language model for a correction."""
    then: str = ""
    """With whole proofs: the search that follows them."""
    sampling: Sampling
    leaves: int
    """Expansions in flight within one search."""
    seed: int = 0
    allow: tuple[str, ...] = ()
    """The only tactics that a proof may have; empty: all (`common.lean.TacticRule`)."""
    ban: tuple[str, ...] = ()
    """Tactics that no proof may have."""
    search: dict[str, Any] = {}
    """Search parameters that are not the defaults, by name."""
    passes: int = 1
    """Requested attempts at each statement. A later run of the command may request more."""
    mesh: str = ""
    """The run whose mesh plays the attempts; empty: this machine plays them alone."""
    proofmesh: str = ""
    """Version of this program."""

    @property
    def tactics(self) -> str:
        """The rule for tactics in words; empty if all are allowed."""
        return str(TacticRule(self.allow, self.ban))

    @property
    def way(self) -> str:
        """The method in words, with the corrections of whole proofs, the search that follows them, its parameters, and
        the rule for tactics."""
        times = "once" if self.correct == 1 else f"{self.correct} times"
        corrected = f", each corrected up to {times}" if self.correct else ""
        return (
            f"{self.method}{corrected}"
            + (f", then {self.then}" if self.then else "")
            + "".join(f", {name} {value}" for name, value in self.search.items())
            + (f" ({self.tactics})" if self.tactics else "")
        )


_TOLERATED = frozenset({"proofmesh", "passes"})
"""Fields that may change when an evaluation is resumed."""

_NEW_FIELDS = frozenset({"allow", "ban", "search"})
"""Fields that evaluations of earlier versions lack. Empty ones do not count, so that those keep their folders."""

_TOLERATED_OF_BENCHMARK = frozenset({"spec", "source", "notes"})
"""Fields of the benchmark that may change: the digest already says whether the statements are the same."""


def differences(one: Plan, other: Plan) -> list[str]:
    """Fields in which two plans differ, with both values. Attempts of plans that differ must not be mixed."""
    return [f"{each.name} was {each.before!r} and is {each.now!r}" for each in changes(_flat(one), _flat(other))]


def identity(plan: Plan) -> bytes:
    """A key that is equal for two plans exactly if `differences` is empty."""
    return msgspec.json.encode(sorted(_flat(plan).items()))


def _flat(plan: Plan) -> dict[str, object]:
    """The compared fields, by their dotted names."""
    fields: dict[str, object] = {}
    for name, value in msgspec.to_builtins(plan).items():
        if name in _TOLERATED or (name in _NEW_FIELDS and not value):
            continue
        if not isinstance(value, dict):
            fields[name] = value
            continue
        for inner, part in value.items():
            if not (name == "benchmark" and inner in _TOLERATED_OF_BENCHMARK):
                fields[f"{name}.{inner}"] = part
    return fields


def budgets_in_words(budgets: Budgets) -> str:
    """The budgets in words, such as `512 simulations, 100 s`."""
    parts = [
        (budgets.simulations, number_of(budgets.simulations, "simulation")),
        (budgets.lean_attempts, number_of(budgets.lean_attempts, "Lean attempt")),
        (budgets.seconds, f"{budgets.seconds:g} s"),
    ]
    return ", ".join(text for limit, text in parts if limit) or "no limit"


def library_in_words(plan: Plan) -> str:
    """The short commits of the project and its packages; without commits the project's name."""
    packages = ", ".join(f"{name} {commit[:12]}" for name, commit in sorted(plan.lean.library.items()))
    return packages or plan.lean.name or "none"


# --- the folder -------------------------------------------------------------------------------------------------------
#
# evaluation.json     what is evaluated, with what (`node.eval.folder`)
# statements.jsonl    a line for each statement
# attempts.jsonl      a line for each attempt that has ended; a line that a killed process left incomplete is cut off
# sessions.jsonl      what each process has spent so far: the last line of each process counts
# results.json, report.html, solved.png, proofs.lean    made from the files above, whenever the command ends


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
            append_line(self.path / ATTEMPTS, msgspec.json.encode(record) + b"\n")

    def note_session(self, seconds: float, own_cpu: float, lean_cpu: float | None) -> None:
        """Appends what this process has spent so far. Raises FolderError."""
        session = Session(id=self._session, seconds=round(seconds, 2), lean_cpu=lean_cpu, own_cpu=round(own_cpu, 2))
        with explained(self.path / SESSIONS):
            append_line(self.path / SESSIONS, msgspec.json.encode(session) + b"\n")


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
    except (OSError, *NOT_JSON) as error:
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
        except NOT_JSON as error:
            raise FolderError(f"{path}, line {number}: cannot be read: {error}") from error
    return rows
