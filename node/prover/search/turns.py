"""Several searches for one proof that take turns, each with a separate policy and tree, such as a network and a list.

A mixture tries the tactics of all its parts at every state. A list has dozens of tactics for a state, so with equal
Lean attempts a mixture expands few states, and its network hardly leads deeper than the list. Here each policy has its
own tree, values and priors. The next expansion belongs to the search that has sent the fewest tactics to Lean. So each
search gets about an equal share of any budget, and one may find proofs that the other misses. (Portfolios of
algorithms: Huberman, Lukose and Hogg, Science 1997.)

The searches share Lean's outcomes: a tactic is not tried twice on a state, and a tactic that closes a state in one
search closes it in the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from common.lean import Outcome, ProofTree
from node.prover.policies.policy import Proposal
from node.prover.search.simulation import LOST, NO_TACTICS, PROVED, Leaf, SearchStatistics, TreeSearch
from node.prover.search.tree import StateNode, Tree

HEAD_START = 32
"""Tactics that the first search sends to Lean before the others start; about what a list sends for one state. A network
that is named first has expanded several states by then. With the smallest budgets it is better alone."""


class TurnSearch:
    """Searches that take turns, with the interface of a single one (`node.prover.search.methods.ProofSearch`).

    A leaf names its search.
    """

    def __init__(self, searches: Sequence[TreeSearch], head_start: int = HEAD_START) -> None:
        """`head_start`: tactics that the first search sends to Lean before the others start."""
        self.searches = tuple(searches)
        self.statistics = SearchStatistics()
        self._known: dict[str, dict[str, Outcome]] = {}
        """Lean's outcomes of tactics, by the text of the state."""
        self._spent = [0] + [head_start] * (len(self.searches) - 1)
        """Tactics that each search has sent to Lean, plus the head start for all but the first. An expansion without
        new tactics counts as one, so that a policy that repeats itself does not take all turns."""

    @property
    def trees(self) -> Sequence[TreeSearch]:
        """All searches."""
        return self.searches

    @property
    def tree(self) -> Tree:
        """The tree of the search with a proof, or else of the first search."""
        return (self._solved or self.searches[0]).tree

    @property
    def solved(self) -> bool:
        """True when one of the searches knows a proof."""
        return self._solved is not None

    @property
    def exhausted(self) -> bool:
        """True when all searches are exhausted."""
        return all(search.exhausted for search in self.searches)

    @property
    def finished(self) -> bool:
        return self.solved or self.exhausted

    @property
    def in_flight(self) -> int:
        return sum(search.in_flight for search in self.searches)

    @property
    def _solved(self) -> TreeSearch | None:
        return next((search for search in self.searches if search.solved), None)

    def select(self) -> Leaf | None:
        """Start a simulation of the search that has sent the fewest tactics to Lean. None while that search waits for
        its expansions in flight: otherwise searches with more in flight would get more than their share."""
        if self.solved:
            return None
        for turn in sorted(range(len(self.searches)), key=self._spent.__getitem__):
            search = self.searches[turn]
            leaf = search.select()
            if leaf is None and search.in_flight:
                return None
            if leaf is not None:
                known = frozenset(self._known.get(leaf.state, NO_TACTICS))
                return msgspec.structs.replace(
                    leaf,
                    number=leaf.number * len(self.searches) + turn,
                    turn=turn,
                    tried=leaf.tried | known if known else leaf.tried,
                )
        return None

    def feed(
        self,
        leaf: Leaf,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Like `TreeSearch.feed`, with the outcomes that other searches know for this state."""
        # 1. What other searches know.
        search, node = self.searches[leaf.turn], leaf.node
        known = self._known.setdefault(node.state, {})
        shared = {tactic: outcome for tactic, outcome in known.items() if tactic not in outcomes}
        proposals = [*proposals, *_closing(node, proposals, shared)]
        # 2. The expansion.
        sent, before, unsolved = self.statistics.tactics_tried, search.statistics.tactics_tried, not self.solved
        counted = search.feed(leaf, proposals, value, {**shared, **outcomes}, exhausted=exhausted, known=shared)
        known.update({tactic: each for tactic, each in outcomes.items() if each.kind is not LOST})
        # 3. What it cost.
        self._add_up()
        self._spent[leaf.turn] += max(counted, self.statistics.tactics_tried - sent)
        if unsolved and search.solved:
            self.statistics.solved_at_simulations = self.statistics.simulations
            self.statistics.solved_at_tactics = sent + search.statistics.solved_at_tactics - before
        return counted

    def abandon(self, leaf: Leaf) -> None:
        self.searches[leaf.turn].abandon(leaf)

    def proof(self) -> ProofTree:
        """The shortest known proof of the first search that has one. Raises NotSolved."""
        return (self._solved or self.searches[0]).proof()

    def reject(self, proof: ProofTree) -> None:
        """Drop a refused proof. Raises ValueError if no search has found it."""
        (self._solved or self.searches[0]).reject(proof)
        self._add_up()
        self.statistics.proof_refused(self.solved)

    def _add_up(self) -> None:
        """Sum the statistics of all searches. Each outcome is counted by the search that has sent the tactic to
        Lean."""
        self.statistics.add_up(search.statistics for search in self.searches)


def _closing(leaf: StateNode, proposals: Sequence[Proposal], known: Mapping[str, Outcome]) -> list[Proposal]:
    """A tactic that closes the state in another search, unless this search proposes or has tried one that does."""
    closing = [tactic for tactic, outcome in known.items() if outcome.kind is PROVED and tactic not in leaf.tried]
    if not closing or any(proposal.tactic in closing for proposal in proposals):
        return []
    return [Proposal(closing[0], min((proposal.mass for proposal in proposals), default=1.0), source=SHARED)]


SHARED = "another search"
"""The source in results of a tactic that closes a state in another search."""
