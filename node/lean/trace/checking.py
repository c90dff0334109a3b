"""Writes split proofs into a copy of their file, so that Lean can say whether they hold, and with which states. Pure.

The copy stands in the same context: imports, variables, namespaces, private declarations are those of the original.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from node.lean.text.script import INDENT, proof_lines
from node.lean.trace.infotree import Position
from node.lean.trace.records import TracedBlock, TracedStep
from node.lean.trace.source import LeanSource
from node.lean.trace.theorems import Declaration
from node.lean.trace.tree import proof_tree


@dataclass(frozen=True)
class BlockPlace:
    """One block of a file: number of the declaration, number of the block in it."""

    declaration: int
    block: int


@dataclass(frozen=True)
class Copy:
    """A file with split proofs in place of its own, which shows the info trees of these declarations only."""

    source: LeanSource
    begins: dict[int, int]
    """Character offset at which each of the declarations begins, by number."""

    def find(self, declarations: Sequence[Declaration], number: int) -> Declaration | None:
        """A declaration of the original among those that Lean found in the copy."""
        begin = self.source.position(self.begins[number])
        return next((each for each in declarations if each.command.start == begin), None)


SHOW, HIDE = (f"set_option trace.Elab.info {value}\n" for value in ("true", "false"))


def rewritten(
    source: LeanSource, declarations: Sequence[Declaration], blocks: Mapping[BlockPlace, TracedBlock]
) -> Copy:
    """The file with the steps of these blocks in place of their tactics."""
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
        mine = [block for place, block in blocks.items() if place.declaration == number]
        for block in sorted(mine, key=lambda block: block.start):
            parts += [source.text[at : source.offset(block.start)], _script(source, block.start, block.steps)]
            at = source.offset(block.end)
        parts += [source.text[at : source.offset(command.end)], "\n", HIDE]
        at = source.offset(command.end)
        length += sum(map(len, parts[written:]))
    return Copy(LeanSource("".join([*parts, source.text[at:]])), begins)


def _script(source: LeanSource, start: Position, steps: Sequence[TracedStep]) -> str:
    """`by` and the steps below it, deeper than the line that it stands in."""
    begin = source.offset((start[0], 0))
    line = source.text[begin : source.offset(start)]
    prefix = " " * (len(line) - len(line.lstrip(" "))) + INDENT
    return "\n".join(["by", *proof_lines(proof_tree(steps), prefix)])


def agreed(split: TracedBlock, reread: TracedBlock) -> TracedBlock | None:
    """The block with the states that Lean shows for the split proof; None when that is not the proof asked for."""
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
