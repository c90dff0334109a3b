"""Verifies a file with proofs in its gaps, as a whole and in fresh processes: what Lean does not accept is taken out.

A command whose gaps are all filled must be accepted by the kernel, with Lean's own axioms alone. Two things differ from
`proofmesh verify`: a command may have gaps that are still open, and one may rest on another that has such gaps. Then
`sorry` is among the axioms, and it must be these gaps' own: the filled command must not use it itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from node.lean.files.judging import LocalModule, shown_name
from node.lean.files.report import FileMessage
from node.lean.files.sources import from_text
from node.lean.files.verdicts import UNFINISHED
from node.lean.files.verifier import FileVerifier, Judged
from node.lean.holes.gaps import CommandSpan, FileGaps, Gap, first_line_of
from node.lean.text.headers import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import AXIOMS
from node.proving.fill_text import FORMS, Edit, Fill, applied, edits_of

MODULE = "ProofmeshFilled"
"""The file's module while it is verified: nothing that it imports may be called so."""

SORRY = "sorryAx"

MOST_ROUNDS = 60
"""Times that a file is verified again because a proof was not accepted. What is in doubt then is taken out at once."""


@dataclass
class Checked:
    """A file with those proofs in it that Lean accepts."""

    fills: dict[Gap, Fill]
    refused: dict[Gap, str] = field(default_factory=dict)
    """Proofs that were found and taken out again, with Lean's word on each."""
    rests: dict[Gap, str] = field(default_factory=dict)
    """Proofs that are accepted, and rest on something of the file that is still open."""
    axioms: dict[Gap, tuple[str, ...]] = field(default_factory=dict)
    """Of the declarations that a proof stands in."""
    errors: list[FileMessage] = field(default_factory=list)
    """Lean's own errors in the file with these proofs in it: those that it had before, as far as they are left."""
    rounds: int = 0
    seconds: float = 0.0
    lean_version: str = ""
    rechecked: str = ""
    """What checked the compiled file once more: `kernel`, `leanchecker`, or nothing."""


@dataclass(frozen=True)
class _Word:
    """Lean's word on a command with proofs in it."""

    problem: str = ""
    axioms: tuple[str, ...] = ()
    rests: str = ""


class FillVerifier:
    """Verifies files with proofs in their gaps."""

    def __init__(self, toolchain: LeanToolchain, files: FileVerifier) -> None:
        self._toolchain = toolchain
        self._files = files

    async def check(self, file: FileGaps, fills: Mapping[Gap, Fill]) -> Checked:
        """The proofs that Lean accepts, each in the form in which it does. Raises OutOfLimits."""
        checked = Checked(dict(fills))
        settled: set[CommandSpan] = set()
        while checked.fills:
            judged = await self._judge(file, checked.fills, checked)
            if judged.problem:
                await self._one_by_one(file, checked)
                continue
            # Whatever stands behind a command that fails may fail because of that: the first one is looked at.
            doubtful = next((command for command, word in judged.words.items() if word.problem), None)
            if doubtful is None:
                broken = judged.new_errors(file)
                if broken and await self._take_out_breaker(file, checked, broken):
                    continue
                judged.tell(checked)
                return checked
            if doubtful in settled or checked.rounds > MOST_ROUNDS:
                _refuse(checked, doubtful, judged.words[doubtful].problem)
            else:
                await self._settle(file, checked, doubtful, judged.words[doubtful].problem)
                settled.add(doubtful)
        return checked

    async def _settle(self, file: FileGaps, checked: Checked, command: CommandSpan, problem: str) -> None:
        """Of a command that is not accepted, keep the proofs that are: in the safer form, or not at all."""
        mine = {gap: fill for gap, fill in checked.fills.items() if gap.command == command}
        others = {gap: fill for gap, fill in checked.fills.items() if gap.command != command}
        safer = {gap: replace(fill, form=len(FORMS) - 1) for gap, fill in mine.items()}
        word = (await self._judge(file, {**others, **safer}, checked)).word(command)
        if not word.problem:
            checked.fills = {**others, **safer}
            return
        kept: dict[Gap, Fill] = {}
        for gap, fill in mine.items() if len(mine) > 1 else ():
            for form in range(len(FORMS)):
                trial = {**kept, gap: replace(fill, form=form)}
                word = (await self._judge(file, {**others, **trial}, checked)).word(command)
                if not word.problem:
                    kept = trial
                    break
            else:
                checked.refused[gap] = first_line_of(word.problem)
        if len(mine) == 1:
            checked.refused |= dict.fromkeys(mine, first_line_of(problem))
        checked.fills = {**others, **kept}

    async def _take_out_breaker(self, file: FileGaps, checked: Checked, broken: Sequence[str]) -> bool:
        """Take out the proofs of a command with which another part of the file fails that was right without them, such
        as a `#guard_msgs` that compares axioms. False where no single command is to blame."""
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
        """Where Lean comes to no verdict on the file as a whole: keep the commands with which it does."""
        kept: dict[Gap, Fill] = {}
        trial: dict[Gap, Fill] = {}
        for command in [None, *_commands(checked.fills)]:
            trial = kept | {gap: fill for gap, fill in checked.fills.items() if gap.command == command}
            problem = (await self._judge(file, trial, checked)).problem if checked.rounds <= MOST_ROUNDS else "in doubt"
            if not problem:
                kept = trial
                continue
            reason = f"the file cannot be verified with it: {problem}"
            lost = [gap for gap in checked.fills if command is None or gap.command == command]
            checked.refused |= dict.fromkeys(lost, reason)
            if command is None:
                break
        checked.fills = kept

    async def _judge(self, file: FileGaps, fills: Mapping[Gap, Fill], checked: Checked) -> _Judgement:
        """Lean's word on each command with proofs in it. Raises OutOfLimits."""
        edits = edits_of(file, fills)
        source = from_text(applied(file.text, edits), module=MODULE)
        async with aclosing(self._files.verify([source], everything=True)) as verified:
            judged = await anext(verified)
        report = judged.report
        checked.rounds += 1
        checked.seconds += report.seconds
        checked.lean_version, checked.rechecked = report.lean_version, report.rechecked
        above = "" if imports(file.text) else self._toolchain.default_header
        header = above.count("\n") + bool(above)
        words = {}
        for command in _commands(fills):
            left = any(gap.command == command and gap not in fills for gap in file.gaps)
            words[command] = _word(judged, _lines_of(file.text, command, edits), left, header)
        errors = [each for each in report.messages if each.severity == "error"]
        return _Judgement(report.problem, words, [replace(each, line=each.line - header) for each in errors])


