"""Adds information from Lean's info trees to an answer: a command's tactics, the root goals of its proofs, the trees.

For this the command is elaborated a second time, so clients that do not request it do not pay for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from node.lean.adapters.repl import constants, infotrees, proof_trees, traced
from node.lean.adapters.repl.prepared import Prepared
from node.lean.adapters.repl.proof_trees import ProofTreeEdge
from node.lean.adapters.repl.protocol import CommandAnswer, Request, Sorry, TacticReport
from node.lean.adapters.repl.states import ProofState
from node.lean.adapters.repl.tactics import FoundTactic, roots, tactics
from node.lean.adapters.repl.traced import Traced
from node.lean.gaps.holes.elaborator import Elaborator
from node.lean.trace.elaborating import TraceLimits
from node.lean.trace.tracing import Tracer
from node.lean.worker.process import WorkerEnded


@dataclass(frozen=True)
class Inside:
    """The info trees of one command."""

    lean: Elaborator
    before: str
    """The environment's text, empty or with a final line break."""
    code: str
    inserted: Sequence[str]
    """Lines before the command."""
    add: Callable[[ProofState], int]
    """Stores a proof state and returns its number."""

    async def complete(self, request: Request, answer: CommandAnswer) -> None:
        """Add the requested information to an answer. Raises WorkerEnded."""
        with_trees = infotrees.asks(request.infotree)
        if not (with_trees or request.all_tactics or request.root_goals or request.proof_trees):
            return
        prepared, shown = await self._traced(steps=with_trees or bool(request.all_tactics))
        if request.root_goals:
            for root in roots(shown.trees, prepared, self.before):
                place = prepared.place_of(root.start)
                answer.sorries.append(Sorry("\n".join(root.goals), self.add(root.state), place, place))
        if request.all_tactics:
            answer.tactics = await self._tactics(shown, prepared)
        if with_trees:
            answer.infotree = infotrees.Writer(prepared, shown.layouts).nodes(shown.trees, request.infotree) or None
        if request.proof_trees:
            answer.proof_tree_edges = await self._proof_trees(shown, prepared) or None

    async def _traced(self, *, steps: bool) -> tuple[Prepared, Traced]:
        """The text of the second elaboration, and the info trees and layouts that Lean prints for it."""
        printing = [*self.inserted, *traced.TREES, *(traced.STEPS if steps else ())]
        prepared = Prepared.of(self.before, self.code, printing)
        shown = traced.read((await self.lean.run(prepared.text)).diagnostics)
        shown.trees = [tree for tree in shown.trees if tree.command and prepared.offsets(tree.command) is not None]
        return prepared, shown

    async def _tactics(self, shown: Traced, prepared: Prepared) -> list[TacticReport]:
        command_tactics = tactics(shown.trees, prepared, self.before)
        return [
            TacticReport(
                prepared.place_of(tactic.start),
                prepared.place_of(tactic.end),
                "\n".join(tactic.goals) or "no goals",
                shown.layouts.of(self.code[tactic.start : tactic.end]),
                self.add(tactic.state),
                names,
            )
            for tactic, names in zip(command_tactics, await self._constants(command_tactics), strict=True)
        ]

    async def _constants(self, command_tactics: Sequence[FoundTactic]) -> list[list[str]]:
        """The constants that each tactic uses; an empty list if Lean does not finish printing its term."""
        used: list[list[str]] = [[] for _ in command_tactics]
        for text, numbers in constants.documents(self.code, command_tactics):
            try:
                shown = await self.lean.run(Prepared.of(self.before, text, [*self.inserted, *constants.SHOW_ALL]).text)
            except WorkerEnded:
                continue
            for number in numbers:
                used[number] = constants.used(shown.diagnostics, number)
        return used

    async def _proof_trees(self, shown: Traced, prepared: Prepared) -> list[list[ProofTreeEdge]]:
        """The edges of the proof trees of each command. Separate processes trace the whole text for them."""
        tracer = Tracer(self.lean.toolchain, Path.cwd(), TraceLimits(self.lean.seconds))
        file = await tracer.trace(self.before + self.code, "")
        line = self.before.count("\n")
        edges = []
        for tree in shown.trees:
            start, end = (prepared.offsets(tree.command) if tree.command else None) or (0, 0)
            theorems = [each for each in file.theorems if start <= self._offset(each.start, line) < end]
            edges.append([edge for each in theorems for edge in proof_trees.edges(each, self.code, line)])
        return edges

    def _offset(self, place: tuple[int, int], line: int) -> int:
        """The character of the command at a position in the whole text; -1 if it is before the command."""
        return proof_trees.offset(self.code, place, line)
