"""Traces one file: elaborates it, records and splits its tactics, and has Lean check the split proofs in a copy."""

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
            raise TraceFailed(f"line {error.line}: {error.data}")
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
