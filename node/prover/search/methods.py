"""The search methods by name, and the interface that agents use to run a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from common.lean import Outcome, ProofTree
from common.protocol.attempts import Method
from node.prover.policies.policy import Proposal
from node.prover.search.frontier import BestFirstSearch, RandomSearch
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from node.prover.search.simulation import Leaf, SearchStatistics, TreeSearch
from node.prover.search.tree import Tree


class ProofSearch(Protocol):
    """A search for one proof. `select` returns the state to expand, and `feed` takes the result of the expansion.

    A search is pure, synchronous and deterministic for its seed. See `node.prover.search.simulation` for details.
    """

    @property
    def tree(self) -> Tree: ...

    @property
    def trees(self) -> Sequence[TreeSearch]:
        """The searches whose trees lead to a proof: this one, or those that take turns."""

    @property
    def statistics(self) -> SearchStatistics: ...

    @property
    def solved(self) -> bool:
        """True when a proof is known."""

    @property
    def exhausted(self) -> bool:
        """True when the policy has no untried tactic at any state."""

    @property
    def finished(self) -> bool:
        """True when solved or exhausted."""

    @property
    def in_flight(self) -> int:
        """Number of simulations that were selected and not yet fed or abandoned."""

    def select(self) -> Leaf | None:
        """Start a simulation. None if the search is finished, or has to wait for expansions in flight."""

    def feed(
        self,
        leaf: Leaf,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Finish a simulation with its expansion. False: outcomes were lost, select it again."""

    def abandon(self, leaf: Leaf) -> None:
        """Cancel a simulation in flight. The tree is as before its selection."""

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""

    def reject(self, proof: ProofTree) -> None:
        """Drop a proof that final verification refused, and go on. Raises ValueError for a proof of another search."""


class UnknownMethod(ValueError):
    """An attempt names a search method that this prover does not have."""


Constructor = Callable[[str, SearchParameters, int], TreeSearch]
"""(text of the root state, parameters, seed) -> search."""

METHODS: dict[str, Constructor] = {
    Method.MCTS: lambda root, parameters, seed: Search(root, parameters),
    Method.BEST_FIRST: lambda root, parameters, seed: BestFirstSearch(root, parameters),
    Method.RANDOM: lambda root, parameters, seed: RandomSearch(root, parameters, seed=seed),
}


def check_method(method: str) -> None:
    """Raises UnknownMethod if there is no such search."""
    if method not in METHODS:
        raise UnknownMethod(f"no search method {method!r}: this prover has {', '.join(METHODS)}")


def needs_messages(method: str) -> bool:
    """True if a method uses Lean's error messages. Searches of the tree do not."""
    return method not in METHODS


def begin(method: str, root_state: str, parameters: SearchParameters, seed: int) -> TreeSearch:
    """Start a search with this method. Raises UnknownMethod."""
    check_method(method)
    return METHODS[method](root_state, parameters, seed)
