"""Verifies many proofs with the same header together: two files and three fresh processes for all of them.

    ProofmeshStatement.lean   def K.ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)     for each proof
    ProofmeshProof.lean       theorem K.ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    as data, for the kernel   theorem K.ProofmeshCheck : K.ProofmeshStatement := @K.ProofmeshProof.t, and its axioms

K is a random name for each proof, so that no proof can refer to another one. A batch accepts a proof if:
- both files compiled without an error in any proof, and no proof uses `sorry`;
- Lean read a command behind each proof where we wrote one (`parts.py`), so no proof reaches into the next one;
- the kernel accepts the check and everything that it uses, as data (`judging.py`), with Lean's standard axioms only;
- its declarations use no declarations of other proofs (`sharing.py`).

A batch rejects a proof if Lean accepts the statement and reports an ordinary error in the lines of the proof. Checked
alone, the proof would have the same error with the same line and text. All other proofs are checked alone: those with
errors about limits or with names of the batch, with statements that Lean rejects, and those that hang or crash Lean.

Lean writes no compiled file if one proof has an error. The batch is then split: proofs with a verdict are removed,
proofs that caused a problem without a verdict are checked alone, and the remaining ones form smaller batches.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
import shutil
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from common.lean import Theorem
from node.lean.check.verify.fresh_lean import FreshLean
from node.lean.check.verify.judge import Pair
from node.lean.check.verify.judging import ProofJudge
from node.lean.check.verify.single import make_folder, passed_on
from node.lean.check.verify.verdicts import (
    CHECK,
    PROOF,
    STATEMENT,
    LeanMessage,
    Verdict,
    local_name,
    messages,
    proof_part,
    reported_rejection,
    statement_part,
    uses_sorry,
)
from node.lean.process.fresh import OutOfLimits, WatchedProcess

STALL_SECONDS = 5.0
"""The process of a batch is stopped if no proof ends within this time. A typical proof takes 10 ms. A slow one is
checked alone, with the limits of a single check."""

PROOF_SECONDS = 0.5
"""Added to the time limit of a process for each proof of a batch."""

Proof = tuple[Theorem, str]
"""A theorem, and a tactic block without comments that may prove it."""

_DEPENDS_ON_BATCH = re.compile(r"timeout|heartbeat|recursion|interrupt|memory|stack|#print|Proofmesh", re.IGNORECASE)
"""Matches errors that could be missing or different if the proof were checked alone: limits, and names of the batch."""

_PLAIN_HEADER = re.compile(r"((public\s+)?import|open|set_option|universe|variable)\b|$")


@dataclass(frozen=True)
class Round:
    """The result of a batch. Proofs are given as indices into it."""

    verdicts: dict[int, Verdict] = field(default_factory=dict)
    retries: list[list[int]] = field(default_factory=list)
    """Smaller batches to check. A group of one proof is checked alone."""
    statements_accepted: set[int] = field(default_factory=set)
    """Proofs whose statements Lean accepts."""


def batchable(header: str) -> bool:
    """True if proofs with this header can be checked together: it contains no declarations, which they would share."""
    return all(_PLAIN_HEADER.match(line.strip()) for line in header.split("\n"))


def split_batch(number: int, to_blame: set[int], *, cut_at: int | None = None) -> list[list[int]]:
    """Split a batch that was not accepted into smaller ones, which together hold each proof once.

    `to_blame`: proofs to check alone. `cut_at`: if the process was stopped, the first proof that had not ended by then;
    it is checked alone, too.
    """
    if cut_at is None and not to_blame:
        return [[each] for each in range(number)]
    bounds = [0, number]
    if cut_at is not None:
        # If the process was stopped after the last proof had ended, no proof is to blame: halve the batch.
        bounds.insert(1, cut_at if cut_at < number else number // 2)
        to_blame = to_blame | ({cut_at} if cut_at < number else set())
    alone = [[each] for each in sorted(to_blame)]
    remaining = [[each for each in range(*pair) if each not in to_blame] for pair in itertools.pairwise(bounds)]
    return [group for group in remaining if group] + alone


class BatchCheck:
    """Checks batches in a scratch folder."""

    def __init__(self, lean: FreshLean, judge: ProofJudge, folder: Path) -> None:
        self._lean = lean
        self.judge = judge
        self._folder = folder
        self.stall_seconds = STALL_SECONDS

    async def check(self, proofs: Sequence[Proof]) -> Round:
        """Check proofs with one header together."""
        root = Path(tempfile.mkdtemp(prefix="batch-", dir=self._folder))
        try:
            return await _Batch(self, proofs, root).check()
        finally:
            shutil.rmtree(root, ignore_errors=True)

    async def compiled(self, folder: Path, module: str, file: PartedFile) -> WatchedProcess:
        """Compile a file in a process that may write into this folder."""
        (folder / f"{module}.lean").write_text(file.text)
        return await self._lean.compile_many(folder, module, self._seconds(file), self._patience(file))

    def header(self, header: str) -> str:
        """The full header of a theorem: the toolchain's configured header with the theorem's own one."""
        return self._lean.toolchain.header(header)

    def _seconds(self, file: PartedFile) -> float:
        return self._lean.limits.seconds + PROOF_SECONDS * len(file.tokens)

    def _patience(self, file: PartedFile) -> Callable[[bytes], float]:
        """Seconds that Lean may be silent, by its output so far: few while proofs run, more after the last one."""
        last = file.tokens[-1].encode()
        seconds = self._lean.limits.seconds
        return lambda written: seconds if last in written else min(seconds, self.stall_seconds)


class _Batch:
    """Takes one batch through the two files and the check."""

    def __init__(self, checks: BatchCheck, proofs: Sequence[Proof], root: Path) -> None:
        self._checks = checks
        self._proofs = proofs
        self._root = root
        self._header = checks.header(proofs[0][0].header)
        self._keys = [f"K{secrets.token_hex(16)}" for _ in proofs]

    async def check(self) -> Round:
        """Compile the statements and the proofs, then check the proofs against the statements."""
        statement, proof, check = (make_folder(self._root / name) for name in ("statement", "proof", "check"))
        keyed = [*zip(self._keys, self._proofs, strict=True)]
        statements = self._file(
            self._header, [statement_part(f"{key}.{STATEMENT}", theorem) for key, (theorem, _) in keyed]
        )
        proofs = self._file(
            self._header,
            [proof_part(f"{key}.{PROOF}.{local_name(theorem)}", theorem, text) for key, (theorem, text) in keyed],
        )
        compiled = await asyncio.gather(
            self._checks.compiled(statement, STATEMENT, statements),
            self._checks.compiled(proof, PROOF, proofs),
            return_exceptions=True,
        )
        # Both processes have ended here, so nothing writes into the folders any more.
        faults, reports = [], []
        for finished, file in zip(compiled, (statements, proofs), strict=True):
            if isinstance(finished, BaseException):
                raise finished
            reports.append(read_report(file, messages(finished)))
            faults.append(_fault(finished, reports[-1]))
        if fault := _worst(faults):
            accepted = {number for number, part in enumerate(reports[0].parts) if part.complete and not part.errors}
            rejected = self._rejected(proofs, reports[1], accepted)
            groups = split_batch(len(self._proofs), fault.to_blame, cut_at=fault.cut_at)
            undecided = [[each for each in group if each not in rejected] for group in groups]
            return Round(rejected, [group for group in undecided if group], accepted)
        if passed_on(proof, check):
            return Round(retries=split_batch(len(self._proofs), set()))
        return await self._judged(statement, check)

    def _rejected(self, file: PartedFile, report: FileReport, accepted: set[int]) -> dict[int, Verdict]:
        """Verdicts on proofs with an error that they would also have if checked alone. `accepted`: proofs with accepted
        statements."""
        rejected = {}
        for number in accepted:
            part, theorem = report.parts[number], self._proofs[number][0]
            reason = reported_rejection(part.messages, file.marks[number], theorem)
            if part.complete and reason and not _DEPENDS_ON_BATCH.search(reason):
                rejected[number] = Verdict(reason)
        return rejected

    async def _judged(self, statement: Path, check: Path) -> Round:
        """Check the compiled proofs against the compiled statements."""
        pairs = [
            Pair(f"{key}.{STATEMENT}", f"{key}.{PROOF}.{local_name(theorem)}", f"{key}.{CHECK}", key)
            for key, (theorem, _) in zip(self._keys, self._proofs, strict=True)
        ]
        try:
            reply = await self._checks.judge.judge(statement / f"{STATEMENT}.olean", check / f"{PROOF}.olean", pairs)
        except OutOfLimits:
            return Round(retries=split_batch(len(self._proofs), set()))
        accepted = {
            number: Verdict("", tuple(axioms), True)
            for number, (reason, axioms) in enumerate(zip(reply.reasons, reply.axioms, strict=True))
            if not reason and number not in reply.dependent
        }
        return Round(accepted, [[each] for each in range(len(self._proofs)) if each not in accepted])

    def _file(self, header: str, parts: Sequence[Sequence[str]]) -> PartedFile:
        return parted_file(header, parts, [secrets.token_hex(16) for _ in range(len(parts) + 1)])


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a file of a batch."""

    to_blame: set[int]
    """Proofs that have errors or did not end at their marks. Empty and no `cut_at`: the cause is unknown."""
    cut_at: int | None = None
    """The first proof that had not ended when the process was stopped."""


