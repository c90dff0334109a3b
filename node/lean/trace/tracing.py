"""Traces one file: elaborates it, records and splits its tactics, and has Lean check the split proofs in a copy."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from node.lean.process.child import ConfinedChild
from node.lean.text.script import INDENT, proof_lines
from node.lean.toolchain.advice import damaged_module, with_advice
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.infotree import Info, LeanSource, Position, Span, parse
from node.lean.trace.records import TracedBlock, TracedFile, TracedStep, TracedTheorem, names
from node.lean.trace.splitting import SPLIT, WHOLE
from node.lean.trace.theorems import Declaration, FileMessage, declarations, declared, traced_block, wrong
from node.lean.trace.tree import proof_tree

# --- Lean on one unchanged file, and the info trees that it prints ----------------------------------------------------

_TRACE = "[Elab.info]"

OUTPUT_SECONDS = 0.2
"""Interval for checking the size of a process's output."""

SHOW_ALL = "-Dtrace.Elab.info=true"
"""The option that makes Lean print the info tree of every command."""

ERROR_CHARACTERS = 400
"""Most characters of Lean's standard error in the message of a failure."""


class TraceFailed(RuntimeError):
    """Lean could not process the file. The message says why."""


@dataclass(frozen=True)
class TraceLimits:
    """Limits for Lean on one file."""

    seconds: float = 600.0
    output_mb: int = 2048
    """Limit of the output. Info trees are large: about 7 KB for a line of tactics."""
    memory_mb: int = 8192
    """Limit of Lean's private memory. Compiled modules do not count (Mathlib's are 2 to 6 GB)."""


@dataclass
class ElaboratedFile:
    """Lean's info trees and messages on a file."""

    trees: list[Info] = field(default_factory=list)
    messages: list[FileMessage] = field(default_factory=list)


async def elaborate(
    text: str, toolchain: LeanToolchain, folder: Path, limits: TraceLimits, options: tuple[str, ...] = ()
) -> ElaboratedFile:
    """Elaborate a file's text in a fresh process, in its project's folder. Raises TraceFailed."""
    with tempfile.TemporaryDirectory(prefix="proofmesh-trace-") as scratch:
        path, output, errors = (Path(scratch) / name for name in ("Traced.lean", "output", "errors"))
        path.write_text(text, encoding="utf-8")
        code = await _run(path, output, errors, toolchain, folder, limits, options)
        elaborated = ElaboratedFile()
        for row in _rows(output):
            _take(elaborated, row)
        if code not in (0, 1) or (
            code == 1 and not any(message.severity == "error" for message in elaborated.messages)
        ):
            problem = errors.read_text(encoding="utf-8", errors="replace").strip()[-ERROR_CHARACTERS:]
            if code < 0:
                problem = problem or await damaged_module(toolchain.module_folders)
            raise TraceFailed(f"Lean ended with code {code}{': ' + problem if problem else ''}")
        return elaborated


async def _run(
    path: Path,
    output: Path,
    errors: Path,
    toolchain: LeanToolchain,
    folder: Path,
    limits: TraceLimits,
    options: tuple[str, ...],
) -> int:
    """Run Lean and return its exit code. Raises TraceFailed."""
    arguments = ["--json", "-Dlinter.all=false", "-DmaxErrors=1000000", *options, str(path)]
    with output.open("wb") as out, errors.open("wb") as err:
        child = await ConfinedChild.start(
            [*toolchain.command, *arguments],
            environment=toolchain.environment,
            keeper=toolchain.keeper((), [path]),
            folder=folder,
            memory_mb=limits.memory_mb,
            stdout=out,
            stderr=err,
        )
        try:
            async with child.guard, asyncio.timeout(limits.seconds):
                code = await _wait(child.process, output, limits.output_mb)
        except TimeoutError:
            raise TraceFailed(f"Lean did not finish within {limits.seconds:g} s") from None
        finally:
            await child.kill()
        if child.guard.exceeded:
            raise TraceFailed(f"Lean took more than {limits.memory_mb} MB of memory")
        return code


async def _wait(process: asyncio.subprocess.Process, output: Path, output_mb: int) -> int:
    """Wait for a process to end. Raises TraceFailed if its output exceeds the limit."""
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=OUTPUT_SECONDS))[0]:
            if output.stat().st_size > output_mb << 20:
                raise TraceFailed(f"Lean printed more than {output_mb} MB of info trees")
        return ended.result()
    finally:
        ended.cancel()


def _rows(output: Path) -> Iterator[dict[str, Any]]:
    with output.open("rb") as lines:
        for line in lines:
            if line.startswith(b"{"):
                try:
                    yield msgspec.json.decode(line)
                except msgspec.DecodeError as error:
                    raise TraceFailed(f"Lean printed invalid JSON: {error}") from error


