"""One file to one .olean file, in a confined process; what Lean cannot take is left out, and the rest compiled.

Lean writes no .olean file when there is any error. So a file with errors is compiled again without the commands that
fail. That a theorem, a definition or a query is gone is noticed only by what uses its name, and that fails in turn.
Behind any other command that fails (`variable`, `open`, `notation`, an instance ...), a statement could mean something
else than it says, so nothing behind it is judged.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from node.lean.files.commands import Command, Text
from node.lean.files.report import FileMessage
from node.lean.process.fresh import Limits
from node.lean.process.watched import WatchedProcess, run_watched
from node.lean.toolchain.lean_toolchain import LeanToolchain

PASSES = 8
"""Times that a file is compiled: each time without what failed before."""

SECONDS_PER_LINE = 0.02
"""That a process gets beyond its limit for each line: Lean takes 4 ms for a short theorem on an idle core."""

PATIENCE = 3
"""Commands that may each take the whole limit before the rest of the file is given up."""

OUTPUT_BYTES = 64 * 2**20

_OPTIONS = (
    "--json",
    # Where each command stands, and how long it took. The threshold leaves out what is below the commands.
    "-Dtrace.Elab.command=true",
    "-Dtrace.profiler=true",
    "-Dtrace.profiler.threshold=1000000000",
    "-DmaxErrors=1000000",
)
_UNIMPORTED = (
    "unknown module prefix",
    "object file",
    "unknown package",
    "cannot import",
    "import failed",
    "bad import",
)

REMEDY = (
    "; pocket Lean has the core language alone: name a toolchain or project with --lean.toolchain or --lean.project"
)
_NEEDS_LIBRARY = ("'Lean'", "'Mathlib'", "'Std'", "'Batteries'", "'Aesop'", "'Lake'")


_PROVED_LATER = ("theorem", "lemma", "mutual")
"""Commands that Lean reports before it has elaborated all of them."""

_BETWEEN = "expected command"
"""How Lean's message ends where a command could begin, and none does."""


class _Position(msgspec.Struct):
    line: int
    column: int


class _Row(msgspec.Struct):
    """One line of `lean --json`."""

    severity: str
    data: str
    kind: str = ""
    pos: _Position | None = None
    endPos: _Position | None = None


@dataclass
class Compiled:
    """What became of a file's text."""

    text: Text
    olean: Path | None = None
    """None where nothing of the file could be compiled."""
    problem: str = ""
    """Why the file as a whole cannot be judged."""
    messages: list[FileMessage] = field(default_factory=list)
    """Lean's messages about the file as it stands."""
    commands: list[Command] = field(default_factory=list)
    failed: dict[Command, str] = field(default_factory=dict)
    """Commands that were left out, with why."""


