"""Elaborates whole texts in a warm worker process, and returns Lean's diagnostics and the goals at given positions."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from common.lean import Context
from node.lean.check.files.compiling import Compiled, Compiler
from node.lean.gaps.contexts import ContextModules, ScopedText
from node.lean.gaps.gap import CommandSpan, FileGaps, Gap, Lines, first_line_of, position, spans
from node.lean.process.child import Ending
from node.lean.process.fresh import Limits, scratch_folder
from node.lean.text.goals import without_tag
from node.lean.text.lexing import Mention, mentions
from node.lean.text.statement import import_lines, imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.process import URI, Diagnostic, LeanProcess, Position, WorkerEnded, WorkerOptions

RECYCLE_EDITS = 5000
"""Number of edits after which the process is replaced, as in the pool."""

FIRST_QUESTION = 10**9
"""Ids of questions start here, so that they differ from the ids of edits."""


@dataclass(frozen=True)
class ReplOptions(WorkerOptions):
    """Options of a worker for texts by users: Lean's own defaults, for which such texts are written."""

    def arguments(self) -> list[str]:
        ours = ("-Dlinter.all=", "-DautoImplicit=")
        return [argument for argument in super().arguments() if not argument.startswith(ours)]


class _TermGoal(msgspec.Struct):
    goal: str = ""


class _Goals(msgspec.Struct):
    goals: list[str] = []


@dataclass(frozen=True)
class Goals:
    """The goals at a position of a text."""

    term: str | None
    """At a term: its expected type, with the local context."""
    tactic: tuple[str, ...]
    """At a tactic: the goals before it."""


@dataclass(frozen=True)
class ElaboratedCommand:
    """The result of elaborating a text."""

    diagnostics: list[Diagnostic]
    goals: list[Goals]
    """The goals at the requested positions, in order."""


class TextProcess(LeanProcess):
    """A worker process that also answers requests about positions in its document."""

    _questions: int = 0

    async def ask(self, method: str, place: Position, limit: float) -> msgspec.Raw:
        """The response to a language server request about a position. Raises WorkerEnded."""
        self._questions += 1
        number = FIRST_QUESTION + self._questions
        self._send(method, {"textDocument": {"uri": URI}, "position": place}, number)
        try:
            async with asyncio.timeout(limit):
                while (message := await self._receive()) is not None:
                    if message.id == number and not message.method:
                        return message.result
        except TimeoutError:
            raise self._ended(Ending.TIMEOUT, "no answer in time") from None
        raise self._ended(Ending.MEMORY if self.child.guard.exceeded else Ending.DIED, "the Lean process ended")


@dataclass
class Elaborator:
    """Elaborates texts, one at a time. A process that ended is replaced."""

    toolchain: LeanToolchain
    options: WorkerOptions
    seconds: float
    """Time limit for one text."""
    _process: TextProcess | None = None
    _imports: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, text: str, places: Sequence[Position] = ()) -> ElaboratedCommand:
        """Elaborate a text. Raises WorkerEnded if Lean did not finish; the next text then gets a new process."""
        async with self._lock:
            try:
                return await self._run(text, places)
            except WorkerEnded as end:
                await self._kill()
                if end.ending is not Ending.DIED:
                    raise
            try:  # the crash may not be this text's fault (the process may have been killed): retry once
                return await self._run(text, places)
            except WorkerEnded:
                await self._kill()
                raise

    async def stop(self) -> None:
        """End the process."""
        await self._kill()

    async def _run(self, text: str, places: Sequence[Position]) -> ElaboratedCommand:
        process = await self._ready(text)
        diagnostics = await process.edit(text, silence=self.seconds, limit=self.seconds)
        end = time.monotonic() + self.seconds
        goals = [await _goals(process, place, max(0.1, end - time.monotonic())) for place in places]
        return ElaboratedCommand(diagnostics, goals)

    async def _ready(self, text: str) -> TextProcess:
        """A process that has loaded the text's imports."""
        imports = "".join(line + "\n" for line in text.split("\n")[: import_lines(text)])
        process = self._process
        if process is None or imports != self._imports or not process.alive or process.edits >= RECYCLE_EDITS:
            await self._kill()
            process = self._process = await TextProcess.start(self.toolchain, self.options, imports)
            self._imports = imports
        return process

    async def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await process.kill()


async def _goals(process: TextProcess, place: Position, limit: float) -> Goals:
    term = msgspec.json.decode(
        await process.ask("$/lean/plainTermGoal", place, limit) or b"null", type=_TermGoal | None
    )
    tactic = msgspec.json.decode(await process.ask("$/lean/plainGoal", place, limit) or b"null", type=_Goals | None)
    return Goals(term.goal if term else None, tuple(tactic.goals) if tactic else ())