def _take(elaborated: ElaboratedFile, row: dict[str, Any]) -> None:
    data = str(row.get("data", ""))
    if data.startswith(_TRACE):
        elaborated.trees += parse(data[len(_TRACE) :])
    else:
        line = (row.get("pos") or {}).get("line", 0)
        elaborated.messages.append(FileMessage(str(row.get("severity", "")), data, int(line)))


# --- one file ---------------------------------------------------------------------------------------------------------

_SHORTENS_NAMES = re.compile(
    r"^\s*(?:open|namespace|export)\b|\b(?:theorem|lemma|def|instance|abbrev)\s+[\w'«»]+\.", re.MULTILINE
)
"""Commands that make Lean print names without their namespace; `theorem A.b` also opens `A`."""

FULL_NAMES = ("-Dpp.fullNames=true",)


@dataclass(frozen=True)
class Tracer:
    """How to trace files."""

    toolchain: LeanToolchain
    folder: Path
    """The working folder of Lean: the project's root."""
    limits: TraceLimits = field(default_factory=TraceLimits)
    split: bool = True
    """Split composed tactics into atomic steps if Lean accepts the split proof."""

    async def trace(self, text: str, path: str) -> TracedFile:
        """Trace a file's text. Errors are recorded in the result, for a theorem or for the whole file."""
        started = time.monotonic()
        source = LeanSource(text)
        imports = tuple(source.imports)
        try:
            elaborated = await self._elaborate(source)
            with_full_names = await self._elaborate(source, FULL_NAMES) if _SHORTENS_NAMES.search(text) else elaborated
            all_declared = declared(source, with_full_names.trees)
            theorems = await self._theorems(source, elaborated, names(with_full_names.trees))
        except TraceFailed as error:
            return TracedFile(path, imports, error=str(error), seconds=time.monotonic() - started)
        full_names: dict[Position | None, str] = {each.name_start: each.full_name for each in all_declared}
        named = (msgspec.structs.replace(each, name=full_names.get(each.name_start, each.name)) for each in theorems)
        return TracedFile(path, imports, tuple(named), tuple(all_declared), seconds=time.monotonic() - started)

    async def _theorems(
        self, source: LeanSource, elaborated: ElaboratedFile, full_names: Mapping[Span, str]
    ) -> list[TracedTheorem]:
        """The declarations with tactic blocks. Raises TraceFailed."""
        originals = declarations(source, elaborated.trees)
        if not originals and any(message.severity == "error" for message in elaborated.messages):
            error = next(message for message in elaborated.messages if message.severity == "error")
            raise TraceFailed(f"line {error.line}: {with_advice(error.data)}")
        errors = [wrong(each.theorem, each.messages(elaborated.messages)) for each in originals]
        blocks = {
            BlockPlace(number, index): traced_block(source, block, full_names, WHOLE)
            for number, (each, error) in enumerate(zip(originals, errors, strict=True))
            if not error
            for index, block in enumerate(each.blocks)
        }
        if self.split:
            blocks = await self._split(source, originals, full_names, blocks)
        return [
            msgspec.structs.replace(
                each.theorem,
                error=error,
                blocks=tuple(
                    block for place, block in sorted(blocks.items(), key=_place) if place.declaration == number
                ),
            )
            for number, (each, error) in enumerate(zip(originals, errors, strict=True))
        ]

    async def _split(
        self,
        source: LeanSource,
        originals: Sequence[Declaration],
        full_names: Mapping[Span, str],
        whole: Mapping[BlockPlace, TracedBlock],
    ) -> dict[BlockPlace, TracedBlock]:
        """The blocks, split in the first style that Lean accepts; unsplit with the reason if it accepts none."""
        accepted: dict[BlockPlace, TracedBlock] = {}
        reasons = dict.fromkeys(whole, "")
        tried: dict[BlockPlace, list[tuple[str, ...]]] = {place: [] for place in whole}
        for style in SPLIT:
            split_blocks = {}
            for place in [place for place in whole if place not in accepted]:
                block = traced_block(source, originals[place.declaration].blocks[place.block], full_names, style)
                tactics = tuple(step.tactic for step in block.steps)
                if block.problem:
                    reasons[place] = reasons[place] or block.problem
                elif tactics not in tried[place]:  # different styles may split a block in the same way
                    tried[place].append(tactics)
                    split_blocks[place] = block
            for place, answer in (await self._checked(source, originals, split_blocks)).items():
                if isinstance(answer, TracedBlock):
                    accepted[place] = answer
                else:
                    reasons[place] = answer
        unsplit = {place: block for place, block in whole.items() if place not in accepted}
        return accepted | {
            place: msgspec.structs.replace(block, unsplit=reasons[place]) for place, block in unsplit.items()
        }

    async def _checked(
        self, source: LeanSource, originals: Sequence[Declaration], split_blocks: Mapping[BlockPlace, TracedBlock]
    ) -> dict[BlockPlace, TracedBlock | str]:
        """For each split block: the block with Lean's states if Lean accepts it, otherwise the reason as a text."""
        if not split_blocks:
            return {}
        copy = rewritten(source, originals, split_blocks)
        try:
            elaborated = await self._elaborate(copy.source, show=())
        except TraceFailed as error:
            return dict.fromkeys(split_blocks, f"the split proofs could not be checked: {error}")
        copies = declarations(copy.source, elaborated.trees)
        return {place: _answer(copy, elaborated, copies, place, block) for place, block in split_blocks.items()}

    async def _elaborate(
        self, source: LeanSource, options: tuple[str, ...] = (), show: tuple[str, ...] = (SHOW_ALL,)
    ) -> ElaboratedFile:
        return await elaborate(source.text, self.toolchain, self.folder, self.limits, (*show, *options))


