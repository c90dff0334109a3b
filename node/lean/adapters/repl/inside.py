"""What only Lean's info trees show of a command: its tactics, the goals that its proofs begin with, the trees.

The command is elaborated once more for it, so that a client that asks for nothing of this waits for nothing of it.
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
from node.lean.holes.elaborator import Elaborator
from node.lean.trace.elaborating import TraceLimits
from node.lean.trace.tracing import Tracer
from node.lean.worker.process import WorkerEnded


@dataclass(frozen=True)
class Inside:
    """Looks into one command."""

    lean: Elaborator
    before: str
    """The environment's text, empty or with a line break at its end."""
    code: str
    ours: Sequence[str]
    """Lines to stand before the command."""
    add: Callable[[ProofState], int]
    """Gives a proof state its number."""

    async def tell(self, request: Request, answer: CommandAnswer) -> None:
        """Add to an answer what the request asks for. Raises WorkerEnded."""
        trees_wanted = infotrees.asks(request.infotree)
        if not (trees_wanted or request.all_tactics or request.root_goals or request.proof_trees):
            return
        prepared, shown = await self._traced(steps=trees_wanted or bool(request.all_tactics))
        if request.root_goals:
            for root in roots(shown.trees, prepared, self.before):
                place = prepared.place_of(root.start)
                answer.sorries.append(Sorry("\n".join(root.goals), self.add(root.state), place, place))
        if request.all_tactics:
            answer.tactics = await self._tactics(shown, prepared)
        if trees_wanted:
            answer.infotree = infotrees.Writer(prepared, shown.layouts).nodes(shown.trees, request.infotree) or None
        if request.proof_trees:
            answer.proof_tree_edges = await self._proof_trees(shown, prepared) or None

    async def _traced(self, *, steps: bool) -> tuple[Prepared, Traced]:
        """What Lean prints of the command's elaboration, and the text that it printed it of."""
        printing = [*self.ours, *traced.TREES, *(traced.STEPS if steps else ())]
        prepared = Prepared.of(self.before, self.code, printing)
        shown = traced.read((await self.lean.run(prepared.text)).diagnostics)
        shown.trees = [tree for tree in shown.trees if tree.command and prepared.offsets(tree.command) is not None]
        return prepared, shown

    async def _tactics(self, shown: Traced, prepared: Prepared) -> list[TacticReport]:
        found = tactics(shown.trees, prepared, self.before)
        return [
            TacticReport(
                prepared.place_of(tactic.start),
                prepared.place_of(tactic.end),
                "\n".join(tactic.goals) or "no goals",
                shown.layouts.of(self.code[tactic.start : tactic.end]),
                self.add(tactic.state),
                names,
            )
            for tactic, names in zip(found, await self._constants(found), strict=True)
        ]

    async def _constants(self, found: Sequence[FoundTactic]) -> list[list[str]]:
        """The constants that each tactic uses; none where Lean does not come to an end with their terms."""
        used: list[list[str]] = [[] for _ in found]
        for text, numbers in constants.documents(self.code, found):
            try:
                shown = await self.lean.run(Prepared.of(self.before, text, [*self.ours, *constants.SHOW_ALL]).text)
            except WorkerEnded:
                continue
            for number in numbers:
                used[number] = constants.used(shown.diagnostics, number)
        return used

    async def _proof_trees(self, shown: Traced, prepared: Prepared) -> list[list[ProofTreeEdge]]:
        """By command, the edges of its proof trees. The whole text is traced for them, by processes of their own."""
        tracer = Tracer(self.lean.toolchain, Path.cwd(), TraceLimits(self.lean.seconds))
        file = await tracer.trace(self.before + self.code, "")
        line = self.before.count("\n")
        found = []
        for tree in shown.trees:
            start, end = (prepared.offsets(tree.command) if tree.command else None) or (0, 0)
            mine = [each for each in file.theorems if start <= self._offset(each.start, line) < end]
            found.append([edge for each in mine for edge in proof_trees.edges(each, self.code, line)])
        return found

    def _offset(self, place: tuple[int, int], line: int) -> int:
        """A place in the whole text as a character of the command; -1 for one before it."""
        return proof_trees.offset(self.code, place, line)