def _fault(finished: WatchedProcess, report: FileReport) -> _Fault | None:
    """What is wrong with a compiled file; None if nothing is."""
    parts = [*enumerate(report.parts)]
    wrong = {number for number, part in parts if part.errors or any(map(uses_sorry, part.messages))}
    if finished.cut or finished.code < 0:
        return _Fault(wrong, report.reached)
    if report.stray_errors:
        return _Fault(set())
    wrong |= {number for number, part in parts if not part.complete}
    return _Fault(wrong) if wrong or finished.code else None


def _worst(faults: Sequence[_Fault | None]) -> _Fault | None:
    """The faults of several files combined into one; None if no file has any."""
    actual = [fault for fault in faults if fault is not None]
    if not actual:
        return None
    unknown = any(not fault.to_blame and fault.cut_at is None for fault in actual)
    cuts = [fault.cut_at for fault in actual if fault.cut_at is not None]
    return _Fault(set() if unknown else set().union(*(fault.to_blame for fault in actual)), min(cuts, default=None))


# ----------------------------------------------------------------------------------------------------------------------
# Joins many parts to one Lean file with a mark behind each, and sorts Lean's messages by part. Pure.
#
# A mark is the command `#print "TOKEN"` with an unguessable random token. Its message at its own line shows that
# Lean read a command there, so the part before it ended where we ended it. A message belongs to the part whose lines
# contain it. A part whose marks have no message gets no verdict.


