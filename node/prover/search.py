"""Monte Carlo tree search over AND-OR trees of proof states: pure and synchronous.

One simulation is `select` (walk down to a leaf, ask for its expansion), the expansion by whoever owns the policy and
Lean, and `feed` (grow the tree, walk the value up). Several expansions may be in flight: each holds a virtual loss on
its path until it is fed or abandoned. Nothing here waits, measures time or draws a random number, so equal answers in
equal order give equal trees.

    while not search.finished:
        request = search.select()
        proposals, value = policy(request)
        search.feed(request.node_id, proposals, value, lean(request, proposals))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.lean import Outcome, OutcomeKind, ProofTree, Step
from common.messages import Transition
from node.prover import formulas, proofs
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal
from node.prover.tree import Action, StateNode, Tree, bury, grow


@dataclass(frozen=True, slots=True)
class ExpandRequest:
    """Wanted: tactics for a state, its value, and what Lean says about the tactics."""

    node_id: int
    state: str
    path: tuple[Step, ...]
    round: int
    """How often this state has been expanded before; with `node_id` it seeds the samples."""
    samples: int
    tried: frozenset[str]
    """Tactics whose outcome is known here: they need not go to Lean again."""


@dataclass(slots=True)
class SearchStatistics:
    simulations: int = 0
    """Expansions fed and backed up."""
    tactics_tried: int = 0
    tactics_failed: int = 0
    tactics_useless: int = 0
    """Legal, but led back to an ancestor or changed nothing."""
    losses: int = 0
    """Expansions repeated because infrastructure lost an outcome."""
    expansions_lost: int = 0
    """Expansions given up for that reason: nothing is known about their tactics."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """A simulation in flight: the actions from the root down to a leaf."""

    actions: list[Action]
    leaf: StateNode


class Search:
    """The search for one proof. See the module's text for the loop around it."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self.parameters = parameters or SearchParameters()
        self.tree = Tree(root_state, self.parameters.max_depth)
        self.statistics = SearchStatistics()
        self._walks: dict[int, _Walk] = {}

    @property
    def solved(self) -> bool:
        return self.tree.root.steps is not None

    @property
    def exhausted(self) -> bool:
        """No tactic of the policy is left to try anywhere."""
        return self.tree.root.dead

    @property
    def finished(self) -> bool:
        return self.solved or self.exhausted

    @property
    def in_flight(self) -> int:
        return len(self._walks)

    def select(self) -> ExpandRequest | None:
        """Walk down to a state that wants tactics; None when finished, or when every way leads to an expansion in
        flight."""
        if self.finished:
            return None
        walk = descend(self.tree.root, self.parameters)
        if walk is None:
            return None
        hold(walk)
        node = walk.leaf
        self._walks[node.index] = walk
        rounds = node.expansions
        return ExpandRequest(node.index, node.state, node.path, rounds, self.parameters.samples, frozenset(node.tried))

    def feed(
        self,
        node_id: int,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Grow the tree by an expansion and back its value up. False: outcomes were lost, so the expansion is to be
        repeated.

        `outcomes` holds one outcome for every proposed tactic that was not in the request's `tried`; `value` is V of
        the state; `exhausted` says that the policy has no further tactic for it. Raises KeyError when no such
        expansion is in flight, or when an outcome is missing.
        """
        node = self._walks[node_id].leaf
        judged = [outcomes[p.tactic] for p in proposals if p.tactic not in node.tried]  # before anything is changed
        lost = sum(not outcome.is_tactic_outcome for outcome in judged)
        if lost and node.losses < self.parameters.max_losses:
            node.losses += 1
            self.statistics.losses += 1
            self.abandon(node_id)
            return False
        self._expand(node, proposals, outcomes)
        walk = self._walks[node_id]
        self.abandon(node_id)
        all_lost = 0 < lost == len(judged)
        self.statistics.expansions_lost += all_lost
        node.exhausted = node.exhausted or exhausted or all_lost
        value = leaf_value(node, value, self.parameters, lost=lost > 0)
        formulas.backup(walk.actions, node, value, self.parameters)
        bury(node)
        self.statistics.simulations += 1
        return True

    def abandon(self, node_id: int) -> None:
        """Take an expansion out of flight as if it had never been selected."""
        release(self._walks.pop(node_id))

    def _expand(self, node: StateNode, proposals: Sequence[Proposal], outcomes: Mapping[str, Outcome]) -> None:
        """Add what the tactics led to; a tactic proposed again only gains prior mass."""
        for proposal in proposals:
            if proposal.tactic in node.tried:
                known = node.tried[proposal.tactic]
                if known is not None:
                    grow(known, proposal.mass)
            elif outcomes[proposal.tactic].is_tactic_outcome:
                node.tried[proposal.tactic] = self._try(node, proposal, outcomes[proposal.tactic])
        node.actions.sort(key=lambda action: -action.mass)

    def _try(self, node: StateNode, proposal: Proposal, outcome: Outcome) -> Action | None:
        self.statistics.tactics_tried += 1
        if outcome.kind not in (OutcomeKind.PROVED, OutcomeKind.GOALS):
            self.statistics.tactics_failed += 1
            return None
        action = self.tree.add_action(node, proposal.tactic, proposal.mass, outcome.branches)
        self.statistics.tactics_useless += action is None
        return action

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return proofs.extract(self.tree.root)

    def transitions(self, proof: ProofTree | None = None) -> list[Transition]:
        """Training examples of a proof (the shortest by default), each (state, tactic) once. Raises NotSolved."""
        return proofs.transitions(self.tree.root, proof or self.proof())


def descend(root: StateNode, parameters: SearchParameters) -> _Walk | None:
    """Follow the best action of each state and the most doubtful branch of each action, to a state that wants
    tactics."""
    actions: list[Action] = []
    node = root
    while not formulas.wants_tactics(node, parameters):
        action = formulas.select_action(node, parameters)
        if action is None:
            return None
        actions.append(action)
        children = action.children
        node = children[0] if len(children) == 1 else formulas.select_branch(action, parameters)
    return _Walk(actions, node)


def hold(walk: _Walk) -> None:
    """Put a virtual loss on everything between the root and the leaf."""
    walk.leaf.pending = True
    walk.leaf.in_flight += 1
    for action in walk.actions:
        action.in_flight += 1
        action.parent.in_flight += 1


def release(walk: _Walk) -> None:
    """Take the virtual loss away again."""
    walk.leaf.pending = False
    walk.leaf.in_flight -= 1
    for action in walk.actions:
        action.in_flight -= 1
        action.parent.in_flight -= 1


def leaf_value(node: StateNode, value: float, parameters: SearchParameters, *, lost: bool = False) -> float:
    """What a simulation that ended here backs up: the exact value when solved, -40 when no tactic is legal, else the
    policy's V.

    An open state needs at least one tactic, so V is at most -1.
    """
    if node.steps is not None:
        return -float(node.steps)
    if not node.actions and not lost:
        return parameters.no_tactic_value
    return min(value, -1.0)
