"""The base class of all searches over the AND-OR tree: expansions in flight, lost outcomes, proofs, refused proofs.

A search is pure and synchronous. A subclass adds two things: which state to expand next (`_choose`), and how to update
its statistics after an expansion (`_learn`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from common.lean import Outcome, ProofTree
from node.prover.search import proofs
from node.prover.search.expansion import LOST, Growth, Leaf, expand
from node.prover.search.formulas import leaf_value
from node.prover.search.parameters import SearchParameters
from node.prover.search.prior import Proposal
from node.prover.search.refusals import Refusals
from node.prover.search.statistics import enter, leave
from node.prover.search.tree import StateNode, Tree, Walk, bury

NO_TACTICS: frozenset[str] = frozenset()


@dataclass(slots=True)
class SearchStatistics:
    """Counts of one search so far."""

    simulations: int = 0
    """Expansions that were fed. Repeated ones (`losses`) do not count."""
    tactics_tried: int = 0
    tactics_failed: int = 0
    tactics_useless: int = 0
    """Legal, but led back to an ancestor or changed nothing."""
    losses: int = 0
    """Expansions repeated because infrastructure lost an outcome."""
    expansions_lost: int = 0
    """Expansions that were fed although the outcomes of some or all of their tactics were lost."""
    solved_at_simulations: int = 0
    """Simulations until the current proof was found, including the one that found it; 0: no proof is known."""
    solved_at_tactics: int = 0
    """Tactics tried until then. In the last expansion, tactics after the one that completed the proof do not count."""
    proofs_rejected: int = 0

    def add_up(self, parts: Iterable[SearchStatistics]) -> None:
        """Set the counts to the sums over several searches. `solved_at_...` stay as they are."""
        parts = tuple(parts)
        for name in COUNTS:
            setattr(self, name, sum([getattr(part, name) for part in parts]))

    def proof_refused(self, solved: bool) -> None:
        """Set `solved_at_...` after a refused proof. `solved`: another proof is known, after all the work so far."""
        self.solved_at_simulations = self.simulations if solved else 0
        self.solved_at_tactics = self.tactics_tried if solved else 0


COUNTS = tuple(each.name for each in fields(SearchStatistics) if not each.name.startswith("solved_at_"))
"""The statistics that can be summed over searches."""


class TreeSearch(ABC):
    """A search for one proof."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self.parameters = parameters or SearchParameters()
        self.tree = Tree(
            root_state,
            self.parameters.max_depth,
            self.parameters.merging,
            and_nodes=self.parameters.and_nodes,
        )
        self.statistics = SearchStatistics()
        self._walks: dict[StateNode, Walk] = {}
        self._refusals = Refusals()

    @abstractmethod
    def _choose(self) -> Walk | None:
        """The walk to the state to expand next. None if all walks lead to expansions in flight."""

    @abstractmethod
    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        """Update the statistics after the walk's leaf was expanded. `value`: V of the leaf (`formulas.leaf_value`)."""

    @property
    def trees(self) -> Sequence[TreeSearch]:
        """This search."""
        return (self,)

    @property
    def solved(self) -> bool:
        """True when a proof is known."""
        return self.tree.root.steps is not None

    @property
    def exhausted(self) -> bool:
        """True when the policy has no untried tactic at any state, so no proof can be found."""
        return self.tree.root.dead

    @property
    def finished(self) -> bool:
        """True when the search is solved or exhausted: more simulations change nothing."""
        return self.solved or self.exhausted

    @property
    def in_flight(self) -> int:
        """Number of simulations that were selected and not yet fed or abandoned."""
        return len(self._walks)

    def select(self) -> Leaf | None:
        """Start a simulation. None if the search is finished, or if all walks lead to expansions in flight."""
        walk = None if self.finished else self._choose()
        if walk is None:
            return None
        enter(walk)
        node = walk.leaf
        self._walks[node] = walk
        tried = frozenset(node.tried) if node.tried else NO_TACTICS
        return Leaf(self, node, node.state, node.path, node.expansions, tried, node.index)

    def feed(
        self,
        leaf: Leaf,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
        known: Container[str] = (),
    ) -> bool:
        """Finish a simulation: expand its leaf and back the value up. False: outcomes were lost, select it again.

        `outcomes` has one outcome for every proposed tactic that the state has not tried. `value` is V of the state.
        `exhausted`: the policy has no further tactic for the state. `known`: see `expand`. Raises KeyError if no
        expansion of this leaf is in flight, or if an outcome is missing.
        """
        # 1. Lost outcomes: the leaf is selected again, unless that has happened too often.
        node = self._walks[leaf.node].leaf
        # A missing outcome raises KeyError here, while the tree is still unchanged.
        new = [outcomes[p.tactic] for p in proposals if p.tactic not in node.tried]
        lost = sum([outcome.kind is LOST for outcome in new])
        if lost and node.losses < self.parameters.max_losses:
            node.losses += 1
            self.statistics.losses += 1
            self.abandon(leaf)
            return False
        all_lost = 0 < lost == len(new)  # repeated max_losses times: treat the state as exhausted
        # 2. Expansion.
        growth = expand(self.tree, node, proposals, outcomes, known)
        walk = self._walks.pop(node)
        leave(walk)
        node.exhausted = node.exhausted or exhausted or all_lost
        # 3. Backup.
        self._learn(walk, proposals, leaf_value(node, value, self.parameters, lost=lost > 0))
        bury(node)
        self._count(growth, lost > 0)
        return True

    def _parted(self, former: StateNode, node: StateNode) -> None:  # noqa: B027 (searches from the root need no hook)
        """A merge was undone: one of the actions that led to `former` leads to `node` instead."""

    def abandon(self, leaf: Leaf) -> None:
        """Cancel a simulation in flight. The tree is as before its selection."""
        leave(self._walks.pop(leaf.node))

    def _count(self, growth: Growth, lost: bool) -> None:
        statistics = self.statistics
        if growth.solved_after is not None and not statistics.solved_at_simulations:
            statistics.solved_at_simulations = statistics.simulations + 1
            statistics.solved_at_tactics = statistics.tactics_tried + growth.solved_after
        statistics.simulations += 1
        statistics.tactics_tried += growth.tried
        statistics.tactics_failed += growth.failed
        statistics.tactics_useless += growth.useless
        statistics.expansions_lost += lost

    def proof(self, failed: int = 0) -> ProofTree:
        """The shortest known proof, with at most `failed` failed tactics for each step. Raises NotSolved."""
        return proofs.extract(self.tree.root, failed)

    def reject(self, proof: ProofTree) -> None:
        """Drop a proof that final verification refused, so that it is never returned again. The search goes on.

        The search stays solved if it knows another proof. `node.prover.search.refusals` describes which tactics are
        forbidden with the refused proof. Raises ValueError if this search has not found that proof.
        """
        for former, node in self._refusals.reject(self.tree, proof):
            self._parted(former, node)
        self.statistics.proofs_rejected += 1
        self.statistics.proof_refused(self.solved)