def _answer(
    copy: Copy, elaborated: ElaboratedFile, copies: Sequence[Declaration], place: BlockPlace, split_block: TracedBlock
) -> TracedBlock | str:
    """A split block with the states that Lean shows, or why it is rejected."""
    copied = copy.find(copies, place.declaration)
    if copied is None or place.block >= len(copied.blocks):
        return "Lean reports no tactic block for the split proof"
    if error := wrong(copied.theorem, copied.messages(elaborated.messages)):
        return f"the split proof fails: {error}"
    reread = traced_block(copy.source, copied.blocks[place.block], {}, WHOLE)
    return agreed(split_block, reread) or "Lean parses the split proof differently"


def _place(entry: tuple[BlockPlace, TracedBlock]) -> tuple[int, int]:
    return entry[0].declaration, entry[0].block


# ----------------------------------------------------------------------------------------------------------------------
# Writes split proofs into a copy of their file, so that Lean can check them and show their states. Pure.
#
# The copy has the same imports, variables, namespaces and private declarations as the original.


@dataclass(frozen=True)
class BlockPlace:
    """One block of a file: index of the declaration, and index of the block in it."""

    declaration: int
    block: int


@dataclass(frozen=True)
class Copy:
    """A file with split proofs in place of the original ones. Lean prints info trees only for these declarations."""

    source: LeanSource
    begins: dict[int, int]
    """Character offset of each of these declarations, by index."""

    def find(self, declarations: Sequence[Declaration], number: int) -> Declaration | None:
        """The copy's declaration for a declaration of the original; None if Lean reports none."""
        begin = self.source.position(self.begins[number])
        return next((each for each in declarations if each.command.start == begin), None)


SHOW, HIDE = (f"set_option trace.Elab.info {value}\n" for value in ("true", "false"))


def rewritten(
    source: LeanSource, declarations: Sequence[Declaration], blocks: Mapping[BlockPlace, TracedBlock]
) -> Copy:
    """The file with the tactics of these blocks replaced by their steps."""
    parts: list[str] = []
    begins: dict[int, int] = {}
    at = length = 0
    for number in sorted({place.declaration for place in blocks}):
        command = declarations[number].command
        parts += [source.text[at : source.offset(command.start)], "\n", SHOW]
        length = sum(map(len, parts[len(parts) - 3 :])) + length
        begins[number] = length
        at = source.offset(command.start)
        written = len(parts)
        # Turn info trees on and off around each command, because those of the whole file would be large.
        replacements = [block for place, block in blocks.items() if place.declaration == number]
        for block in sorted(replacements, key=lambda block: block.start):
            parts += [source.text[at : source.offset(block.start)], _script(source, block.start, block.steps)]
            at = source.offset(block.end)
        parts += [source.text[at : source.offset(command.end)], "\n", HIDE]
        at = source.offset(command.end)
        length += sum(map(len, parts[written:]))
    return Copy(LeanSource("".join([*parts, source.text[at:]])), begins)


def _script(source: LeanSource, start: Position, steps: Sequence[TracedStep]) -> str:
    """`by` and the steps below it, indented deeper than the line of the `by`."""
    begin = source.offset((start[0], 0))
    line = source.text[begin : source.offset(start)]
    prefix = " " * (len(line) - len(line.lstrip(" "))) + INDENT
    return "\n".join(["by", *proof_lines(proof_tree(steps), prefix)])


def agreed(split: TracedBlock, reread: TracedBlock) -> TracedBlock | None:
    """The block with the states that Lean shows for the split proof; None if Lean's proof has different steps."""
    if reread.problem or len(split.steps) != len(reread.steps):
        return None
    pairs = list(zip(split.steps, reread.steps, strict=True))
    if any(_words(one.tactic) != _words(other.tactic) or one.parent != other.parent for one, other in pairs):
        return None
    steps = tuple(
        msgspec.structs.replace(other, tactic=one.tactic, start=one.start, end=one.end, premises=one.premises)
        for one, other in pairs
    )
    return msgspec.structs.replace(split, steps=steps, split=True, unsplit="")


def _words(tactic: str) -> str:
    return "".join(tactic.split())