@dataclass(frozen=True)
class PartedFile:
    """The text of a file with its marks."""

    text: str
    tokens: tuple[str, ...]
    marks: tuple[int, ...]
    """Line of each mark. The first mark ends the header; a part's lines are those between two marks."""


@dataclass(frozen=True)
class PartReport:
    """Lean's messages on one part."""

    messages: tuple[LeanMessage, ...]
    complete: bool
    """True if the part began and ended at its marks."""

    @property
    def errors(self) -> list[str]:
        """Texts of the part's errors."""
        return [message.data for message in self.messages if message.severity == "error"]


@dataclass(frozen=True)
class FileReport:
    """Lean's messages on a file."""

    parts: tuple[PartReport, ...]
    stray_errors: tuple[str, ...]
    """Errors that belong to no part: those in the header and those without a position."""

    @property
    def reached(self) -> int:
        """Number of complete parts before the first incomplete one."""
        return next((number for number, part in enumerate(self.parts) if not part.complete), len(self.parts))


def parted_file(header: str, parts: Sequence[Sequence[str]], tokens: Sequence[str]) -> PartedFile:
    """Join a header and parts (lists of lines). `tokens`: one for the header's mark, then one for each part."""
    lines: list[str] = []
    marks = []
    for part, token in zip([[header], *parts], tokens, strict=True):
        lines += "\n".join(part).split("\n")
        lines.append(f'#print "{token}"')
        marks.append(len(lines))
    return PartedFile("\n".join(lines) + "\n", tuple(tokens), tuple(marks))


def read_report(file: PartedFile, messages: Sequence[LeanMessage]) -> FileReport:
    """Sort Lean's messages about a file by its parts."""
    sections: list[list[LeanMessage]] = [[] for _ in file.marks]  # the header's, then each part's
    marked = [False] * len(file.marks)
    stray_errors = []
    for message in messages:
        number = bisect_left(file.marks, message.pos.line) if message.pos else len(file.marks)
        if number >= len(file.marks):
            if message.severity == "error":
                stray_errors.append(message.data)
        elif message.pos and message.pos.line == file.marks[number] and message.data == file.tokens[number]:
            marked[number] = True
        else:
            sections[number].append(message)
    stray_errors += [message.data for message in sections[0] if message.severity == "error"]
    parts = [
        PartReport(tuple(sections[number]), marked[number - 1] and marked[number])
        for number in range(1, len(file.marks))
    ]
    return FileReport(tuple(parts), tuple(stray_errors))
