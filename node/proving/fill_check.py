"""Writes proofs into the gaps of a file's text, and verifies the file as a whole, in fresh processes.

Proofs that Lean refuses are removed. Every byte outside the gaps stays as it is.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from common.lean import NO_CONTEXT, Place
from node.lean.check.files.judge import Fact
from node.lean.check.files.report import FileMessage
from node.lean.check.files.sources import SourceFile, from_text
from node.lean.check.files.verifier import FileVerifier, Judged
from node.lean.check.verify.judge import AXIOMS, UNFINISHED
from node.lean.gaps.gap import CommandSpan, FileGaps, Gap, first_line_of
from node.lean.text.script import filled, filled_in_parentheses
from node.lean.text.statement import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain

Form = Callable[[Place, Sequence[str]], str]
"""Writes a script into a place: in the usual layout, or in parentheses."""

FORMS: tuple[Form, ...] = (filled, filled_in_parentheses)
"""All forms, in the order in which they are tried."""


@dataclass(frozen=True)
class Fill:
    """A proof for a gap."""

    script: tuple[str, ...]
    """Lines of tactics, the first in column 0."""
    form: int = 0
    """Index into FORMS."""


@dataclass(frozen=True)
class Edit:
    """The range of a text to replace, and its new text."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class FileText:
    """The content of a file: its bytes, and its text as Lean reads it, with `\\n` as line ends."""

    data: bytes

    @cached_property
    def raw(self) -> str:
        """The text with its original line ends. Raises UnicodeDecodeError."""
        return self.data.decode("utf-8")

    @cached_property
    def text(self) -> str:
        """The text as Lean reads it. Raises UnicodeDecodeError."""
        return self.raw.replace("\r\n", "\n")

    @cached_property
    def newline(self) -> str:
        """The line end of most lines."""
        return "\r\n" if 2 * len(self._returns) > self.raw.count("\n") else "\n"

    @cached_property
    def _returns(self) -> list[int]:
        """The offset in `text` of each carriage return, which Lean does not see."""
        offsets: list[int] = []
        at = self.raw.find("\r\n")
        while at >= 0:
            offsets.append(at - len(offsets))
            at = self.raw.find("\r\n", at + 1)
        return offsets

    def edited(self, edits: Iterable[Edit]) -> str:
        """The file after edits of its text. New lines get the file's usual line end."""
        pieces, at = [], 0
        for edit in sorted(edits, key=lambda each: each.start):
            start, end = self._raw_offset(edit.start), self._raw_offset(edit.end)
            pieces += [self.raw[at:start], edit.new.replace("\n", self.newline)]
            at = end
        return "".join([*pieces, self.raw[at:]])

    def _raw_offset(self, offset: int) -> int:
        return offset + bisect_left(self._returns, offset)


def edits_of(file: FileGaps, fills: Mapping[Gap, Fill]) -> list[Edit]:
    """The edits that write proofs into a file's text."""
    by_command: dict[CommandSpan, dict[Gap, Fill]] = {}
    for gap in sorted(fills, key=lambda gap: gap.start):
        by_command.setdefault(gap.command, {})[gap] = fills[gap]
    return [edit for command, mine in by_command.items() for edit in _in_command(file.text, command, mine)]


def _in_command(text: str, command: CommandSpan, fills: Mapping[Gap, Fill]) -> list[Edit]:
    """The edits of one command, its gaps in order. Each proof is laid out after the proofs above it."""
    edits: list[Edit] = []
    built, at = "", command.start
    for gap, fill in fills.items():
        before, after = built + text[at : gap.start], text[gap.end : command.end]
        made = FORMS[fill.form](Place(NO_CONTEXT, before, after, gap.tactic), fill.script)
        built = made.removesuffix(after)
        # A block may start on a new line. Then the spaces before the gap are removed.
        unchanged = len(before) if built.startswith(before) else len(before.rstrip(" "))
        edits.append(Edit(gap.start - (len(before) - unchanged), gap.end, built[unchanged:]))
        at = gap.end
    return edits


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda each: each.start):
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def unified_diff(name: str, old: str, new: str) -> str:
    """A diff for `patch -p0` and `git apply -p0`; empty if nothing changes. Only line feeds end lines."""
    shown = f"{name}\t" if " " in name else name
    lines = difflib.unified_diff(_lines(old), _lines(new), shown, shown)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines


# ----------------------------------------------------------------------------------------------------------------------
# Verifies a file with proofs in its gaps, as a whole and in fresh processes, and removes proofs that Lean refuses.
#
# The kernel must accept a command whose gaps are all filled, with Lean's standard axioms only. Two things differ from
# `proofmesh verify`: a command may still have open gaps, and a command may depend on another one with open gaps. Then
# `sorryAx` is among the axioms. It may only come from these gaps: a fully filled command must not use it directly.


MODULE = "ProofmeshFilled"
"""Module name of the file during verification. No imported module may have this name."""

SORRY = "sorryAx"

MOST_ROUNDS = 60
"""Most verifications of a file because of refused proofs. Later doubtful proofs are removed without more trials."""