# --- Finds the gaps of a file. Lean elaborates the file for the goals, and again to tell proofs from data ------------
#
# goals      a worker elaborates the unchanged file, and shows the goal at each `sorry`
# commands   another process compiles the file at the same time, and reports where its commands and errors are
# proofs     the worker elaborates the file with probes, from the first probe on


NO_GOAL = "Lean shows no goal here: it does not elaborate this `sorry`, or does not know its type"
DATA = "a value is missing here, not a proof"
ON_DATA = "the goal depends on a value that is missing"
MARK = "\ufeff"

_Elaborated = tuple[list[Goals] | WorkerEnded, Compiled | None]


@dataclass
class GapFinder:
    """Finds the gaps of files, one file at a time. Call `close` at the end."""

    toolchain: LeanToolchain
    seconds: float = 60.0
    """Time limit for elaborating a file."""
    memory_mb: int = 2048
    """Memory limit of each Lean process."""
    start_seconds: float = 60.0
    """Time limit for starting Lean and loading a file's imports."""
    contexts: ContextModules | None = None
    """Compiles the commands above the first gap of a long file."""
    _folder: Path = field(default_factory=lambda: scratch_folder("proofmesh-gaps-"))
    _elaborator: Elaborator | None = None

    async def close(self) -> None:
        """End the Lean process, and remove the scratch folder."""
        if self._elaborator is not None:
            await self._elaborator.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    async def find(self, text: str) -> FileGaps:
        """The gaps of a file with this text, whose lines must end with line feeds alone. Raises OSError."""
        # 1. Without a `sorry`, or if Lean cannot read the text, there is nothing to ask Lean.
        result = FileGaps(text)
        mentioned = mentions(text)
        if text.startswith(MARK):
            result.problem = "it begins with a byte order mark, which Lean does not read: save it without one"
        if not mentioned or result.problem:
            return result
        # 2. The file is compiled in a fresh process for its errors, while a warm worker elaborates it for the goals.
        header = "" if imports(text) or not self.toolchain.default_header else f"{self.toolchain.default_header}\n"
        whole = header + text
        moved = [mention.moved(len(header)) for mention in mentioned]
        compiling = asyncio.create_task(self._compiled(whole))
        try:
            document, places = await self._shortened(whole, moved)
        except BaseException:
            compiling.cancel()
            raise
        goals, compiled = await self._elaborated(document, places, compiling)
        errors = [each for each in compiled.messages if each.severity == "error"] if compiled else []
        result.errors = [replace(each, line=each.line - header.count("\n")) for each in errors]
        result.problem = compiled.problem if compiled else ""
        if isinstance(goals, WorkerEnded):
            result.problem = result.problem or f"Lean does not finish it: {goals.reason} (limit {self.seconds:g} s)"
            return result
        # 3. A second elaboration tells proofs from data: each `sorry` is replaced by a tactic that only proves.
        if compiled is None or result.problem:
            return result
        result.commands = spans(compiled.text, compiled.commands, errors, whole, len(header))
        shown = [_shown(each) for each in goals]
        proofs = await self._proofs(document, places, [tactic for tactic, _ in shown])
        # 4. Each `sorry` with its command; positions are those of the text without the header.
        lines = Lines(text)
        for mention, (tactic, goal), proof in zip(mentioned, shown, proofs, strict=True):
            command = _around(result.commands, mention.start)
            if command is not None:
                reason = _reason(command, goal, proof)
                line, column = lines.place(mention.start)
                name = _name(compiled, command, line + header.count("\n"))
                result.gaps.append(Gap(mention.start, line, column, name, command, tactic, goal, reason))
        return result

    async def _shortened(self, text: str, mentioned: list[Mention]) -> tuple[str, list[Mention]]:
        """The text with the commands above the first gap replaced by a module's import, and the gaps in this text."""
        if self.contexts is None:
            return text, mentioned
        start = ScopedText(text, 0).start_of(mentioned[0].start)
        short = (await self.contexts.shorter(Context.of(text[:start]))).text
        return short + text[start:], [mention.moved(len(short) - start) for mention in mentioned]

    async def _elaborated(
        self, text: str, mentioned: list[Mention], compiling: asyncio.Task[Compiled]
    ) -> tuple[list[Goals] | WorkerEnded, Compiled | None]:
        """The goals at each `sorry`, or why there are none; and the compiled file, or None after a timeout.

        Raises OSError.
        """
        try:
            return await self._goals(text, mentioned), await compiling
        except WorkerEnded as end:
            return end, None if end.ending is Ending.TIMEOUT else await compiling
        finally:
            compiling.cancel()
            await asyncio.gather(compiling, return_exceptions=True)

    async def _goals(self, text: str, mentioned: list[Mention]) -> list[Goals]:
        """The goals at each `sorry`. Raises WorkerEnded, OSError."""
        if self._elaborator is None:
            options = WorkerOptions(memory_mb=self.memory_mb, start_seconds=self.start_seconds, in_file=True)
            toolchain = self.contexts.toolchain if self.contexts is not None else self.toolchain
            self._elaborator = Elaborator(toolchain, options, self.seconds)
        places = [position(text, mention.start) for mention in mentioned]
        return (await self._elaborator.run(text, places)).goals

    async def _proofs(self, text: str, mentioned: list[Mention], tactics: list[bool]) -> list[bool]:
        """For each mention, True if a proof is missing there. All False if Lean does not finish the probed text."""
        assert self._elaborator is not None
        probed_text = probed(text, mentioned, tactics)
        try:
            return probed_text.proofs((await self._elaborator.run(probed_text.text)).diagnostics)
        except WorkerEnded:
            return [False] * len(mentioned)

    async def _compiled(self, text: str) -> Compiled:
        """Compile the unchanged file for its commands and errors."""
        folder = Path(tempfile.mkdtemp(prefix="file-", dir=self._folder))
        limits = Limits(seconds=self.seconds + self.start_seconds, memory_mb=self.memory_mb)
        try:
            return await Compiler(self.toolchain, limits).compile("Main", text, folder, [], salvage=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _shown(goals: Goals) -> tuple[bool, str]:
    """True if the `sorry` is a tactic, and the goal there (empty if Lean shows none)."""
    if goals.term is not None:
        return False, goals.term
    return True, without_tag(goals.tactic[0]) if goals.tactic else ""


def _around(commands: list[CommandSpan], at: int) -> CommandSpan | None:
    number = bisect_right([command.start for command in commands], at) - 1
    return commands[number] if number >= 0 else None


def _reason(command: CommandSpan, goal: str, proof: bool) -> str:
    """Why no proof can be searched for a gap; empty if one can."""
    if command.error:
        return f"its command does not compile: {command.error}"
    if command.blocked:
        return f"it may depend on a command above that fails: {command.blocked}"
    if not goal:
        return NO_GOAL
    if not proof:
        return f"{DATA}: {first_line_of(goal.partition('⊢')[2].strip() or goal)}"
    return ON_DATA if mentions(goal) else ""


def _name(compiled: Compiled, command: CommandSpan, line: int) -> str:
    """The name of a gap's declaration; in a `mutual` block, of the last one that begins above the gap."""
    if command.name:
        return command.name
    inside = [
        name
        for each in compiled.commands
        if each.keyword == "mutual" and each.line <= line <= each.last_line
        for _, name, begins in compiled.text.declared(each)
        if begins <= line
    ]
    return inside[-1] if inside else command.keyword


# ----------------------------------------------------------------------------------------------------------------------
# Tells whether a `sorry` stands for a proof or for data, by replacing each one with a probe. Pure.
#
# A probe has Lean elaborate the goal's type as a proposition and report whether that succeeded. Only a reported
# success counts as a missing proof. So a `sorry` that Lean never elaborates does not count as one.

_PROOF, _DATA = "proofmesh: a proof", "proofmesh: data"


@dataclass(frozen=True)
class ProbedText:
    """A text with probes."""

    text: str
    places: tuple[tuple[Position, Position], ...]
    """For each mention, the positions of its two possible messages: for a proof, and for data."""

    def proofs(self, diagnostics: Sequence[Diagnostic]) -> list[bool]:
        """For each mention, True if Lean's messages on the text show that a proof is missing there.

        If a tactic runs on several goals, all of them must be propositions: Lean joins the messages of one position.
        """
        reported = {(item.range.start, line) for item in diagnostics for line in item.message.strip().split("\n")}
        return [(proof, _PROOF) in reported and (data, _DATA) not in reported for proof, data in self.places]


def probed(text: str, mentioned: Sequence[Mention], tactics: Sequence[bool]) -> ProbedText:
    """The text with a probe in place of each `sorry`. `tactics`: for each mention, True if it is a tactic."""
    pieces, at, offset, marks = [], 0, 0, []
    for mention, tactic in zip(mentioned, tactics, strict=True):
        probe = f'((first | (show (_ : Prop); trace "{_PROOF}") | trace "{_DATA}"); sorry)'
        if not tactic:
            probe = f"(by {probe})"
        before = text[at : mention.start]
        begin = offset + len(before)
        marks.append((begin + probe.index("trace"), begin + probe.rindex("trace")))
        pieces += [before, probe]
        offset, at = begin + len(probe), mention.end
    result = "".join([*pieces, text[at:]])
    return ProbedText(result, tuple((position(result, proof), position(result, data)) for proof, data in marks))
