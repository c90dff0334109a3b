"""Compiles one file to one .olean file in a confined process, without the commands that fail.

Lean writes no .olean file if there is any error. So a file with errors is compiled again without the commands that
fail. Removing a theorem, a definition or a query only affects commands that use its name, and those fail in turn.
Removing any other command (`variable`, `open`, `notation`, an instance ...) could change the meaning of later
statements. So if such a command fails, nothing behind it is judged.
"""

from __future__ import annotations

import contextlib
import signal
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from common.output.visible import visible
from node.lean.check.files.commands import UNCLOSED, UNREAD, Command, Text
from node.lean.check.files.report import FileMessage
from node.lean.olean.module import PARTS, part
from node.lean.olean.region import BadOlean
from node.lean.process.fresh import Limits, WatchedProcess, run_watched
from node.lean.text.lexing import unclosed_comment
from node.lean.text.statement import import_lines, imports, is_module
from node.lean.toolchain.advice import damaged_module, with_advice
from node.lean.toolchain.lean_toolchain import LeanToolchain

PASSES = 8
"""Most compilations of one file, each without the commands that failed before."""

SECONDS_PER_LINE = 0.02
"""Added to the time limit of a process for each line. Lean takes 4 ms for a short theorem on an idle core."""

IMPORTS_SHARE = 0.05
"""If the imports of a file took more than this share of a time limit that it exceeded, Lean runs again with their time
added: the limit is for the text."""

PATIENCE = 3
"""Number of commands that may each exceed a limit before the remaining file is not judged."""

OUTPUT_BYTES = 64 * 2**20

_OPTIONS = (
    "--json",
    # The position and time of each command. The threshold hides everything below the level of commands.
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
    "failed to open file",
    "failed to read file",
)

CODE_PARTS = (".ir", ".ir.sig")
"""Suffixes of the files with the compiled code of a module, in place of `.olean`."""

_PROVED_LATER = ("theorem", "lemma", "mutual")
"""Commands that Lean reports before it has elaborated them completely."""

_OPEN_COMMENT = "unterminated comment"
"""Lean's message at the end of a file with a comment that is never closed."""

_NO_TOKEN = "expected token"
"""Lean's message at a character that it does not know."""

_BETWEEN = "expected command"
"""The end of Lean's message at a position where a command should begin, but none does."""


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
    """The result of compiling a file's text."""

    text: Text
    olean: Path | None = None
    """The compiled file; None if nothing could be compiled."""
    problem: str = ""
    """Why the file as a whole cannot be judged; empty if it can."""
    messages: list[FileMessage] = field(default_factory=list)
    """Lean's messages about the unchanged file."""
    commands: list[Command] = field(default_factory=list)
    failed: dict[Command, str] = field(default_factory=dict)
    """Commands that were removed, with the reasons."""

    def command_at(self, message: FileMessage) -> Command | None:
        """The command that a message is about."""
        return _owner(self.commands, self.text, message)


