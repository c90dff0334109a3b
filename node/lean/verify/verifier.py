"""The check that alone makes a proof count: three files in fresh Lean processes.

    ProofmeshStatement.lean   def ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)
    ProofmeshProof.lean       theorem ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    ProofmeshCheck.lean       theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.t, and its axioms

The statement's file is ours, and is compiled once for all proofs of it. The proof's file is the only one with foreign
text. The check's file imports both, so no text of the proof can change the statement that is checked. Where the
toolchain has a `leanchecker`, it has the kernel check the compiled proof once more.

Around this stand four other defences:
- the text rules (`node.lean.text.rules`): some options would switch the kernel's check of the proof's file off;
- Lean gets the text that the rules have read: the proof without its comments;
- the proof stands in parentheses, which close behind the tactic block or not at all: no command can follow it;
- each process may write into a folder of its own only, where the system allows that, and nothing but the compiled
  proof is passed on from the proof's folder to the check.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from cachetools import LRUCache

from common.lean import Theorem
from common.messages import FailureKind, LeanVerifyReply
from node.lean.process.fresh import FinishedProcess, Limits, OutOfLimits, run_fresh
from node.lean.text.lexing import lex
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.recheck import Rechecker
from node.lean.verify.verdicts import (
    CHECK,
    PROOF,
    STATEMENT,
    check_text,
    messages,
    proof_text,
    rejection,
    statement_text,
    unclear,
    verdict,
)

HEARTBEATS = 1_000_000
"""Lean's `maxHeartbeats` for a whole proof, 25 times what a tactic gets in a search: the sum of its tactics counts."""

STATEMENTS = 4096
"""Compiled statements that are kept: about 10 KB each on disk."""

_SCRATCH = "proofmesh-verify-"


class VerificationFailed(Exception):
    """There is no verdict: Lean refuses the statement (BAD_STATEMENT; the text is Lean's), or failed (ERROR)."""

    def __init__(self, reason: str, kind: FailureKind = FailureKind.ERROR) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class _Verdict:
    """What became of a proof."""

    reason: str
    """Why it is rejected; empty when it is accepted."""
    axioms: tuple[str, ...] = ()
    rechecked: bool = False
    """Whether `leanchecker` has looked at it."""


class _CompiledStatements(LRUCache[str, "asyncio.Task[Path]"]):
    """Compilations of statements, by digest; the folder of one that is forgotten is removed."""

    def __init__(self, folder: Path) -> None:
        super().__init__(STATEMENTS)
        self._folder = folder

    def popitem(self) -> tuple[str, asyncio.Task[Path]]:
        digest, task = super().popitem()
        shutil.rmtree(self._folder / digest, ignore_errors=True)
        return digest, task