@dataclass
class Checked:
    """A file with the proofs that Lean accepts."""

    fills: dict[Gap, Fill]
    refused: dict[Gap, str] = field(default_factory=dict)
    """Proofs that were removed, with Lean's reason."""
    rests: dict[Gap, str] = field(default_factory=dict)
    """Accepted proofs that depend on unfinished declarations, with the names of these."""
    axioms: dict[Gap, tuple[str, ...]] = field(default_factory=dict)
    """Axioms of the declarations that contain the proofs."""
    errors: list[FileMessage] = field(default_factory=list)
    """Lean's errors in the file with these proofs: errors that the file had before, if they remain."""
    rounds: int = 0
    seconds: float = 0.0
    lean_version: str = ""
    rechecked: str = ""
    """What checked the compiled file again, see `FileReport`."""


@dataclass(frozen=True)
class _Verdict:
    """Lean's verdict on a command with proofs in it."""

    problem: str = ""
    axioms: tuple[str, ...] = ()
    rests: str = ""


class FillVerifier:
    """Verifies files with proofs in their gaps."""

    def __init__(self, toolchain: LeanToolchain, files: FileVerifier) -> None:
        self._toolchain = toolchain
        self._files = files

    async def check(self, file: FileGaps, fills: Mapping[Gap, Fill]) -> Checked:
        """The proofs that Lean accepts, each in an accepted form. Raises OutOfLimits."""
        async with self._files.trials() as judged:
            return await _Trials(self._toolchain, judged).check(file, fills)


class _Trials:
    """Finds out which proofs of a file Lean accepts, by trials with some of them."""

    def __init__(self, toolchain: LeanToolchain, judged: Callable[[SourceFile], Awaitable[Judged]]) -> None:
        """`judged`: verifies a version of the file."""
        self._toolchain = toolchain
        self._judged = judged

    async def check(self, file: FileGaps, fills: Mapping[Gap, Fill]) -> Checked:
        """See `FillVerifier.check`."""
        checked = Checked(dict(fills))
        settled: set[CommandSpan] = set()
        while checked.fills:
            judged = await self._judge(file, checked.fills, checked)
            if judged.problem:
                await self._one_by_one(file, checked)
                continue
            # A command may fail because of a failure above it, so handle the first one.
            doubtful = next((command for command, verdict in judged.verdicts.items() if verdict.problem), None)
            if doubtful is None:
                broken = judged.new_errors(file)
                if broken and await self._take_out_breaker(file, checked, broken):
                    continue
                judged.record(checked)
                return checked
            if doubtful in settled or checked.rounds > MOST_ROUNDS:
                _refuse(checked, doubtful, judged.verdicts[doubtful].problem)
            else:
                await self._settle(file, checked, doubtful, judged.verdicts[doubtful].problem)
                settled.add(doubtful)
        return checked

    async def _settle(self, file: FileGaps, checked: Checked, command: CommandSpan, problem: str) -> None:
        """For a refused command, keep the proofs that Lean accepts in some form, and refuse the rest."""
        mine = {gap: fill for gap, fill in checked.fills.items() if gap.command == command}
        others = {gap: fill for gap, fill in checked.fills.items() if gap.command != command}
        safer = {gap: replace(fill, form=len(FORMS) - 1) for gap, fill in mine.items()}
        verdict = (await self._judge(file, {**others, **safer}, checked)).verdict(command)
        if not verdict.problem:
            checked.fills = {**others, **safer}
            return
        # Add the proofs of the command one after the other, each in the first form that Lean accepts.
        accepted: dict[Gap, Fill] = {}
        for gap, fill in mine.items() if len(mine) > 1 else ():
            for form in range(len(FORMS)):
                trial = {**accepted, gap: replace(fill, form=form)}
                verdict = (await self._judge(file, {**others, **trial}, checked)).verdict(command)
                if not verdict.problem:
                    accepted = trial
                    break
            else:
                checked.refused[gap] = first_line_of(verdict.problem)
        if len(mine) == 1:
            checked.refused |= dict.fromkeys(mine, first_line_of(problem))
        checked.fills = {**others, **accepted}

    async def _take_out_breaker(self, file: FileGaps, checked: Checked, broken: Sequence[str]) -> bool:
        """Refuse the proofs of a command that cause a new error elsewhere in the file, such as in a `#guard_msgs` that
        compares axioms. False if no single command causes the errors."""
        commands = sorted(_commands(checked.fills), key=lambda command: command.name not in broken[0])
        for command in commands:
            if checked.rounds > MOST_ROUNDS:
                return False
            others = {gap: fill for gap, fill in checked.fills.items() if gap.command != command}
            if len((await self._judge(file, others, checked)).new_errors(file)) < len(broken):
                _refuse(checked, command, f"another command of the file fails with it: {broken[0]}")
                return True
        return False

    async def _one_by_one(self, file: FileGaps, checked: Checked) -> None:
        """Add the commands one after the other, if Lean gives no verdict on the file as a whole. Keeps those with which
        it does."""
        accepted: dict[Gap, Fill] = {}
        trial: dict[Gap, Fill] = {}
        for command in [None, *_commands(checked.fills)]:  # None: the file without proofs
            trial = accepted | {gap: fill for gap, fill in checked.fills.items() if gap.command == command}
            problem = (await self._judge(file, trial, checked)).problem if checked.rounds <= MOST_ROUNDS else "in doubt"
            if not problem:
                accepted = trial
                continue
            reason = f"the file cannot be verified with it: {problem}"
            lost = [gap for gap in checked.fills if command is None or gap.command == command]
            checked.refused |= dict.fromkeys(lost, reason)
            if command is None:
                break
        checked.fills = accepted

    async def _judge(self, file: FileGaps, fills: Mapping[Gap, Fill], checked: Checked) -> _Judgement:
        """Lean's verdict on each command with proofs in it. Raises OutOfLimits."""
        edits = edits_of(file, fills)
        source = from_text(applied(file.text, edits), module=MODULE)
        judged = await self._judged(source)
        report = judged.report
        checked.rounds += 1
        checked.seconds += report.seconds
        checked.lean_version, checked.rechecked = report.lean_version, report.rechecked
        above = "" if imports(file.text) else self._toolchain.default_header
        header = above.count("\n") + bool(above)
        verdicts = {}
        for command in _commands(fills):
            has_open_gap = any(gap.command == command and gap not in fills for gap in file.gaps)
            verdicts[command] = _verdict(judged, _lines_of(file.text, command, edits), has_open_gap, header)
        errors = [each for each in report.messages if each.severity == "error"]
        return _Judgement(report.problem, verdicts, [replace(each, line=each.line - header) for each in errors])