class Compiler:
    """Compiles files in processes that may each write to one folder only."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits) -> None:
        self._toolchain = toolchain
        self._limits = limits
        self.version = toolchain.version
        """Lean's version; empty if it is not known."""

    async def compile(
        self, module: str, text: str, folder: Path, path: Sequence[Path], *, salvage: bool, named_as: str = ""
    ) -> Compiled:
        """Compile a text as a module.

        `folder`: an empty folder for this call; `path`: folders of modules that it may import besides the toolchain's;
        `salvage`: compile again without the commands that fail; `named_as`: see `Text`.
        """
        compiled = Compiled(Text(text, self.version, named_as))
        suspects = _Suspects()
        passed: set[int] = set()
        out_of_limits, import_seconds = 0, 0.0  # the imports are measured once a time limit is exceeded
        for attempt in range(PASSES if salvage else 1):
            place = folder / str(attempt)
            source = place.joinpath("source", *module.split(".")).with_suffix(".lean")
            source.parent.mkdir(parents=True)
            (place / "out").mkdir()
            source.write_text(compiled.text.without(compiled.failed), encoding="utf-8")
            more_seconds = SECONDS_PER_LINE * text.count("\n")
            finished = await self._lean(place, source, path, more_seconds + import_seconds)
            if finished.timed_out and not import_seconds and imports(text):
                import_seconds = await self._import_seconds(folder / "imports", text, path)
                if import_seconds > IMPORTS_SHARE * self._limits.seconds:
                    finished = await self._lean(place, source, path, more_seconds + import_seconds)
            limit = finished.cut or _crash(finished)
            out_of_limits += bool(limit)
            rows = _rows(finished.output)
            messages = [_message(row, compiled.text) for row in rows if row.kind != "trace"]
            if attempt == 0:
                compiled.messages = messages
            reported = compiled.text.commands([(_message(row, compiled.text), row.kind) for row in rows])
            compiled.commands = _merged(compiled, reported)
            if _cut_open_comment(compiled, messages):
                continue  # Lean's other messages may come from the same comment
            olean = place / "out" / "module.olean"
            if finished.code == 0 and not limit and olean.is_file():
                compiled.olean = olean
                return compiled
            compiled.problem = _header_problem(messages, compiled.commands, finished, limit)
            if limit and not (compiled.problem or finished.cut or reported) and imports(text):
                compiled.problem = await self._crash_of_imports(folder / "crash", text, path)
            if compiled.problem:
                return compiled
            # If a pass marks no further command as failed, another pass would end in the same way.
            before = dict(compiled.failed)
            self._mark_failed(compiled, messages, passed)
            # If Lean was stopped, it may not have finished the last command that it reported.
            passed.update(command.start for command in (reported[:-1] if limit else reported))
            reason = f"it exceeded a limit: {limit}" if finished.cut else limit
            if import_seconds >= self._limits.seconds:
                reason += "; its imports alone take longer than the time limit: allow more seconds"
            if limit and not suspects.settle(compiled, reported[-1] if reported else None, reason):
                break
            _fail_dependents(compiled)
            if compiled.failed == before or out_of_limits > PATIENCE:
                break
        self._give_up(compiled, "Lean could not compile the file, even without the commands that fail")
        return compiled

    async def _crash_of_imports(self, place: Path, text: str, path: Sequence[Path]) -> str:
        """Why Lean crashes at the imports of a text alone; empty if it does not."""
        crash = _crash(await self._imports_alone(place, text, path), "its imports")
        damage = await damaged_module(self._toolchain.module_folders) if crash else ""
        return f"{crash}; {damage}" if damage else crash

    async def _import_seconds(self, place: Path, text: str, path: Sequence[Path]) -> float:
        """Seconds that the imports of a text take, at most the time limit."""
        began = time.monotonic()
        await self._imports_alone(place, text, path)
        # To end a process takes time as well, and on a busy machine more than these imports.
        return min(self._limits.seconds, time.monotonic() - began)

    async def _imports_alone(self, place: Path, text: str, path: Sequence[Path]) -> WatchedProcess:
        (place / "source").mkdir(parents=True)
        (place / "out").mkdir()
        source = place / "source" / "Imports.lean"
        source.write_text("\n".join(text.split("\n")[: import_lines(text)]) + "\n", encoding="utf-8")
        return await self._lean(place, source, path, 0.0)

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
            keeper=self._toolchain.keeper([out], [root, *path]),
            output_bytes=OUTPUT_BYTES,
        )

    def _mark_failed(self, compiled: Compiled, messages: Sequence[FileMessage], passed: set[int]) -> None:
        """Mark the commands with errors as failed. `passed`: starts of commands without an error in earlier passes."""
        for message in messages:
            owner = _owner(compiled.commands, compiled.text, message)
            if message.severity == "error" and owner is not None:
                prefix = "it uses a declaration that is not accepted: " if owner.start in passed else ""
                compiled.failed.setdefault(owner, prefix + message.text)

    def _give_up(self, compiled: Compiled, reason: str) -> None:
        """Mark all remaining commands as failed."""
        for command in compiled.commands:
            compiled.failed.setdefault(command, reason)


