"""Traces one file: elaborates it, records its tactics, splits them, and has Lean check the split proofs in place."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.trace.checking import BlockPlace, Copy, agreed, rewritten
from node.lean.trace.elaborating import SHOW_ALL, ElaboratedFile, TraceFailed, TraceLimits, elaborate
from node.lean.trace.infotree import Position, Span
from node.lean.trace.premises import names
from node.lean.trace.records import TracedBlock, TracedFile, TracedTheorem
from node.lean.trace.source import LeanSource
from node.lean.trace.splitting import SPLIT, WHOLE
from node.lean.trace.theorems import Declaration, declarations, declared, traced_block, wrong

_SHORTENS_NAMES = re.compile(
    r"^\s*(?:open|namespace|export)\b|\b(?:theorem|lemma|def|instance|abbrev)\s+[\w'«»]+\.", re.MULTILINE
)
"""Where Lean prints names without their namespace: `theorem A.b` opens `A` for itself."""

FULL_NAMES = ("-Dpp.fullNames=true",)


@dataclass(frozen=True)
class Tracer:
    """How to trace files."""

    toolchain: LeanToolchain
    folder: Path
    """Where Lean runs: the project's root."""
    limits: TraceLimits = field(default_factory=TraceLimits)
    split: bool = True
    """Split composed tactics into atomic steps, where Lean accepts the split proof."""

    async def trace(self, text: str, path: str) -> TracedFile:
        """Trace a file's text. What goes wrong is recorded in it, for a theorem or for the whole file."""
        started = time.monotonic()
        source = LeanSource(text)
        imports = tuple(source.imports)
        try:
            said = await self._elaborate(source)
            in_full = await self._elaborate(source, FULL_NAMES) if _SHORTENS_NAMES.search(text) else said
            known = declared(source, in_full.trees)
            theorems = await self._theorems(source, said, names(in_full.trees))
        except TraceFailed as error:
            return TracedFile(path, imports, error=str(error), seconds=time.monotonic() - started)
        full: dict[Position | None, str] = {each.name_start: each.full_name for each in known}
        named = (msgspec.structs.replace(each, name=full.get(each.name_start, each.name)) for each in theorems)
        return TracedFile(path, imports, tuple(named), tuple(known), seconds=time.monotonic() - started)

    async def _theorems(
        self, source: LeanSource, said: ElaboratedFile, full: Mapping[Span, str]
    ) -> list[TracedTheorem]:
        """The declarations with tactic blocks. Raises TraceFailed."""
        found = declarations(source, said.trees)
        if not found and any(message.severity == "error" for message in said.messages):
            error = next(message for message in said.messages if message.severity == "error")
            raise TraceFailed(f"line {error.line}: {error.data}")
        errors = [wrong(each.theorem, each.messages(said.messages)) for each in found]
        blocks = {
            BlockPlace(number, index): traced_block(source, block, full, WHOLE)
            for number, (each, error) in enumerate(zip(found, errors, strict=True))
            if not error
            for index, block in enumerate(each.blocks)
        }
        if self.split:
            blocks = await self._split(source, found, full, blocks)
        return [
            msgspec.structs.replace(
                each.theorem,
                error=error,
                blocks=tuple(
                    block for place, block in sorted(blocks.items(), key=_place) if place.declaration == number
                ),
            )
            for number, (each, error) in enumerate(zip(found, errors, strict=True))
        ]

    async def _split(
        self,
        source: LeanSource,
        found: Sequence[Declaration],
        full: Mapping[Span, str],
        whole: Mapping[BlockPlace, TracedBlock],
    ) -> dict[BlockPlace, TracedBlock]:
        """The blocks, split in the first style in which Lean accepts them; else whole, with the reason."""
        settled: dict[BlockPlace, TracedBlock] = {}
        reasons = dict.fromkeys(whole, "")
        tried: dict[BlockPlace, list[tuple[str, ...]]] = {place: [] for place in whole}
        for style in SPLIT:
            asked = {}
            for place in [place for place in whole if place not in settled]:
                block = traced_block(source, found[place.declaration].blocks[place.block], full, style)
                tactics = tuple(step.tactic for step in block.steps)
                if block.problem:
                    reasons[place] = reasons[place] or block.problem
                elif tactics not in tried[place]:
                    tried[place].append(tactics)
                    asked[place] = block
            for place, answer in (await self._checked(source, found, asked)).items():
                if isinstance(answer, TracedBlock):
                    settled[place] = answer
                else:
                    reasons[place] = answer
        left = {place: block for place, block in whole.items() if place not in settled}
        return settled | {
            place: msgspec.structs.replace(block, unsplit=reasons[place]) for place, block in left.items()
        }

    async def _checked(
        self, source: LeanSource, found: Sequence[Declaration], asked: Mapping[BlockPlace, TracedBlock]
    ) -> dict[BlockPlace, TracedBlock | str]:
        """The blocks that Lean accepts in their split form, with the states that it shows; why not, of the others."""
        if not asked:
            return {}
        copy = rewritten(source, found, asked)
        try:
            said = await self._elaborate(copy.source, show=())
        except TraceFailed as error:
            return dict.fromkeys(asked, f"the split proofs could not be checked: {error}")
        seen = declarations(copy.source, said.trees)
        return {place: _answer(copy, said, seen, place, block) for place, block in asked.items()}

    async def _elaborate(
        self, source: LeanSource, options: tuple[str, ...] = (), show: tuple[str, ...] = (SHOW_ALL,)
    ) -> ElaboratedFile:
        return await elaborate(source.text, self.toolchain, self.folder, self.limits, (*show, *options))


def _answer(
    copy: Copy, said: ElaboratedFile, seen: Sequence[Declaration], place: BlockPlace, asked: TracedBlock
) -> TracedBlock | str:
    """A split block as Lean shows it, or why it does not count."""
    each = copy.find(seen, place.declaration)
    if each is None or place.block >= len(each.blocks):
        return "Lean does not find the split proof"
    if error := wrong(each.theorem, each.messages(said.messages)):
        return f"the split proof fails: {error}"
    found = traced_block(copy.source, each.blocks[place.block], {}, WHOLE)
    return agreed(asked, found) or "Lean reads the split proof as another one"


def _place(entry: tuple[BlockPlace, TracedBlock]) -> tuple[int, int]:
    return entry[0].declaration, entry[0].block