@dataclass(frozen=True)
class _Judgement:
    """What Lean says of a file."""

    problem: str
    """Why it says nothing of any command."""
    words: dict[CommandSpan, _Word]
    """In the order of the file."""
    errors: list[FileMessage]

    def word(self, command: CommandSpan) -> _Word:
        """On one command."""
        return _Word(self.problem) if self.problem else self.words[command]

    def new_errors(self, file: FileGaps) -> list[str]:
        """Errors that the file did not have before. One that only reads otherwise now is an old one."""
        if len(self.errors) <= len(file.errors):
            return []
        before = Counter(each.text for each in file.errors)
        return [*(Counter(each.text for each in self.errors) - before).elements()]

    def tell(self, checked: Checked) -> None:
        """Write down what is accepted."""
        checked.errors = self.errors
        for gap in checked.fills:
            word = self.words[gap.command]
            checked.axioms[gap] = word.axioms
            if word.rests:
                checked.rests[gap] = word.rests


def _commands(fills: Mapping[Gap, Fill]) -> list[CommandSpan]:
    """The commands with proofs in them, in the order of the file."""
    return list(dict.fromkeys(gap.command for gap in sorted(fills, key=lambda gap: gap.start)))


def _refuse(checked: Checked, command: CommandSpan, problem: str) -> None:
    """Take the proofs of a command out."""
    for gap in [gap for gap in checked.fills if gap.command == command]:
        del checked.fills[gap]
        checked.refused[gap] = first_line_of(problem)


def _lines_of(text: str, command: CommandSpan, edits: Sequence[Edit]) -> range:
    """The lines of a command, from 1, when edits have been made."""

    def added(end: int) -> int:
        done = [edit for edit in edits if edit.start < end]
        return sum(edit.new.count("\n") - text.count("\n", edit.start, edit.end) for edit in done)

    return range(command.line + added(command.start), command.last_line + added(command.end) + 1)


def _word(judged: Judged, lines: range, left: bool, header: int) -> _Word:
    """Lean's word on the command in these lines. `left`: it has a gap that is open; `header`: lines above the file."""
    mine = [verdict for verdict in judged.report.declarations if verdict.line in lines]
    if not mine:
        return _Word("it declares nothing that could be verified")
    axioms = tuple(sorted({axiom for verdict in mine for axiom in verdict.axioms}))
    for verdict in mine:
        if verdict.reason and not (verdict.reason == UNFINISHED and set(verdict.axioms) <= {*AXIOMS, SORRY}):
            return _Word(verdict.reason, axioms)
    if SORRY not in axioms or judged.module is None:
        return _Word("", axioms)
    names = {name for name in judged.module.constants if judged.module.line_of(name) - header in lines}
    if not left and any(SORRY in judged.module.used[name] for name in names):
        return _Word("it uses sorry itself, where no gap is left", axioms)
    return _Word("", axioms, "" if left else _open_below(judged.module, names))


def _open_below(module: LocalModule, names: set[str]) -> str:
    """What declarations rest on that is not finished."""
    waiting, seen = list(names), set(names)
    found = []
    while waiting:
        name = waiting.pop()
        if name not in module.constants:
            continue
        if SORRY in module.used[name]:
            found.append(shown_name(module.written_for(name) or name))
        below = module.used[name] | {module.constants[name].inductive} - {""}
        waiting += below - seen
        seen |= below
    return ", ".join(sorted(set(found))) or "something that the file imports"