def passed_on(olean: Path, module: str, folder: Path, text: str) -> Path:
    """Move a compiled file to its place below a folder, with the other files that Lean writes for this text: those of
    a text that begins with `module` (see PARTS). Returns its new path. Raises BadOlean and OSError.

    Nothing else is passed on, because code in the file may have written other files next to it.
    """
    place = folder.joinpath(*module.split(".")).with_suffix(".olean")
    place.parent.mkdir(parents=True, exist_ok=True)
    split = is_module(text)
    for suffix in ("", *PARTS) if split else ("",):
        written = part(olean, suffix)
        if written.is_symlink():
            raise BadOlean(f"the compiled file {written.name} is a link to another one")
        if not written.is_file():  # reading a pipe, for example, would wait for somebody to write into it
            raise BadOlean(f"Lean wrote no file {written.name}, or another kind of file stands in its place")
        written.rename(part(place, suffix))
    # Code runs only where code of the file may run anyway: while other files that import it are elaborated.
    for suffix in CODE_PARTS if split else ():
        written = olean.with_suffix(suffix)
        if written.is_file() and not written.is_symlink():
            written.rename(place.with_suffix(suffix))
    return place


def _cut_open_comment(compiled: Compiled, messages: Sequence[FileMessage]) -> bool:
    """Mark the text from a comment that is never closed as failed. Returns False if Lean misses no end of a comment.

    Lean blames the command before the comment, which may be whole.
    """
    if not any(message.severity == "error" and message.text == _OPEN_COMMENT for message in messages):
        return False
    start = unclosed_comment(compiled.text.without(compiled.failed))
    if start < 0:
        return False
    comment = replace(compiled.text.command(start, len(compiled.text.text)), keyword=UNREAD)
    compiled.failed = {command: reason for command, reason in compiled.failed.items() if command.start < start}
    compiled.failed[comment] = UNCLOSED
    compiled.commands = _merged(compiled, [command for command in compiled.commands if command.start < start])
    return True


class _Suspects:
    """Decides which command Lean was elaborating when it was stopped, or when it crashed.

    Lean reports a theorem when its statement is elaborated, before its proof. So Lean was either at the last reported
    command or at the next one. The likelier of the two is removed. If Lean is then stopped at the other one again, the
    first is restored.
    """

    def __init__(self) -> None:
        self._blamed: Command | None = None
        self._spared: Command | None = None

    def settle(self, compiled: Compiled, last: Command | None, reason: str) -> bool:
        """Mark the likelier command as failed for this reason. Returns False if there is no candidate."""
        text, failed = compiled.text, {each.start for each in compiled.failed}
        following = text.after(last)
        while following is not None and following.start in failed:
            following = text.after(following)
        candidates = [following] if following else []
        if last is not None and last.start not in failed:
            first = last.keyword in _PROVED_LATER and not (following and following.keyword.startswith("#"))
            candidates.insert(0 if first else len(candidates), text.beginning_at(last.start))
        if not candidates:
            return False
        spared = next((each for each in candidates if self._spared and each.start == self._spared.start), None)
        if spared is not None and self._blamed is not None:
            # Lean was stopped at the spared command, so the command removed before was not the cause.
            del compiled.failed[self._blamed]
        self._blamed = spared or candidates[0]
        self._spared = next((each for each in candidates if spared is None and each is not self._blamed), None)
        others = [each for each in compiled.commands if each.start != self._blamed.start]
        compiled.commands = sorted([*others, self._blamed], key=lambda each: each.start)
        compiled.failed[self._blamed] = reason
        return True


