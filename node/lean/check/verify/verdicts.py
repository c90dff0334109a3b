"""Writes the three files of a verification, and turns Lean's messages on them into a verdict. Pure."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from common.lean import Theorem
from common.protocol.messages import FailureKind
from node.lean.check.verify.judge import UNFINISHED
from node.lean.process.fresh import FinishedProcess, WatchedProcess
from node.lean.text.script import INDENT
from node.lean.text.statement import statement_lines

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
