"""The second check, which alone makes a proof count: three files in fresh processes (architecture page, Lean).

    ProofmeshStatement.lean   def ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)
    ProofmeshProof.lean       theorem ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    ProofmeshCheck.lean       theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.t, and its axioms

The first is ours and compiled once per statement; the second is the only one with foreign text. Where the toolchain
has a `leanchecker`, it has the kernel check the compiled proof once more.

No text of the proof can change the statement that the last asks for. The text rules stand before that, because some
options would switch the kernel's check of the second file off; Lean is shown what they have read, comments left out.
The proof stands in parentheses: they close behind the tactic block or not at all, so no command can follow it. Each
process may write into a folder of its own only, where the system allows that; of the proof's folder nothing but the
compiled proof goes on to the check.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections import OrderedDict
from pathlib import Path

from common.lean import Theorem
from common.messages import LeanVerifyReply
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
"""For a whole proof: each of its tactics had a limit of its own when it was found, and their sum counts here."""

STATEMENTS = 4096
"""Compiled statements that are kept: about 10 KB each on disk."""

_SCRATCH = "proofmesh-verify-"


class VerificationFailed(Exception):
    """There is no verdict. `kind`: `bad-statement` (Lean refuses it; the text is Lean's), or `error`."""

    def __init__(self, reason: str, kind: str = "error") -> None:
        super().__init__(reason)
        self.kind = kind


class Verifier:
    """Checks proofs, a few at once, in a scratch folder of its own."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`seconds` and `memory_mb`: limits of each process."""
        self._toolchain = toolchain
        self.limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self._gate = asyncio.Semaphore(at_once)
        self.folder = _scratch()
        self._rechecker = Rechecker(toolchain, self.limits, self.folder)
        self._statements: OrderedDict[str, asyncio.Task[Path]] = OrderedDict()
        self._version = ""

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Whether `script`, a tactic block, proves the theorem. Raises VerificationFailed."""
        elapsed = 0.0
        problem = header_problem(theorem.header) or statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            raise VerificationFailed(problem, "bad-statement")
        reason = proof_problem(script)
        axioms: tuple[str, ...] = ()
        rechecked = False
        if not reason:
            async with self._gate:
                started = time.monotonic()
                reason, axioms, rechecked = await self._check(theorem, script)
                elapsed = time.monotonic() - started
        return LeanVerifyReply(
            accepted=not reason,
            reason=reason,
            axioms=axioms,
            lean_version=self._version,
            elapsed=elapsed,
            rechecked=rechecked,
        )

    async def _check(self, theorem: Theorem, script: str) -> tuple[str, tuple[str, ...], bool]:
        """Why the proof is rejected (empty: it is not), its axioms, and whether it was checked once more."""
        if not self._version:
            self._version = await self._ask_version()
            await self._rechecker.find()
        root = Path(tempfile.mkdtemp(prefix="proof-", dir=self.folder))
        try:
            folder = _made(root / "proof")
            text = proof_text(self._toolchain.header(theorem.header), theorem, lex(script).bare)
            (folder / f"{PROOF}.lean").write_text(text)
            statement, proof = await asyncio.gather(
                self._statement(theorem), self._compile(folder, PROOF), return_exceptions=True
            )
            if isinstance(statement, BaseException):
                raise statement
            if isinstance(proof, BaseException):
                raise proof
            reason = rejection(proof, self._toolchain.header(theorem.header), theorem)
            if reason:
                return reason, (), False
            return await self._judge(theorem, folder, _made(root / "check"), statement)
        except OutOfLimits as error:
            return f"the proof took too much: {error}", (), False
        finally:
            shutil.rmtree(root, ignore_errors=True)

    async def _judge(
        self, theorem: Theorem, proof: Path, folder: Path, statement: Path
    ) -> tuple[str, tuple[str, ...], bool]:
        """Whether the compiled proof proves the statement. Raises OutOfLimits."""
        # Nothing else of what foreign text may have written: a file named like a module would be imported in its place.
        (proof / f"{PROOF}.olean").rename(folder / f"{PROOF}.olean")
        (folder / f"{CHECK}.lean").write_text(check_text(theorem))
        search = (statement, folder)
        checked, again = await asyncio.gather(
            self._lean(folder, [f"{CHECK}.lean"], search),
            self._rechecker.problem(folder, search),
            return_exceptions=True,
        )
        if isinstance(checked, BaseException):
            raise checked
        if isinstance(again, BaseException):
            raise again
        reason, axioms = verdict(messages(checked))
        if not reason and checked.code:
            reason = unclear(checked)
        return reason or again, axioms, self._rechecker.there

    async def _statement(self, theorem: Theorem) -> Path:
        """The folder with the compiled statement; compiled once. Raises VerificationFailed."""
        text = statement_text(self._toolchain.header(theorem.header), theorem)
        key = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        task = self._statements.get(key)
        if task is None:
            task = asyncio.create_task(self._compile_statement(key, text), name="statement")
            self._statements[key] = task
            if len(self._statements) > STATEMENTS:
                old, _ = self._statements.popitem(last=False)
                shutil.rmtree(self.folder / old, ignore_errors=True)
        self._statements.move_to_end(key)
        try:
            return await asyncio.shield(task)
        except VerificationFailed:
            self._statements.pop(key, None)
            raise

    async def _compile_statement(self, key: str, text: str) -> Path:
        folder = _made(self.folder / key)
        (folder / f"{STATEMENT}.lean").write_text(text)
        try:
            finished = await self._compile(folder, STATEMENT)
        except OutOfLimits as error:
            raise VerificationFailed(f"the statement took too much: {error}") from error
        errors = [message.data for message in messages(finished) if message.severity == "error"]
        if errors or finished.code:
            raise VerificationFailed(errors[0] if errors else unclear(finished), "bad-statement")
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
    folder.mkdir(exist_ok=True)
    return folder


def _scratch() -> Path:
    """A private folder for this process; folders of processes that were killed are removed."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{_SCRATCH}*"):
        match = re.fullmatch(rf"{_SCRATCH}(\d+)-.*", old.name)
        if match and not Path(f"/proc/{match.group(1)}").exists() and old.stat().st_uid == os.getuid():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-"))