class Verifier:
    """Checks proofs, a few at once, in a scratch folder of its own. `close` it in the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: proofs checked side by side; `seconds` and `memory_mb`: limits of each process."""
        self._toolchain = toolchain
        self.limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self._gate = asyncio.Semaphore(at_once)
        self.folder = _scratch_folder()
        self._rechecker = Rechecker(toolchain, self.limits, self.folder)
        self._statements = _CompiledStatements(self.folder)
        self._version = ""

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Whether `script`, a tactic block, proves the theorem. Raises VerificationFailed."""
        problem = header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            raise VerificationFailed(problem, FailureKind.BAD_STATEMENT)
        result = _Verdict(proof_problem(script))
        elapsed = 0.0
        if not result.reason:
            async with self._gate:
                started = time.monotonic()
                result = await self._check(theorem, script)
                elapsed = time.monotonic() - started
        return LeanVerifyReply(
            accepted=not result.reason,
            reason=result.reason,
            axioms=result.axioms,
            lean_version=self._version,
            elapsed=elapsed,
            rechecked=result.rechecked,
        )

    async def _check(self, theorem: Theorem, script: str) -> _Verdict:
        """Compile statement and proof, and check one against the other. Raises VerificationFailed."""
        if not self._version:
            self._version = await self._ask_version()
            await self._rechecker.find()
        root = Path(tempfile.mkdtemp(prefix="proof-", dir=self.folder))
        try:
            folder = _made(root / "proof")
            header = self._toolchain.header(theorem.header)
            (folder / f"{PROOF}.lean").write_text(proof_text(header, theorem, lex(script).bare))
            statement, proof = await asyncio.gather(
                self._statement(theorem), self._compile(folder, PROOF), return_exceptions=True
            )
            # Both have ended here, so no process is left that writes into the folder. The statement's problem is
            # reported first: where Lean refuses the statement, its verdict on the proof means nothing.
            if isinstance(statement, BaseException):
                raise statement
            if isinstance(proof, BaseException):
                raise proof
            if reason := rejection(proof, header, theorem):
                return _Verdict(reason)
            return await self._judge(theorem, folder, _made(root / "check"), statement)
        except OutOfLimits as error:
            return _Verdict(f"the proof took too much: {error}")
        finally:
            shutil.rmtree(root, ignore_errors=True)

    async def _judge(self, theorem: Theorem, proof: Path, folder: Path, statement: Path) -> _Verdict:
        """Whether the compiled proof proves the compiled statement. Raises OutOfLimits."""
        # The compiled proof alone goes on. The proof may have written other files beside it, and one that is named
        # like a module would be imported in that module's place.
        (proof / f"{PROOF}.olean").rename(folder / f"{PROOF}.olean")
        (folder / f"{CHECK}.lean").write_text(check_text(theorem))
        search_path = (statement, folder)
        checked, recheck_problem = await asyncio.gather(
            self._lean(folder, [f"{CHECK}.lean"], search_path),
            self._rechecker.problem(folder, search_path),
            return_exceptions=True,
        )
        if isinstance(checked, BaseException):
            raise checked
        if isinstance(recheck_problem, BaseException):
            raise recheck_problem
        reason, axioms = verdict(messages(checked))
        if not reason and checked.code:
            reason = unclear(checked)
        return _Verdict(reason or recheck_problem, axioms, self._rechecker.available)

    async def _statement(self, theorem: Theorem) -> Path:
        """The folder with the compiled statement; compiled once. Raises VerificationFailed."""
        text = statement_text(self._toolchain.header(theorem.header), theorem)
        digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        task = self._statements.get(digest)
        if task is None:
            task = asyncio.create_task(self._compile_statement(digest, text), name="statement")
            self._statements[digest] = task
        try:
            return await asyncio.shield(task)  # others may wait for it too
        except VerificationFailed:
            self._statements.pop(digest, None)
            raise

    async def _compile_statement(self, digest: str, text: str) -> Path:
        folder = _made(self.folder / digest)
        (folder / f"{STATEMENT}.lean").write_text(text)
        try:
            finished = await self._compile(folder, STATEMENT)
        except OutOfLimits as error:
            raise VerificationFailed(f"the statement took too much: {error}") from error
        errors = [message.data for message in messages(finished) if message.severity == "error"]
        if errors or finished.code:
            raise VerificationFailed(errors[0] if errors else unclear(finished), FailureKind.BAD_STATEMENT)
        return folder

    async def _compile(self, folder: Path, module: str) -> FinishedProcess:
        """Compile one file in a fresh process that may write into its folder. Raises OutOfLimits."""
        return await self._lean(folder, ["-o", f"{module}.olean", f"{module}.lean"], (), writable=True)

    async def _lean(
        self, folder: Path, arguments: list[str], path: tuple[Path, ...], *, writable: bool = False
    ) -> FinishedProcess:
        """Run Lean in a fresh process. Raises OutOfLimits."""
        options = ["--json", "-DautoImplicit=false", f"-DmaxHeartbeats={HEARTBEATS}"]
        return await run_fresh(
            [*self._toolchain.command, *options, *arguments],
            environment=self._toolchain.with_modules(path),
            folder=folder,
            limits=self.limits,
            keeper=self._toolchain.protections.keeper([folder] if writable else []),
        )

    async def _ask_version(self) -> str:
        finished = await run_fresh(
            [*self._toolchain.command, "--version"],
            environment=self._toolchain.environment,
            folder=self.folder,
            limits=self.limits,
            keeper=self._toolchain.protections.keeper(),
        )
        match = re.search(r"version ([^,)\s]+)", finished.output)
        return match.group(1) if match else finished.output.strip()[:80]


def _made(folder: Path) -> Path:
    """The folder, made if it is not there."""
    folder.mkdir(exist_ok=True)
    return folder


def _scratch_folder() -> Path:
    """A private folder for this process. Folders that killed processes have left are removed on the way."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{_SCRATCH}*"):
        match = re.fullmatch(rf"{_SCRATCH}(\d+)-.*", old.name)
        if match and not Path(f"/proc/{match.group(1)}").exists() and old.stat().st_uid == os.getuid():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-"))
