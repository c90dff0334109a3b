"""The texts of the three files of a verification, and what Lean's messages about them mean. Pure."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from common.lean import Theorem
from common.messages import FailureKind
from node.lean.process.fresh import FinishedProcess
from node.lean.process.watched import WatchedProcess
from node.lean.text.script import INDENT
from node.lean.text.statement import statement_lines

AXIOMS = frozenset({"propext", "Quot.sound", "Classical.choice"})
"""The standard axioms of Lean. A proof that rests on another one is rejected."""

STATEMENT, PROOF, CHECK = "ProofmeshStatement", "ProofmeshProof", "ProofmeshCheck"
"""Names of the modules. Not plain `Proof`: a Lake project may have one of its own, which would be found first."""

_NAME = re.compile(r"[^\W\d][\w'!?]*(\.[^\W\d][\w'!?]*)*")


class VerificationFailed(Exception):
    """There is no verdict: Lean refuses the statement (BAD_STATEMENT; the text is Lean's), or failed (ERROR)."""

    def __init__(self, reason: str, kind: FailureKind = FailureKind.ERROR) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class Verdict:
    """What became of a proof."""

    reason: str
    """Why it is rejected; empty when it is accepted."""
    axioms: tuple[str, ...] = ()
    rechecked: bool = False
    """Whether the compiled proof went through the kernel once more."""


class _Position(msgspec.Struct):
    line: int
    column: int


class LeanMessage(msgspec.Struct):
    """One line of `lean --json`."""

    severity: str
    data: str
    pos: _Position | None = None


def statement_text(header: str, theorem: Theorem) -> str:
    """The statement's file: the header, and the proposition."""
    return "\n".join([header, *statement_part(STATEMENT, theorem)]) + "\n"


def statement_part(name: str, theorem: Theorem) -> list[str]:
    """The proposition, as a definition of this name."""
    binders = f"∀ {theorem.binders.strip()}, " if theorem.binders.strip() else ""
    return [f"def {name} : Prop :=", *f"  {binders}({theorem.conclusion.strip()}".split("\n"), "  : Prop)"]


def proof_text(header: str, theorem: Theorem, script: str) -> str:
    """The proof's file: the header, and one theorem."""
    return "\n".join([header, *proof_part(f"{PROOF}.{local_name(theorem)}", theorem, script)]) + "\n"


def proof_part(name: str, theorem: Theorem, script: str) -> list[str]:
    """The theorem with its proof, under this name. The parentheses close behind the tactic block or not at all."""
    block = textwrap.indent(textwrap.dedent(script.strip("\n")), INDENT * 2)
    return [*statement_lines(f"theorem {name}", theorem), INDENT + "(", *block.split("\n"), INDENT + ")"]


def check_text(theorem: Theorem) -> str:
    """The check's file: the statement, with the proof as its proof, and what that rests on."""
    return (
        f"import {STATEMENT}\nimport {PROOF}\n"
        f"theorem {CHECK} : {STATEMENT} := @{PROOF}.{local_name(theorem)}\n"
        f"#print axioms {CHECK}\n"
    )


def verdict(messages: Sequence[LeanMessage], name: str = CHECK) -> tuple[str, tuple[str, ...]]:
    """Read Lean's messages about a check: why the proof is rejected (empty: accepted), and its axioms.

    `name`: of the theorem whose axioms were asked for.
    """
    errors = [message.data for message in messages if message.severity == "error"]
    if errors:
        return f"it does not prove the statement: {errors[0]}", ()
    reports = [message.data for message in messages if "axioms" in message.data]
    # We have one `#print axioms`. A second report would come from the proof itself, and might be made up.
    if len(reports) > 1:
        return "Lean said twice what the proof rests on", ()
    report = reports[0] if reports else ""
    if report.strip() == f"'{name}' does not depend on any axioms":
        return "", ()
    match = re.fullmatch(rf"'{re.escape(name)}' depends on axioms: \[(.*)\]\s*", report, re.DOTALL)
    if not match:
        return "Lean did not say what the proof rests on", ()
    axioms = tuple(sorted(name.strip() for name in match.group(1).split(",")))
    foreign = [name for name in axioms if name not in AXIOMS]
    if "sorryAx" in foreign:
        return "the proof is not finished: it uses sorry", axioms
    return (f"it rests on other axioms than Lean's own: {', '.join(foreign)}" if foreign else ""), axioms


def rejection(finished: FinishedProcess, header: str, theorem: Theorem) -> str:
    """Why Lean rejects the proof's file; empty when it does not."""
    told = told_rejection(messages(finished), header.count("\n") + 1, theorem)
    return told or (unclear(finished) if finished.code else "")


def told_rejection(messages: Sequence[LeanMessage], before: int, theorem: Theorem) -> str:
    """Why Lean rejects a proof, as its messages say; empty when none does.

    `before`: lines in the file before the theorem's.
    """
    for message in messages:
        if message.severity == "error":
            return f"Lean rejects the proof{_where(message, before, theorem)}: {message.data}"
        if uses_sorry(message):
            return "the proof is not finished: it uses sorry"
    return ""


def uses_sorry(message: LeanMessage) -> bool:
    """Whether Lean says that something is left out of a proof."""
    return "declaration uses" in message.data and "sorry" in message.data


def _where(message: LeanMessage, before: int, theorem: Theorem) -> str:
    """Where in the script an error is, as ` at line N`; empty outside of it."""
    if message.pos is None:
        return ""
    line = message.pos.line - before - len(statement_lines("theorem", theorem)) - 1
    return f" at line {line}" if line >= 1 else ""


def unclear(finished: FinishedProcess) -> str:
    """The reason for a process that ended badly without a message of Lean's."""
    output = (finished.errors or finished.output).strip()[-400:]
    return f"Lean ended with code {finished.code}{': ' + output if output else ''}"


def messages(finished: FinishedProcess | WatchedProcess) -> list[LeanMessage]:
    """Lean's messages, one a line. Other lines are left out: then the exit code says that something is wrong."""
    decoded = []
    for line in finished.output.splitlines():
        with contextlib.suppress(msgspec.DecodeError):
            decoded.append(msgspec.json.decode(line.encode(), type=LeanMessage))
    return decoded


def local_name(theorem: Theorem) -> str:
    """The theorem's own name where it is a plain one, so that a proof may call it (recursion)."""
    return theorem.name if _NAME.fullmatch(theorem.name) and "_root_" not in theorem.name else "t"