@dataclass(frozen=True)
class _Judgement:
    """Lean's verdicts on a file."""

    problem: str
    """Why there is no verdict on any command; empty if there are verdicts."""
    verdicts: dict[CommandSpan, _Verdict]
    """In the order of the file."""
    errors: list[FileMessage]

    def verdict(self, command: CommandSpan) -> _Verdict:
        """The verdict on one command."""
        return _Verdict(self.problem) if self.problem else self.verdicts[command]

    def new_errors(self, file: FileGaps) -> list[str]:
        """Errors that the file did not have before. Empty unless their number has grown: texts of errors may change."""
        if len(self.errors) <= len(file.errors):
            return []
        before = Counter(each.text for each in file.errors)
        return [*(Counter(each.text for each in self.errors) - before).elements()]

    def record(self, checked: Checked) -> None:
        """Write errors, axioms and dependencies into `checked`."""
        checked.errors = self.errors
        for gap in checked.fills:
            verdict = self.verdicts[gap.command]
            checked.axioms[gap] = verdict.axioms
            if verdict.rests:
                checked.rests[gap] = verdict.rests


def _commands(fills: Mapping[Gap, Fill]) -> list[CommandSpan]:
    """The commands with proofs in them, in the order of the file."""
    return list(dict.fromkeys(gap.command for gap in sorted(fills, key=lambda gap: gap.start)))


def _refuse(checked: Checked, command: CommandSpan, problem: str) -> None:
    """Remove the proofs of a command."""
    for gap in [gap for gap in checked.fills if gap.command == command]:
        del checked.fills[gap]
        checked.refused[gap] = first_line_of(problem)


def _lines_of(text: str, command: CommandSpan, edits: Sequence[Edit]) -> range:
    """The lines of a command (from 1) after the edits."""

    def added(end: int) -> int:
        before = [edit for edit in edits if edit.start < end]
        return sum(edit.new.count("\n") - text.count("\n", edit.start, edit.end) for edit in before)

    return range(command.line + added(command.start), command.last_line + added(command.end) + 1)


def _verdict(judged: Judged, lines: range, has_open_gap: bool, header: int) -> _Verdict:
    """Lean's verdict on the command in these lines. `header`: number of lines above the file's text."""
    mine = [verdict for verdict in judged.report.declarations if verdict.line in lines]
    if not mine:
        return _Verdict("it declares nothing that could be verified")
    axioms = tuple(sorted({axiom for verdict in mine for axiom in verdict.axioms}))
    for verdict in mine:
        if verdict.reason and not (verdict.reason == UNFINISHED and set(verdict.axioms) <= {*AXIOMS, SORRY}):
            return _Verdict(verdict.reason, axioms)
    if SORRY not in axioms or not judged.key:
        return _Verdict("", axioms)
    facts = {fact.name: fact for fact in judged.facts}
    names = {fact.name for fact in judged.facts if fact.line in lines}
    if not has_open_gap and any(facts[name].sorry for name in names):
        return _Verdict("it uses sorry itself, where no gap is left", axioms)
    return _Verdict("", axioms, "" if has_open_gap else _open_below(facts, names))


def _open_below(facts: Mapping[str, Fact], names: set[str]) -> str:
    """The unfinished declarations on which these declarations depend."""
    waiting, seen = list(names), set(names)
    unfinished = []
    while waiting:
        fact = facts[waiting.pop()]
        if fact.sorry:
            unfinished.append(fact.shown)
        below = set(fact.below)
        waiting += below - seen
        seen |= below
    return ", ".join(sorted(set(unfinished))) or "something that the file imports"