def _fail_dependents(compiled: Compiled) -> None:
    """Mark all commands behind the first failing one that others can depend on without naming it."""
    for command, reason in sorted(compiled.failed.items(), key=lambda item: item[0].start):
        if not command.neutral:
            problem = f"it may depend on the command in line {command.line}, which fails: {reason}"
            for later in _behind(compiled, command):
                compiled.failed.setdefault(later, problem)
            break


def _merged(compiled: Compiled, reported: Sequence[Command]) -> list[Command]:
    """All commands known after another pass. Each is cut to end where the next one begins."""
    by_start = {command.start: command for command in (*compiled.commands, *reported, *compiled.failed)}
    commands = sorted(by_start.values(), key=lambda command: command.start)
    ends = [command.start for command in commands[1:]] + [len(compiled.text.text)] * bool(commands)
    return [
        command
        if command in compiled.failed or command.end <= end
        else compiled.text.command(command.start, end, command.seconds, min(command.stop, end))
        for command, end in zip(commands, ends, strict=True)
    ]


def _behind(compiled: Compiled, command: Command) -> list[Command]:
    """The commands behind one, including those that Lean has not reported."""
    behind = [each for each in compiled.commands if each.start > command.start]
    known = {each.start for each in compiled.commands}
    last = behind[-1] if behind else command
    while (following := compiled.text.after(last)) is not None:
        if following.start not in known:
            known.add(following.start)
            behind.append(following)
            compiled.commands.append(following)
        last = following
    return behind


def _owner(commands: Sequence[Command], text: Text, message: FileMessage) -> Command | None:
    """The command that a message is about."""
    at = text.offset(message.line, message.column)
    before = bisect_right(commands, at, key=lambda each: each.start)  # commands are sorted by start
    # Text behind a complete command belongs to no command. An incomplete command is itself the unreadable text.
    unread = message.text.endswith(_BETWEEN) or message.text.startswith(f"{_NO_TOKEN}:")
    if commands and not before and unread:  # nor does text above the first one
        return replace(text.command(at, commands[0].start), keyword=UNREAD)
    owner = commands[max(before - 1, 0)] if commands else None
    if owner is not None and at >= owner.stop and unread:
        return text.rest(owner) or owner
    return owner


def _crash(finished: WatchedProcess, place: str = "it") -> str:
    """How Lean crashed; empty if it did not. Code of the file can crash it, for example with an endless recursion."""
    if finished.code >= 0:
        return ""
    return f"Lean crashes at {place}: signal {-finished.code} ({signal.strsignal(-finished.code)})"


def _header_problem(
    messages: Sequence[FileMessage], commands: Sequence[Command], finished: WatchedProcess, limit: str
) -> str:
    """Why Lean did not reach the first command; empty if it did."""
    wrong = [message for message in messages if message.severity == "error"]
    errors = [message.text for message in wrong]
    if errors and any(sign in errors[0] for sign in _UNIMPORTED):
        first = errors[0].split("\n", 1)[0]
        if "non-`module`" in first:
            return (
                f"{first}; a file that begins with `module` can import modules alone: remove `module`, or add it there"
            )
        return with_advice(first)
    if errors or limit or (commands and finished.code in (0, 1)):
        return (
            "" if commands or limit else (f"line {wrong[0].line}: {errors[0]}" if wrong else "Lean reported no command")
        )
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
    said = text.as_written(row.data)
    if row.severity == "error" and said == _NO_TOKEN:
        said = _with_character(said, text, start)
    return FileMessage(row.severity, said, start.line, start.column, end.line, end.column)


def _with_character(said: str, text: Text, place: _Position) -> str:
    """Lean's message at a character that it does not know, with this character if people cannot see it."""
    char = text.text[text.offset(place.line, place.column) :][:1]
    return f"{said}: here is the character {visible(char)}" if char and visible(char) != char else said
