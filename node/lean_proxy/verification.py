"""The second check, which alone makes a proof count: three files in fresh processes (architecture page, Lean).

    Statement.lean   def ProofmeshStatement : Prop := ∀ BINDERS, (CONCLUSION : Prop)
    Proof.lean       theorem ProofmeshProof.t BINDERS : (CONCLUSION : Prop) := by (PROOF)
    Check.lean       theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.t, and its axioms

The first is ours and compiled once per statement; the second is the only one with foreign text.

No text of the proof can change the statement that Check.lean asks for. The text rules stand before that, because some
options inside a tactic block would switch the kernel's check of Proof.lean off. The proof stands in parentheses: they
close behind the tactic block or not at all, so no command can follow it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import textwrap
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import msgspec

from common.lean import Theorem
from common.messages import LeanVerifyReply
from common.script import INDENT
from node.lean_proxy.fresh import Finished, Limits, OutOfLimits, run_fresh
from node.lean_proxy.rules import proof_problem, statement_problem
from node.lean_proxy.toolchain import LeanToolchain
from node.lean_proxy.worker.document import statement_lines

AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
"""The standard axioms of Lean. A proof that needs another one is none."""

HEARTBEATS = 1_000_000
"""For a whole proof: each of its tactics had a limit of its own when it was found, and their sum counts here."""

STATEMENTS = 4096
"""Compiled statements that are kept: about 10 KB each on disk."""

_SCRATCH = "proofmesh-verify-"

_NAME = re.compile(r"[^\W\d][\w'!?]*(\.[^\W\d][\w'!?]*)*")

_DEPENDS = re.compile(r"'ProofmeshCheck' depends on axioms: \[(.*)\]", re.DOTALL)

_FREE = "'ProofmeshCheck' does not depend on any axioms"


class VerificationFailed(Exception):
    """There is no verdict. `kind`: `bad-statement` (Lean refuses it; the text is Lean's), or `error`."""

    def __init__(self, reason: str, kind: str = "error") -> None:
        super().__init__(reason)
        self.kind = kind


class _Position(msgspec.Struct):
    line: int
    column: int


class LeanMessage(msgspec.Struct):
    """One line of `lean --json`."""

    severity: str
    data: str
    pos: _Position | None = None


class Verifier:
    """Checks proofs, a few at once, in a scratch folder of its own."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`seconds` and `memory_mb`: limits of each process."""
        self._toolchain = toolchain
        self._limits = Limits(seconds=seconds, memory_mb=memory_mb)
        self._gate = asyncio.Semaphore(at_once)
        self.folder = _scratch()
        self._statements: OrderedDict[str, asyncio.Task[Path]] = OrderedDict()
        self._version = ""

    def close(self) -> None:
        """Remove the scratch folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    async def verify(self, theorem: Theorem, script: str) -> LeanVerifyReply:
        """Whether `script`, a tactic block, proves the theorem. Raises VerificationFailed."""
        elapsed = 0.0
        problem = statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            raise VerificationFailed(problem, "bad-statement")
        reason = proof_problem(script)
        axioms: tuple[str, ...] = ()
        if not reason:
            async with self._gate:
                started = time.monotonic()
                reason, axioms = await self._check(theorem, script)
                elapsed = time.monotonic() - started
        return LeanVerifyReply(
            accepted=not reason,
            reason=reason,
            axioms=axioms,
            lean_version=self._version,
            elapsed=elapsed,
        )

    async def _check(self, theorem: Theorem, script: str) -> tuple[str, tuple[str, ...]]:
        """Why the proof is rejected (empty: it is not), and its axioms."""
        if not self._version:
            self._version = await self._ask_version()
        folder = Path(tempfile.mkdtemp(prefix="proof-", dir=self.folder))
        try:
            (folder / "Proof.lean").write_text(proof_text(self._toolchain.header(theorem.header), theorem, script))
            statement, proof = await asyncio.gather(
                self._statement(theorem), self._compile(folder, "Proof"), return_exceptions=True
            )
            if isinstance(statement, BaseException):
                raise statement
            if isinstance(proof, BaseException):
                raise proof
            reason = _rejection(proof, theorem)
            if reason:
                return reason, ()
            (folder / "Check.lean").write_text(check_text(theorem))
            return verdict(_messages(await self._compile(folder, "Check", statement)))
        except OutOfLimits as error:
            return f"the proof took too much: {error}", ()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    async def _statement(self, theorem: Theorem) -> Path:
        """The folder with the compiled statement; compiled once. Raises VerificationFailed."""
        header = self._toolchain.header(theorem.header)
        text = f"{header}\n" + "\n".join(_proposition(theorem)) + "\n"
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
        folder = self.folder / key
        folder.mkdir(exist_ok=True)
        (folder / "Statement.lean").write_text(text)
        try:
            finished = await self._compile(folder, "Statement")
        except OutOfLimits as error:
            raise VerificationFailed(f"the statement took too much: {error}") from error
        errors = [message.data for message in _messages(finished) if message.severity == "error"]
        if errors or finished.code:
            raise VerificationFailed(errors[0] if errors else _unclear(finished), "bad-statement")
        return folder

    async def _compile(self, folder: Path, module: str, *path: Path) -> Finished:
        """Compile one file in a fresh process. Raises OutOfLimits."""
        library = self._toolchain.environment.get("LEAN_PATH", "")
        search = os.pathsep.join([*map(str, (folder, *path)), *([library] if library else [])])
        arguments = ["--json", "-DautoImplicit=false", f"-DmaxHeartbeats={HEARTBEATS}"]
        return await run_fresh(
            [*self._toolchain.command, *arguments, "-o", f"{module}.olean", f"{module}.lean"],
            environment={**self._toolchain.environment, "LEAN_PATH": search},
            folder=folder,
            limits=self._limits,
        )

    async def _ask_version(self) -> str:
        command = [*self._toolchain.command, "--version"]
        finished = await run_fresh(
            command, environment=self._toolchain.environment, folder=self.folder, limits=self._limits
        )
        match = re.search(r"version ([^,)\s]+)", finished.output)
        return match.group(1) if match else finished.output.strip()[:80]


def proof_text(header: str, theorem: Theorem, script: str) -> str:
    """Proof.lean: the header, and one theorem."""
    lines = statement_lines(f"theorem ProofmeshProof.{_local_name(theorem)}", theorem)
    block = textwrap.indent(textwrap.dedent(script.strip("\n")), INDENT * 2)
    return "\n".join([header, *lines, INDENT + "(", block, INDENT + ")"]) + "\n"


def check_text(theorem: Theorem) -> str:
    """Check.lean: the statement, with the proof as its proof, and what that rests on."""
    return (
        "import Statement\nimport Proof\n"
        f"theorem ProofmeshCheck : ProofmeshStatement := @ProofmeshProof.{_local_name(theorem)}\n"
        "#print axioms ProofmeshCheck\n"
    )


def verdict(messages: Sequence[LeanMessage]) -> tuple[str, tuple[str, ...]]:
    """Read Check.lean's messages: why the proof is rejected (empty: it is not), and its axioms."""
    errors = [message.data for message in messages if message.severity == "error"]
    if errors:
        return f"it does not prove the statement: {errors[0]}", ()
    for message in messages:
        if _FREE in message.data:
            return "", ()
        found = _DEPENDS.search(message.data)
        if found:
            axioms = tuple(sorted(name.strip() for name in found.group(1).split(",")))
            foreign = [name for name in axioms if name not in AXIOMS]
            if "sorryAx" in foreign:
                return "the proof is not finished: it uses sorry", axioms
            return (f"it rests on other axioms than Lean's own: {', '.join(foreign)}" if foreign else ""), axioms
    return "Lean did not say what the proof rests on", ()


def _rejection(finished: Finished, theorem: Theorem) -> str:
    """Why Lean rejects Proof.lean; empty when it does not."""
    for message in _messages(finished):
        if message.severity == "error":
            return f"Lean rejects the proof{_where(message, theorem)}: {message.data}"
        if "declaration uses" in message.data and "sorry" in message.data:
            return "the proof is not finished: it uses sorry"
    return _unclear(finished) if finished.code else ""


def _where(message: LeanMessage, theorem: Theorem) -> str:
    """Where in the script an error is, as `at line:column`; empty outside of it."""
    if message.pos is None:
        return ""
    line = message.pos.line - len(statement_lines("theorem", theorem)) - theorem.header.count("\n") - 2
    return f" at line {line}" if line >= 1 else ""


def _unclear(finished: Finished) -> str:
    said = (finished.errors or finished.output).strip()[-400:]
    return f"Lean ended with code {finished.code}{': ' + said if said else ''}"


def _messages(finished: Finished) -> list[LeanMessage]:
    """Lean's messages. What is no message is left out; then the exit code says that something is wrong."""
    messages = []
    for line in finished.output.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            messages.append(msgspec.json.decode(line.encode(), type=LeanMessage))
    return messages


def _proposition(theorem: Theorem) -> list[str]:
    binders = f"∀ {theorem.binders.strip()}, " if theorem.binders.strip() else ""
    return ["def ProofmeshStatement : Prop :=", *f"  {binders}({theorem.conclusion.strip()}".split("\n"), "  : Prop)"]


def _local_name(theorem: Theorem) -> str:
    """The theorem's own name where it is a plain one, so that a proof may call it (recursion)."""
    return theorem.name if _NAME.fullmatch(theorem.name) and "_root_" not in theorem.name else "t"


def _scratch() -> Path:
    """A private folder for this process; folders of processes that were killed are removed."""
    root = Path(tempfile.gettempdir())
    for old in root.glob(f"{_SCRATCH}*"):
        match = re.fullmatch(rf"{_SCRATCH}(\d+)-.*", old.name)
        if match and not Path(f"/proc/{match.group(1)}").exists() and old.stat().st_uid == os.getuid():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-"))
