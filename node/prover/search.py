"""Monte Carlo tree search over AND-OR trees of proof states (AlphaProof, Nature 2025): pure and synchronous.

One simulation selects a leaf, expands it and backs its value up:

    while not search.finished:
        request = search.select()
        proposals, value = policy(request)
        search.feed(request.node_id, proposals, value, lean(request, proposals))

The expansion is made of what a policy and Lean answer, so a simulation is cut in two: `Search.select` walks down and
says what is wanted, `Search.feed` takes it in. Several simulations may be in flight, each with a virtual loss on its
walk until it is fed or abandoned. Nothing here waits, measures time or draws a random number, so equal answers in equal
order give equal trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.lean import Outcome, OutcomeKind, ProofTree, Step
from node.prover import proofs
from node.prover.formulas import best_action, hardest_branch, leaf_value, product_value, wants_tactics
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal
from node.prover.statistics import add_mass, count_leaf, count_passage, enter, leave
from node.prover.tree import Action, StateNode, Tree, Walk, bury


def select(tree: Tree, parameters: SearchParameters) -> Walk | None:
    """Walk down from the root to a state that wants tactics; None when every way leads to an expansion in flight.

    OR node: the action with the largest Q(a) + c · P(a) · sqrt(ΣN) / (1 + N(a)).
    AND node: the branch with the largest (1 - Q(b)) + c_AND · c · (1 / n) · sqrt(ΣN) / (1 + N(b)).
    c = c_init + log((ΣN + c_base + 1) / c_base) (AlphaProof, pseudocode; see `formulas`).
    """
    actions: list[Action] = []
    node = tree.root
    while not wants_tactics(node, parameters):
        action = best_action(node, parameters)
        if action is None:
            return None
        actions.append(action)
        children = action.children
        node = children[0] if len(children) == 1 else hardest_branch(action, parameters)
    return Walk(actions, node)


def expand(tree: Tree, leaf: StateNode, proposals: Sequence[Proposal], outcomes: Mapping[str, Outcome]) -> Growth:
    """Add the actions of a leaf: what the proposed tactics led to, P(a) being mass(a) / Σ mass.

    A tactic proposed again only gains prior mass. One whose outcome infrastructure lost is as if never proposed.
    """
    growth = Growth()
    for proposal in proposals:
        tactic, mass = proposal.tactic, proposal.mass
        if tactic in leaf.tried:
            known = leaf.tried[tactic]
            if known is not None:
                add_mass(known, mass)
            continue
        outcome = outcomes[tactic]
        if not outcome.is_tactic_outcome:
            continue
        growth.tried += 1
        action = None
        if outcome.kind is OutcomeKind.PROVED or outcome.kind is OutcomeKind.GOALS:
            action = tree.add_action(leaf, tactic, mass, outcome.branches)
            growth.useless += action is None
        else:
            growth.failed += 1
        leaf.tried[tactic] = action
    leaf.actions.sort(key=lambda action: -action.mass)
    return growth


def back_up(walk: Walk, value: float, parameters: SearchParameters) -> None:
    """Carry the value of a leaf up its walk.

    V(action) = -1 + min over its branches of V(branch), the -1 being the reward of one tactic; V(state) is the mean
    over the simulations that passed, Q(action) = γ^(-1 - mean V(action)) (AlphaProof, environment and pseudocode).
    """
    count_leaf(walk.leaf, value)
    for action in reversed(walk.actions):
        if len(action.children) > 1:
            value = product_value(action)
        value -= 1.0
        count_passage(action, value, parameters)


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """Wanted: tactics for a state, its value, and what Lean says about the tactics."""

    node_id: int
    state: str
    path: tuple[Step, ...]
    round: int
    """How often this state has been expanded before; with `node_id` it seeds the samples."""
    tried: frozenset[str]
    """Tactics whose outcome is known here: they need not go to Lean again."""


@dataclass(slots=True)
class Growth:
    """What an expansion found out about its tactics."""

    tried: int = 0
    failed: int = 0
    useless: int = 0


@dataclass(slots=True)
class SearchStatistics:
    """What a search has done so far."""

    simulations: int = 0
    """Expansions fed and backed up."""
    tactics_tried: int = 0
    tactics_failed: int = 0
    tactics_useless: int = 0
    """Legal, but led back to an ancestor or changed nothing."""
    losses: int = 0
    """Expansions repeated because infrastructure lost an outcome."""
    expansions_lost: int = 0
    """Expansions that were fed all the same: of some or all of their tactics nothing is known."""


class Search:
    """The search for one proof. See the module's text for the loop around it."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self.parameters = parameters or SearchParameters()
        self.tree = Tree(root_state, self.parameters.max_depth)
        self.statistics = SearchStatistics()
        self._walks: dict[int, Walk] = {}

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
        walk = None if self.finished else select(self.tree, self.parameters)
        if walk is None:
            return None
        enter(walk)
        leaf = walk.leaf
        self._walks[leaf.index] = walk
        return ExpandRequest(leaf.index, leaf.state, leaf.path, leaf.expansions, frozenset(leaf.tried))

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
        lost = sum(not outcome.is_tactic_outcome for outcome in new)
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
        back_up(walk, leaf_value(leaf, value, self.parameters, lost=lost > 0), self.parameters)
        bury(leaf)
        self._count(growth, lost > 0)
        return True

    def abandon(self, node_id: int) -> None:
        """Take a simulation out of flight as if it had never been selected."""
        leave(self._walks.pop(node_id))

    def _count(self, growth: Growth, lost: bool) -> None:
        statistics = self.statistics
        statistics.simulations += 1
        statistics.tactics_tried += growth.tried
        statistics.tactics_failed += growth.failed
        statistics.tactics_useless += growth.useless
        statistics.expansions_lost += lost

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return proofs.extract(self.tree.root)
