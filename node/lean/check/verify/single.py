"""Verifies one proof alone, with two files and three fresh processes. For proofs without a verdict from a batch."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from pathlib import Path

from cachetools import LRUCache

from common.lean import Theorem
from common.protocol.messages import FailureKind
from node.lean.check.verify.fresh_lean import FreshLean
from node.lean.check.verify.judge import Pair
from node.lean.check.verify.judging import ProofJudge
from node.lean.check.verify.verdicts import (
    CHECK,
    PROOF,
    STATEMENT,
    Verdict,
    VerificationFailed,
    local_name,
    messages,
    proof_text,
    rejection,
    statement_text,
    unclear,
)
from node.lean.process.fresh import FinishedProcess, OutOfLimits

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


class SingleCheck:
    """Checks proofs one by one in a scratch folder."""

    def __init__(self, lean: FreshLean, judge: ProofJudge, folder: Path) -> None:
        self._lean = lean
        self._judge = judge
        self._folder = folder
        self._statements = _CompiledStatements(folder)

    async def check(self, theorem: Theorem, script: str, *, statement_accepted: bool = False) -> Verdict:
        """Compile statement and proof, and check the proof against the statement. Raises VerificationFailed.

        `script`: the proof without comments. `statement_accepted`: Lean accepted the statement before, so it is
        compiled only if Lean accepts the proof.
        """
        root = Path(tempfile.mkdtemp(prefix="proof-", dir=self._folder))
        try:
            folder = make_folder(root / "proof")
            header = self._lean.toolchain.header(theorem.header)
            (folder / f"{PROOF}.lean").write_text(proof_text(header, theorem, script))
            if statement_accepted:
                statement, proof = None, await self._lean.compile(folder, PROOF)
            else:
                statement, proof = await self._both(theorem, folder)
            if reason := rejection(proof, header, theorem):
                return Verdict(reason)
            statement = statement or await self._statement(theorem)
            return await self._judged(theorem, folder, make_folder(root / "check"), statement)
        except OutOfLimits as error:
            return Verdict(f"the proof exceeded a limit: {error}")
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def close(self) -> None:
        """Cancel running compilations of statements."""
        for task in self._statements.values():
            task.cancel()

    async def prepare(self, theorem: Theorem) -> None:
        """Compile the statement. Raises VerificationFailed."""
        await self._statement(theorem)

    async def _both(self, theorem: Theorem, folder: Path) -> tuple[Path, FinishedProcess]:
        """Compile statement and proof in parallel. Raises VerificationFailed, OutOfLimits."""
        statement, proof = await asyncio.gather(
            self._statement(theorem), self._lean.compile(folder, PROOF), return_exceptions=True
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
        if reply.problem:
            return Verdict(reply.problem)
        return Verdict(reply.reasons[0], tuple(reply.axioms[0]), True)

    async def _statement(self, theorem: Theorem) -> Path:
        """The folder with the compiled statement; compiled once. Raises VerificationFailed."""
        text = statement_text(self._lean.toolchain.header(theorem.header), theorem)
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        task = self._statements.get(digest)
        if task is None:
            task = asyncio.create_task(self._compile_statement(digest, text), name="statement")
            self._statements[digest] = task
        try:
            return await asyncio.shield(task)  # other checks may wait for the same compilation
        except VerificationFailed:
            self._statements.pop(digest, None)
            raise

    async def _compile_statement(self, digest: str, text: str) -> Path:
        folder = make_folder(self._folder / digest)
        (folder / f"{STATEMENT}.lean").write_text(text)
        try:
            finished = await self._lean.compile(folder, STATEMENT)
        except OutOfLimits as error:
            raise VerificationFailed(f"the statement exceeded a limit: {error}") from error
        errors = [message.data for message in messages(finished) if message.severity == "error"]
        if errors or finished.code:
            raise VerificationFailed(errors[0] if errors else unclear(finished), FailureKind.BAD_STATEMENT)
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
