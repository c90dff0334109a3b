"""Writes LeanTree's schema: files, theorems, their `by` blocks, and each block's tree of factorised states.

The schema is that of `LeanFile.serialize` (Kripner et al. 2025, arXiv 2507.14722). Spans are character offsets. A tree
lists its nodes with `state`, `tactic`, `proof_size`, `proof_depth`. For a failure, {"error": ...} replaces the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from node.lean.text.goals import from_text
from node.lean.trace.infotree import Position
from node.lean.trace.records import TracedBlock, TracedFile, TracedStep, TracedTheorem
from node.lean.trace.source import LeanSource


def file(traced: TracedFile, text: str) -> dict[str, Any]:
    """The entry of a file. `text`: the traced text."""
    source = LeanSource(text)
    return {
        "path": traced.path,
        "imports": list(traced.imports),
        "theorems": [_theorem(theorem, source) for theorem in traced.theorems],
    }


def _theorem(theorem: TracedTheorem, source: LeanSource) -> dict[str, Any]:
    if theorem.error:
        return {"error": theorem.error}
    return {
        "span": _span(source, theorem.start, theorem.end),
        "by_blocks": [_block(block, source) for block in theorem.blocks],
        "context": list(theorem.context),
        **({"name": theorem.name} if theorem.name else {}),
    }


def _block(block: TracedBlock, source: LeanSource) -> dict[str, Any]:
    tree = {"error": block.problem} if block.problem else _tree(block.steps, source)
    return {"tree": tree, "span": _span(source, block.start, block.end)}


def _tree(steps: Sequence[TracedStep], source: LeanSource) -> dict[str, Any]:
    children: list[list[int]] = [[] for _ in steps]
    sizes = [1] * len(steps)
    for number in reversed(range(len(steps))):
        parent = steps[number].parent
        if parent >= 0:
            children[parent].insert(0, number)
            sizes[parent] += sizes[number]
    nodes = [
        {
            "id": str(number),
            "state": {"goals": [goal(text) for text in step.goals]},
            "tactic": {
                "tactic_string": step.tactic,
                "span": _span(source, step.start, step.end),
                "parent": str(number),
                "children": [str(child) for child in children[number]],
                "tactic_depends_on": None,
            },
            "proof_size": sizes[number],
            "proof_depth": step.remaining_steps,
        }
        for number, step in enumerate(steps)
    ]
    return {"nodes": nodes, "root_id": "0"}


def goal(text: str) -> dict[str, Any]:
    """The entry of a printed goal: type, hypotheses, tag."""
    read: dict[str, Any] = msgspec.to_builtins(from_text(text))
    return {**read, "hypotheses": list(read["hypotheses"])}


def _span(source: LeanSource, start: Position, end: Position) -> dict[str, int]:
    return {"start": source.offset(start), "finish": source.offset(end)}
