"""Writes split proofs into a copy of their file, so that Lean can check them and show their states. Pure.

The copy has the same imports, variables, namespaces and private declarations as the original.
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