class Compiler:
    """Compiles files in processes that may write one folder each."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits) -> None:
        self._toolchain = toolchain
        self._limits = limits

    async def compile(self, module: str, text: str, folder: Path, path: Sequence[Path], *, salvage: bool) -> Compiled:
        """Compile a text as a module.

        `folder`: an empty folder of its own; `path`: folders of modules that it may import besides the toolchain's;
        `salvage`: whether to go on without what fails.
        """
        compiled = Compiled(Text(text))
        doubt = _Doubt()
        passed: set[int] = set()
        out_of_limits = 0
        for attempt in range(PASSES if salvage else 1):
            place = folder / str(attempt)
            source = place.joinpath("source", *module.split(".")).with_suffix(".lean")
            source.parent.mkdir(parents=True)
            (place / "out").mkdir()
            source.write_text(compiled.text.without(compiled.failed), encoding="utf-8")
            finished = await self._lean(place, source, path, SECONDS_PER_LINE * text.count("\n"))
            limit = finished.cut
            out_of_limits += bool(limit)
            rows = _rows(finished.output)
            messages = [_message(row, compiled.text) for row in rows if row.kind != "trace"]
            if attempt == 0:
                compiled.messages = messages
            reported = compiled.text.commands([(_message(row, compiled.text), row.kind) for row in rows])
            compiled.commands = _merged(compiled, reported)
            olean = place / "out" / "module.olean"
            if finished.code == 0 and not limit and olean.is_file():
                compiled.olean = olean
                return compiled
            compiled.problem = _header_problem(messages, compiled.commands, finished, limit)
            if compiled.problem:
                return compiled
            before = dict(compiled.failed)
            self._leave_out(compiled, messages, passed)
            passed.update(command.start for command in (reported[:-1] if limit else reported))
            if limit and not doubt.settle(compiled, reported[-1] if reported else None, limit):
                break
            _leave_out_what_may_depend(compiled)
            if compiled.failed == before or out_of_limits > PATIENCE:
                break
        self._give_up(compiled, "Lean does not get through the file, even without the commands that fail")
        return compiled

    async def _lean(self, place: Path, source: Path, path: Sequence[Path], more_seconds: float) -> WatchedProcess:
        root = place / "source"
        out = place / "out"
        return await run_watched(
            [
                *self._toolchain.command,
                *_OPTIONS,
                f"--root={root}",
                "-o",
                str(out / "module.olean"),
                str(source),
            ],
            environment=self._toolchain.with_modules(path),
            folder=root,
            limits=replace(self._limits, seconds=self._limits.seconds + more_seconds),
            keeper=self._toolchain.protections.keeper([out]),
            output_bytes=OUTPUT_BYTES,
        )

    def _leave_out(self, compiled: Compiled, messages: Sequence[FileMessage], passed: set[int]) -> None:
        """Mark the commands that Lean says fail. `passed`: where those begin that an earlier time did not fail."""
        for message in messages:
            owner = _owner(compiled.commands, compiled.text, message)
            if message.severity == "error" and owner is not None:
                again = "it uses what is not accepted: " if owner.start in passed else ""
                compiled.failed.setdefault(owner, again + message.text)

    def _give_up(self, compiled: Compiled, reason: str) -> None:
        for command in compiled.commands:
            compiled.failed.setdefault(command, reason)


class _Doubt:
    """Which command Lean was at when it was stopped.

    Lean reports a theorem when its statement is elaborated, and goes on with the proof: so it is either the last one
    that was reported or the one behind it. The likelier one is left out; where Lean is stopped at the other one again,
    the first was innocent.
    """

    def __init__(self) -> None:
        self._blamed: Command | None = None
        self._spared: Command | None = None

    def settle(self, compiled: Compiled, last: Command | None, limit: str) -> bool:
        """Mark the likelier command; False when there is none."""
        text, failed = compiled.text, {each.start for each in compiled.failed}
        following = text.after(last)
        while following is not None and following.start in failed:
            following = text.after(following)
        left = [following] if following else []
        if last is not None and last.start not in failed:
            first = last.keyword in _PROVED_LATER and not (following and following.keyword.startswith("#"))
            left.insert(0 if first else len(left), text.beginning_at(last.start))
        if not left:
            return False
        spared = next((each for each in left if self._spared and each.start == self._spared.start), None)
        if spared is not None and self._blamed is not None:
            del compiled.failed[self._blamed]
        self._blamed = spared or left[0]
        self._spared = next((each for each in left if spared is None and each is not self._blamed), None)
        others = [each for each in compiled.commands if each.start != self._blamed.start]
        compiled.commands = sorted([*others, self._blamed], key=lambda each: each.start)
        compiled.failed[self._blamed] = f"it took too much: {limit}"
        return True


def _leave_out_what_may_depend(compiled: Compiled) -> None:
    """Mark what stands behind a command that others can depend on without naming it."""
    for command, reason in sorted(compiled.failed.items(), key=lambda item: item[0].start):
        if not command.neutral:
            what = f"the command in line {command.line} fails, on which it may depend: {reason}"
            for later in _behind(compiled, command):
                compiled.failed.setdefault(later, what)
            break


def _merged(compiled: Compiled, reported: Sequence[Command]) -> list[Command]:
    """The commands that are known after another time: none reaches over the beginning of the next."""
    known = {command.start: command for command in (*compiled.commands, *reported, *compiled.failed)}
    found = sorted(known.values(), key=lambda command: command.start)
    ends = [command.start for command in found[1:]] + [len(compiled.text.text)] * bool(found)
    return [
        command
        if command in compiled.failed or command.end <= end
        else compiled.text.command(command.start, end, command.seconds, min(command.stop, end))
        for command, end in zip(found, ends, strict=True)
    ]


def _behind(compiled: Compiled, command: Command) -> list[Command]:
    """The commands behind one, those included that Lean has not reported."""
    behind = [each for each in compiled.commands if each.start > command.start]
    last = behind[-1] if behind else command
    while (following := compiled.text.after(last)) is not None:
        if all(each.start != following.start for each in compiled.commands):
            behind.append(following)
            compiled.commands.append(following)
        last = following
    return behind


def _owner(commands: Sequence[Command], text: Text, message: FileMessage) -> Command | None:
    """The command that a message is about."""
    at = text.offset(message.line, message.column)
    owner = commands[0] if commands else None
    for command in commands:
        if command.start > at:
            break
        owner = command
    # What follows a command that is whole is nobody's; a command that breaks off is itself what Lean cannot read.
    if owner is not None and at >= owner.stop and message.text.endswith(_BETWEEN):
        return text.rest(owner) or owner
    return owner


def _header_problem(
    messages: Sequence[FileMessage], commands: Sequence[Command], finished: WatchedProcess, limit: str
) -> str:
    """Why Lean did not even get to the first command; empty when it did."""
    errors = [message.text for message in messages if message.severity == "error"]
    if errors and any(sign in errors[0] for sign in _UNIMPORTED):
        first = errors[0].split("\n", 1)[0]
        return first + (REMEDY if any(name in first for name in _NEEDS_LIBRARY) else "")
    if errors or limit or (commands and finished.code in (0, 1)):
        return "" if commands or limit else (errors[0] if errors else "Lean reports no command")
    output = (finished.errors or finished.output).strip()[-400:]
    return f"Lean ended with code {finished.code}{': ' + output if output else ''}"


def _rows(output: str) -> list[_Row]:
    rows = []
    for line in output.splitlines():
        with contextlib.suppress(msgspec.DecodeError, msgspec.ValidationError):
            rows.append(msgspec.json.decode(line.encode(), type=_Row))
    return rows


def _message(row: _Row, text: Text) -> FileMessage:
    start, end = row.pos or _Position(1, 0), row.endPos or _Position(0, 0)
    return FileMessage(row.severity, text.as_written(row.data), start.line, start.column, end.line, end.column)
