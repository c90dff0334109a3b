"""What every search over the AND-OR tree shares: requests in flight, lost outcomes, proofs, and proofs refused.

A search is pure and synchronous. It differs from another one in two things: which state it expands next (`_choose`)
and what it learns from an expansion (`_learn`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.lean import Outcome, ProofTree
from node.prover import proofs
from node.prover.expansion import LOST, ExpandRequest, Growth, expand
from node.prover.formulas import leaf_value
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal
from node.prover.refusals import Refusals
from node.prover.statistics import enter, leave
from node.prover.tree import StateNode, Tree, Walk, bury

NOTHING: frozenset[str] = frozenset()


@dataclass(slots=True)
class SearchStatistics:
    """What a search has done so far."""

    simulations: int = 0
    """Expansions fed and counted."""
    tactics_tried: int = 0
    tactics_failed: int = 0
    tactics_useless: int = 0
    """Legal, but led back to an ancestor or changed nothing."""
    losses: int = 0
    """Expansions repeated because infrastructure lost an outcome."""
    expansions_lost: int = 0
    """Expansions that were fed all the same: of some or all of their tactics nothing is known."""
    solved_at_simulations: int = 0
    """Simulations until the present proof was known, the last one included; 0: no proof is known."""
    solved_at_tactics: int = 0
    """Tactics tried until then: of the last expansion those up to the one that completed the proof."""
    proofs_rejected: int = 0


class TreeSearch(ABC):
    """The search for one proof."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self.parameters = parameters or SearchParameters()
        self.tree = Tree(
            root_state,
            self.parameters.max_depth,
            self.parameters.merging,
            and_nodes=self.parameters.and_nodes,
        )
        self.statistics = SearchStatistics()
        self._walks: dict[int, Walk] = {}
        self._refusals = Refusals()

    @abstractmethod
    def _choose(self) -> Walk | None:
        """The way to the state to expand next; None when every way leads to an expansion in flight."""

    @abstractmethod
    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        """Take in that the walk's leaf was expanded. `value`: V of the leaf, as `formulas.leaf_value` gives it."""

    @property
    def solved(self) -> bool:
        """A proof is known."""
        return self.tree.root.steps is not None

    @property
    def exhausted(self) -> bool:
        """No tactic of the policy is left to try anywhere."""
        return self.tree.root.dead

    @property
    def finished(self) -> bool:
        """More simulations are of no use."""
        return self.solved or self.exhausted

    @property
    def in_flight(self) -> int:
        """Simulations selected and neither fed nor abandoned."""
        return len(self._walks)

    def select(self) -> ExpandRequest | None:
        """Begin a simulation; None when finished, or when every way leads to an expansion in flight."""
        walk = None if self.finished else self._choose()
        if walk is None:
            return None
        enter(walk)
        leaf = walk.leaf
        self._walks[leaf.index] = walk
        tried = frozenset(leaf.tried) if leaf.tried else NOTHING
        return ExpandRequest(leaf.index, leaf.state, leaf.path, leaf.expansions, tried)

    def feed(
        self,
        node_id: int,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Finish a simulation with its expansion. False: outcomes were lost, so the expansion is to be repeated.

        `outcomes` holds one outcome for every proposed tactic that was not in the request's `tried`; `value` is V of
        the state; `exhausted` says that the policy has no further tactic for it. Raises KeyError when no such
        expansion is in flight, or when an outcome is missing.
        """
        leaf = self._walks[node_id].leaf
        new = [outcomes[p.tactic] for p in proposals if p.tactic not in leaf.tried]  # before anything is changed
        lost = sum([outcome.kind is LOST for outcome in new])
        if lost and leaf.losses < self.parameters.max_losses:
            leaf.losses += 1
            self.statistics.losses += 1
            self.abandon(node_id)
            return False
        all_lost = 0 < lost == len(new)
        growth = expand(self.tree, leaf, proposals, outcomes)
        walk = self._walks.pop(node_id)
        leave(walk)
        leaf.exhausted = leaf.exhausted or exhausted or all_lost
        self._learn(walk, proposals, leaf_value(leaf, value, self.parameters, lost=lost > 0))
        bury(leaf)
        self._count(growth, lost > 0)
        return True

    def _parted(self, former: StateNode, node: StateNode) -> None:  # noqa: B027 (what is walked from the root finds it)
        """A merge was undone: one of the ways that led to `former` leads to `node` now."""

    def abandon(self, node_id: int) -> None:
        """Take a simulation out of flight as if it had never been selected."""
        leave(self._walks.pop(node_id))

    def _count(self, growth: Growth, lost: bool) -> None:
        statistics = self.statistics
        if growth.solved_after and not statistics.solved_at_simulations:
            statistics.solved_at_simulations = statistics.simulations + 1
            statistics.solved_at_tactics = statistics.tactics_tried + growth.solved_after
        statistics.simulations += 1
        statistics.tactics_tried += growth.tried
        statistics.tactics_failed += growth.failed
        statistics.tactics_useless += growth.useless
        statistics.expansions_lost += lost

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return proofs.extract(self.tree.root)

    def reject(self, proof: ProofTree) -> None:
        """Final verification refused this proof: it is never returned again, and the search goes on.

        Another proof may be known already: then the search is still solved. What is lost with the refused proof is
        said in `refusals`. Raises ValueError when this search has not found that proof.
        """
        for former, node in self._refusals.reject(self.tree, proof):
            self._parted(former, node)
        statistics = self.statistics
        statistics.proofs_rejected += 1
        statistics.solved_at_simulations = statistics.simulations if self.solved else 0
        statistics.solved_at_tactics = statistics.tactics_tried if self.solved else 0
