"""The checks of the verifier: of one proof alone, and of many proofs with the same header together.

The files that both write come first, then the check of one proof, then that of a batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import itertools
import re
import secrets
import shutil
import signal
import tempfile
import textwrap
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from cachetools import LRUCache

from common.lean import Theorem
from common.protocol.messages import FailureKind
from node.lean.check.verify.headers import HEAVY_SECONDS, KeptHeader
from node.lean.check.verify.judge import UNFINISHED, Pair
from node.lean.check.verify.kernel import FreshLean, ProofJudge
from node.lean.process.fresh import FinishedProcess, NotStarted, OutOfLimits, WatchedProcess
from node.lean.text.script import INDENT
from node.lean.text.statement import imports_of, statement_lines

# --- Writes the three files of a verification, and turns Lean's messages on them into a verdict. Pure ----------------


STATEMENT, PROOF, CHECK = "ProofmeshStatement", "ProofmeshProof", "ProofmeshCheck"
"""Names of the modules. Not plain `Proof`: a Lake project may have a module of that name, and Lean would import it."""

_NAME = re.compile(r"[^\W\d][\w'!?]*(\.[^\W\d][\w'!?]*)*")


class VerificationFailed(Exception):
    """There is no verdict: Lean rejects the statement (BAD_STATEMENT, with Lean's message), or Lean failed (ERROR)."""

    def __init__(self, reason: str, kind: FailureKind = FailureKind.ERROR) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Verdict:
    """The verdict on a proof."""

    reason: str
    """Why it is rejected; empty if it is accepted."""
    axioms: tuple[str, ...] = ()
    rechecked: bool = False
    """True if the kernel checked the compiled proof a second time."""


class _Position(msgspec.Struct):
    line: int
    column: int


class LeanMessage(msgspec.Struct):
    """One line of `lean --json`."""

    severity: str
    data: str
    pos: _Position | None = None


def statement_text(header: str, theorem: Theorem) -> str:
    """The file of the statement: the header and the proposition."""
    return "\n".join([header, *statement_part(STATEMENT, theorem)]) + "\n"


def statement_part(name: str, theorem: Theorem) -> list[str]:
    """The lines that define the proposition under this name."""
    binders = f"∀ {theorem.binders.strip()}, " if theorem.binders.strip() else ""
    return [f"def {name} : Prop :=", *f"  {binders}({theorem.conclusion.strip()}".split("\n"), "  : Prop)"]


def proof_text(header: str, theorem: Theorem, script: str) -> str:
    """The file of the proof: the header and one theorem."""
    return "\n".join([header, *proof_part(f"{PROOF}.{local_name(theorem)}", theorem, script)]) + "\n"


def proof_part(name: str, theorem: Theorem, script: str) -> list[str]:
    """The lines that prove the theorem under this name. The parentheses close behind the tactic block or not at all."""
    block = textwrap.indent(textwrap.dedent(script.strip("\n")), INDENT * 2)
    return [*statement_lines(f"theorem {name}", theorem), INDENT + "(", *block.split("\n"), INDENT + ")"]


def rejection(finished: FinishedProcess, header: str, theorem: Theorem) -> str:
    """Why Lean rejects the file of the proof; empty if it accepts the file."""
    reason = reported_rejection(messages(finished), header.count("\n") + 1, theorem)
    return reason or (unclear(finished) if finished.code else "")


def reported_rejection(messages: Sequence[LeanMessage], before: int, theorem: Theorem) -> str:
    """Why Lean's messages reject a proof; empty if none does.

    `before`: number of lines in the file before the theorem.
    """
    for message in messages:
        if message.severity == "error":
            return f"Lean rejects the proof{_where(message, before, theorem)}: {message.data}"
        if uses_sorry(message):
            return UNFINISHED
    return ""


def uses_sorry(message: LeanMessage) -> bool:
    """True if the message reports that a proof uses `sorry`."""
    return "declaration uses" in message.data and "sorry" in message.data


def _where(message: LeanMessage, before: int, theorem: Theorem) -> str:
    """The position of an error in the script, as ` at line N`; empty if the error is outside the script."""
    if message.pos is None:
        return ""
    line = message.pos.line - before - len(statement_lines("theorem", theorem)) - 1
    return f" at line {line}" if line >= 1 else ""


def unclear(finished: FinishedProcess) -> str:
    """The reason when a process failed without a message from Lean."""
    output = (finished.errors or finished.output).strip()[-400:]
    return f"Lean ended with code {finished.code}{': ' + output if output else ''}"


def messages(finished: FinishedProcess | WatchedProcess) -> list[LeanMessage]:
    """Lean's messages, one per line. Lines that are not messages are skipped; the exit code then reports a failure."""
    decoded = []
    for line in finished.output.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            decoded.append(msgspec.json.decode(line.encode(), type=LeanMessage))
    return decoded


def local_name(theorem: Theorem) -> str:
    """The theorem's own name if it is a plain one, so that a recursive proof can refer to it; otherwise `t`."""
    return theorem.name if _NAME.fullmatch(theorem.name) and "_root_" not in theorem.name else "t"


# --- Verifies one proof alone, with two files and three fresh processes. For proofs without a verdict from a ---------


STATEMENTS = 4096
"""Compiled statements in the cache, about 10 KB each on disk."""


class _CompiledStatements(LRUCache[str, "asyncio.Task[Path]"]):
    """Cache of compiled statements by digest. Evicting one removes its folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(STATEMENTS)
        self._folder = folder

    def popitem(self) -> tuple[str, asyncio.Task[Path]]:
        digest, task = super().popitem()
        shutil.rmtree(self._folder / digest, ignore_errors=True)
        return digest, task


@dataclass(frozen=True)
class _CompiledProof:
    """A proof that Lean has compiled, or refused."""

    folder: Path
    """Where its files are. What ran there may have changed them."""
    rejection: str
    """Why Lean rejects it; empty if it accepts it."""


KEEPING_TIMES = 30.0
"""Time limit for saving Lean's state after a header, in units of the time of its import: it takes about seven."""


class SingleCheck:
    """Checks proofs one by one in a scratch folder."""

    def __init__(self, lean: FreshLean, judge: ProofJudge, folder: Path) -> None:
        self._lean = lean
        self._judge = judge
        self._folder = folder
        self._statements = _CompiledStatements(folder)
        self.slowest_statement = 0.0
        """Seconds that the slowest statement took to compile. With a heavy header this is the time of its import."""

    async def check(self, theorem: Theorem, script: str, *, statement_accepted: bool = False) -> Verdict:
        """Compile statement and proof, and check the proof against the statement. Raises VerificationFailed.

        `script`: the proof without comments. `statement_accepted`: Lean accepted the statement before, so it is
        compiled only if Lean accepts the proof.
        """
        root = Path(tempfile.mkdtemp(prefix="proof-", dir=self._folder))
        self._judge.prepare(imports_of(self._lean.toolchain.header(theorem.header)))
        try:
            if statement_accepted:
                statement, proof = None, await self._proof(theorem, script, root)
            else:
                statement, proof = await self._both(theorem, script, root)
            if proof.rejection:
                return Verdict(proof.rejection)
            statement = statement or await self._statement(theorem)
            return await self._judged(theorem, proof.folder, make_folder(root / "check"), statement)
        except NotStarted as error:
            raise VerificationFailed(str(error)) from error
        except OutOfLimits as error:
            return Verdict(f"the proof exceeded a limit: {error}")
        finally:
            shutil.rmtree(root, ignore_errors=True)

    async def close(self) -> None:
        """End running compilations of statements."""
        compilations = [*self._statements.values()]
        for task in compilations:
            task.cancel()
        await asyncio.gather(*compilations, return_exceptions=True)

    async def prepare(self, theorem: Theorem) -> None:
        """Compile the statement. Raises VerificationFailed."""
        header = self._lean.toolchain.header(theorem.header)
        # Without a kept header, the kernel's process loads the library while the proof waits for its own import.
        if await self._lean.headers.find(header) is not None:
            self._judge.prepare(imports_of(header))
        await self._statement(theorem)

    async def keep_header(self, theorem: Theorem, begin: Callable[[], None] = lambda: None) -> None:
        """Keep Lean's state after the imports of the theorem's header on disk, if a statement with it took long to
        compile: later processes start from it (`headers.py`). This takes several times as long as the import. `begin`
        is called if it is to be saved."""
        if self.slowest_statement >= HEAVY_SECONDS:
            seconds = max(self._lean.limits.seconds, KEEPING_TIMES * self.slowest_statement)
            await self._lean.headers.keep(self._lean.toolchain.header(theorem.header), seconds, begin)

    async def _proof(self, theorem: Theorem, script: str, root: Path) -> _CompiledProof:
        """Compile the proof, from a kept header if there is one. Raises OutOfLimits.

        Only what Lean accepts counts there: a proof that it rejects is compiled once more behind a true import.
        """
        header = self._lean.toolchain.header(theorem.header)
        text = proof_text(header, theorem, script)
        kept = await self._lean.headers.find(header)
        if kept is not None:
            proof = await self._compiled(theorem, text, make_folder(root / "kept"), kept)
            if not proof.rejection:
                return proof
        # In a new folder: what ran in the other one may have changed the text there.
        proof = await self._compiled(theorem, text, make_folder(root / "proof"))
        if kept is not None and not proof.rejection:
            kept.forget()
        return proof

    async def _compiled(
        self, theorem: Theorem, text: str, folder: Path, kept: KeptHeader | None = None
    ) -> _CompiledProof:
        (folder / f"{PROOF}.lean").write_text(text)
        finished = await self._lean.compile(folder, PROOF, kept)
        if finished.code == -signal.SIGKILL and not messages(finished):  # by the system, for want of memory
            raise VerificationFailed(f"Lean was killed: {unclear(finished)}")
        return _CompiledProof(folder, rejection(finished, self._lean.toolchain.header(theorem.header), theorem))

    async def _both(self, theorem: Theorem, script: str, root: Path) -> tuple[Path, _CompiledProof]:
        """Compile statement and proof in parallel. Raises VerificationFailed, OutOfLimits."""
        statement, proof = await asyncio.gather(
            self._statement(theorem), self._proof(theorem, script, root), return_exceptions=True
        )
        # Both processes have ended here, so nothing writes into the folder any more. The statement's problem is
        # reported first: if Lean rejects the statement, its result for the proof means nothing.
        if isinstance(statement, BaseException):
            raise statement
        if isinstance(proof, BaseException):
            raise proof
        return statement, proof

    async def _judged(self, theorem: Theorem, proof: Path, folder: Path, statement: Path) -> Verdict:
        """Check that the compiled proof proves the compiled statement. Raises OutOfLimits."""
        if problem := passed_on(proof, folder):
            return Verdict(problem)
        pair = Pair(STATEMENT, f"{PROOF}.{local_name(theorem)}", CHECK)
        reply = await self._judge.judge(statement / f"{STATEMENT}.olean", folder / f"{PROOF}.olean", [pair])
        if reply.failed:
            raise VerificationFailed(reply.problem)
        if reply.problem:
            return Verdict(reply.problem)
        return Verdict(reply.reasons[0], tuple(reply.axioms[0]), True)

    async def _statement(self, theorem: Theorem) -> Path:
        """The folder with the compiled statement; compiled once. Raises VerificationFailed."""
        text = statement_text(self._lean.toolchain.header(theorem.header), theorem)
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        task = self._statements.get(digest)
        if task is not None and task.done() and not (self._folder / digest / f"{STATEMENT}.olean").is_file():
            task = None  # somebody has cleaned up the folder of temporary files
        if task is None:
            task = asyncio.create_task(self._compile_statement(digest, text), name="statement")
            self._statements[digest] = task
        try:
            return await asyncio.shield(task)  # other checks may wait for the same compilation
        except Exception:  # also a full disk: the next proof of the statement compiles it anew
            self._statements.pop(digest, None)
            raise

    async def _compile_statement(self, digest: str, text: str) -> Path:
        folder = make_folder(self._folder / digest)
        (folder / f"{STATEMENT}.lean").write_text(text)
        began = time.monotonic()
        try:
            finished = await self._lean.compile(folder, STATEMENT)
        except OutOfLimits as error:
            raise VerificationFailed(f"the statement exceeded a limit: {error}") from error
        self.slowest_statement = max(self.slowest_statement, time.monotonic() - began)
        errors = [message.data for message in messages(finished) if message.severity == "error"]
        if errors:
            raise VerificationFailed(errors[0], FailureKind.BAD_STATEMENT)
        if finished.code:  # killed from outside, a full disk: this says nothing about the statement
            raise VerificationFailed(unclear(finished))
        return folder


def passed_on(compiled: Path, folder: Path) -> str:
    """Move the compiled proof into another folder. Returns why it cannot be moved; empty if it was.

    Only this file is passed on: code in the proof may have written other files into its folder. It may also have
    removed the file, put another kind of file in its place, or closed the folder.
    """
    olean = compiled / f"{PROOF}.olean"
    try:
        if olean.is_symlink():
            return "the compiled proof is a link to another file"
        if not olean.is_file():
            return "Lean wrote no compiled proof, or another kind of file stands in its place"
        olean.rename(folder / olean.name)
    except OSError as error:
        return f"the compiled proof cannot be read: {error.strerror}"
    return ""


def make_folder(folder: Path) -> Path:
    """Create the folder if it does not exist, and return it."""
    folder.mkdir(exist_ok=True)
    return folder


# --- Verifies many proofs with the same header together: two files and three fresh processes for all of them ---------
#
# ProofmeshStatement.lean   def K.ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)     for each proof
#     ProofmeshProof.lean       theorem K.ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
#     as data, for the kernel   theorem K.ProofmeshCheck : K.ProofmeshStatement := @K.ProofmeshProof.t, and its axioms
#
# K is a random name for each proof, so that no proof can refer to another one. A batch accepts a proof if:
# - both files compiled without an error in any proof, and no proof uses `sorry`;
# - Lean read a command behind each proof where we wrote one (`parted_file`), so no proof reaches into the next one;
# - the kernel accepts the check and everything that it uses, as data (`kernel.py`), with Lean's standard axioms
# only;
# - its declarations use no declarations of other proofs (`judge.py`).
#
# A batch rejects a proof if Lean accepts the statement and reports an ordinary error in the lines of the proof. Checked
# alone, the proof would have the same error with the same line and text. All other proofs are checked alone: those with
# errors about limits or with names of the batch, with statements that Lean rejects, and those that hang or crash Lean.
#
# Lean writes no compiled file if one proof has an error. The batch is then split: proofs with a verdict are removed,
# proofs that caused a problem without a verdict are checked alone, and the remaining ones form smaller batches.


STALL_SECONDS = 5.0
"""The process of a batch is stopped if no proof ends within this time. A typical proof takes 10 ms. A slow one is
checked alone, with the limits of a single check."""

STALL_HEADERS = 3.0
"""The same in units of the time that the batch's header took: to stop costs another import of it."""

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
        self.header_seconds = 0.0
        """Seconds that the header of the last batch took, with Lean's start."""

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
        started, first, last = time.monotonic(), file.tokens[0].encode(), file.tokens[-1].encode()
        seconds = self._lean.limits.seconds

        def patience(written: bytes) -> float:
            if first in written:
                self.header_seconds = time.monotonic() - started
            stall = max(self.stall_seconds, STALL_HEADERS * self.header_seconds)
            return seconds if last in written else min(seconds, stall)

        return patience


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
        self._checks.judge.prepare(imports_of(self._header))
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
