"""Gives the trusted verdict on a snippet. The answer of a worker alone is not trusted.

Verdicts come from our verifiers: from fresh processes and from what they compiled. Most snippets are one theorem with a
tactic proof. These are verified like proofs of the mesh, in batches if several wait. Other snippets, and those not
accepted this way, are verified as files. A file may contain any Lean, and the messages then refer to its own lines and
names.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from common.lean import Theorem
from node.lean.check.files.commands import DATA, PROOFS
from node.lean.check.files.judge import Fact
from node.lean.check.files.report import FileReport
from node.lean.check.files.sources import from_text
from node.lean.check.files.verifier import FileVerifier
from node.lean.check.verify.verifier import VerificationFailed, Verifier
from node.lean.snippets.snippet import Fault, Snippet, Verdict
from node.lean.text.lexing import ambiguity, lex, outside_brackets
from node.lean.text.rules import header_problem, proof_problem, statement_problem
from node.lean.text.statement import StatementError, imports, parse_statement
from node.lean.toolchain.lean_toolchain import LeanToolchain

NO_THEOREM = "it states no theorem"


@dataclass(frozen=True)
class Judgement:
    """A verdict with the faults that led to it."""

    verdict: Verdict
    faults: tuple[Fault, ...] = ()
    """Each becomes an error message. Empty for a snippet that is rejected only because it states no theorem."""
    seconds: float = 0.0
    """Time of the verification without waiting."""


class NoJudgement(Exception):
    """There is no verdict: time or memory ran out, or the check itself failed. The text says which."""

    def __init__(self, reason: str, *, timeout: float | None = None) -> None:
        super().__init__(reason)
        self.timeout = timeout
        """The time limit in seconds if it was exceeded."""


SNIPPET, REFERENCE = "the snippet", "the reference"
"""Names in reports."""

_PLAIN = DATA | PROOFS | {"mutual"}
"""Kinds of commands that give a name to something, and do not change what other text means."""

_OUT_OF_TIME, _OUT_OF_MEMORY = "not done after", "of memory"
"""Parts of the reason when a process exceeded its limits (`node.lean.process.fresh`)."""


class FileJudge:
    """Judges snippets. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, *, at_once: int, seconds: float, memory_mb: int) -> None:
        """`at_once`: files verified in parallel; `seconds` and `memory_mb`: limits of each process."""
        self._seconds = seconds
        self._files = FileVerifier(toolchain, at_once=at_once, seconds=seconds, memory_mb=memory_mb)
        self._proofs = Verifier(toolchain, at_once=max(1, at_once // 2), seconds=seconds, memory_mb=memory_mb)

    async def judge(self, snippet: Snippet) -> Judgement:
        """The judgement on a snippet. Raises NoJudgement."""
        if snippet.against.strip():
            return await self._compared(snippet)
        seconds = 0.0
        if (proof := single_proof(snippet.code)) is not None:
            try:
                reply = await self._proofs.verify(*proof)
            except VerificationFailed:
                pass  # it may still compile as a file, for example with automatic implicit arguments
            else:
                seconds = reply.elapsed
                if reply.accepted:
                    return Judgement(Verdict(True, reply.axioms), seconds=seconds)
        # The worker found no error in the file, so the slower salvage of files with errors is not needed.
        judged = await self._files.judge_text(snippet.code, salvage=False)
        report = judged.report
        found = judgement(report, self._seconds, seconds)
        if snippet.allow_own_syntax or not found.verdict.accepted:
            return found
        faults = _own_meanings(report, judged.facts)
        return _refused(found, faults) if faults else found

    async def _compared(self, snippet: Snippet) -> Judgement:
        """The judgement on a snippet that must prove given theorems. Raises NoJudgement."""
        started = time.monotonic()
        problems, verdicts, _ = await self._files.compare(
            [from_text(snippet.code, SNIPPET)], [from_text(_reference(snippet), REFERENCE)]
        )
        if wrong := next((each for each in problems if each.file.startswith(REFERENCE)), None):
            raise NoJudgement(f"`against` cannot be used: {wrong.problem}")
        problem = next((each.problem for each in problems), "")
        return judgement(
            FileReport(SNIPPET, problem, declarations=verdicts, seconds=time.monotonic() - started), self._seconds
        )

    async def close(self) -> None:
        """End the verifiers' processes, and remove their scratch folders."""
        await asyncio.gather(self._files.close(), self._proofs.stop())


def judgement(report: FileReport, limit: float, before: float = 0.0) -> Judgement:
    """The judgement by a report. `limit`: time limit of its processes; `before`: seconds already spent on the snippet.

    Raises NoJudgement.
    """
    seconds = before + report.seconds
    axioms = tuple(sorted({axiom for each in report.declarations for axiom in each.axioms}))
    rejected = [Fault(max(1, each.line), f"{each.name}: {each.reason}") for each in report.declarations if each.reason]
    faults = [Fault(1, f"not verified: {report.problem}")] if report.problem else rejected
    depends = tuple(dict.fromkeys(str(item) for each in report.declarations for item in each.depends))
    runs_code = tuple(dict.fromkeys(map(str, report.runs_code)))
    if faults:
        if any(_OUT_OF_TIME in fault.text for fault in faults):
            raise NoJudgement("the verification timed out", timeout=limit)
        if any(_OUT_OF_MEMORY in fault.text for fault in faults):
            raise NoJudgement(f"the verification ran out of memory: {faults[0].text}")
        return Judgement(Verdict(False, axioms, faults[0].text, depends, runs_code), tuple(faults), seconds)
    reason = "" if report.declarations else NO_THEOREM
    return Judgement(Verdict(not reason, axioms, reason, depends, runs_code), seconds=seconds)


def _own_meanings(report: FileReport, facts: Sequence[Fact]) -> list[Fault]:
    """The theorems of a file that may mean something else than their text says, and the code that it runs."""
    overriding = {fact.line for fact in facts if fact.written and fact.overrides}
    hiding = {fact.line: fact.hides for fact in facts if fact.written and fact.hides}
    faults = []
    for each in report.declarations:
        for item in each.depends:
            about = f"{each.name}: its statement"
            if item.kind not in _PLAIN or (item.kind == "instance" and item.line in overriding):
                text = f"{about} may not mean what it says, because it depends on {item} of the snippet"
                faults.append(Fault(max(1, each.line), text))
            elif item.line in hiding:
                text = f"{about} depends on {item}, which hides the library's {hiding[item.line]}"
                faults.append(Fault(max(1, each.line), text))
    code = [Fault(max(1, item.line), f"the snippet runs code of its own: {item}") for item in report.runs_code]
    return faults + code


def _refused(found: Judgement, faults: Sequence[Fault]) -> Judgement:
    """An accepted judgement turned into a rejection."""
    reason = f"{faults[0].text} (`allow_own_syntax` accepts this; `against` compares with a statement)"
    return replace(
        found, verdict=msgspec.structs.replace(found.verdict, accepted=False, reason=reason), faults=tuple(faults)
    )


def _reference(snippet: Snippet) -> str:
    """The text of a snippet's reference. Without imports of its own it gets those of the snippet."""
    text = snippet.against.strip()
    with contextlib.suppress(StatementError):
        parse_statement(text)
        text = text if ":= " in text else f"{text.removesuffix(':=').rstrip()} := sorry"
    own = [] if imports(text) else imports(snippet.code)
    return "\n".join([*own, text]) + "\n"


# ----------------------------------------------------------------------------------------------------------------------
# Recognizes snippets that are one theorem with a tactic proof behind a plain header. Pure.
#
# Most reward functions send such snippets. They can be verified like proofs of the mesh, many together. A snippet
# that cannot be read without doubt does not count as one of them.

MOST_CHARACTERS = 20_000
"""Most characters of a snippet that is verified in a batch: a longer one would delay the others."""

_START = re.compile(r"^(?:theorem|lemma|example)\b", re.MULTILINE)
_HEADER_LINE = re.compile(
    r"import [\w.]+|open(?: scoped)?(?: [\w.]+)+|universe(?: \w+)+|set_option max(?:Heartbeats|RecDepth) \d+"
)
_OTHER_COMMANDS = {"in", "hiding", "renaming", "export", "variable", "section", "namespace"}
"""Words that a line of a plain header does not contain."""
_BY = re.compile(r"\s*by(?![\w'])[ \t]*\n?")


def single_proof(code: str) -> tuple[Theorem, str] | None:
    """The theorem and its tactic block; None if the snippet is anything else."""
    if len(code) > MOST_CHARACTERS:
        return None
    lexed = lex(code)
    if lexed.problem or lexed.glued or ambiguity(lexed.bare):
        return None
    starts = [match.start() for match in _START.finditer(lexed.code)]
    header = _header(lexed.code[: starts[0]]) if len(starts) == 1 else None
    assign = _assignment(lexed.code, starts[0]) if header is not None else None
    by = _BY.match(lexed.code, assign + 2) if assign is not None else None
    if header is None or by is None:
        return None
    try:
        theorem = parse_statement(code[starts[0] : assign], header)
    except StatementError:
        return None
    # The first tactic keeps its column, because the indentation of the lines below is relative to it.
    column = by.end() - (code.rfind("\n", 0, by.end()) + 1)
    script = " " * column + code[by.end() :].rstrip()
    problem = header_problem(header) or statement_problem(theorem.binders, theorem.conclusion) or proof_problem(script)
    return None if problem else (theorem, script)


def _header(code: str) -> str | None:
    """The commands before the theorem without comments; None if one of them does not belong to a plain header."""
    lines = [" ".join(line.split()) for line in code.split("\n") if line.strip()]
    for line in lines:
        if not _HEADER_LINE.fullmatch(line) or not _OTHER_COMMANDS.isdisjoint(line.split()):
            return None
    return "\n".join(lines)


def _assignment(code: str, start: int) -> int | None:
    """Position of the first `:=` outside all brackets."""
    return next((at for at in outside_brackets(code, start) if code.startswith(":=", at)), None)
