"""One simulation of a search over the AND-OR tree, from the selected leaf to the statistics that it leaves behind.

    leaf = search.select()                          1. choose a leaf, and put a virtual loss on the way to it
    proposals, value = policy(leaf)                    (outside)
    outcomes = lean(leaf, proposals)                   (outside)
    search.feed(leaf, proposals, value, outcomes)   2. expand the leaf   3. back up its value   4. count

All searches share this. A subclass of `TreeSearch` adds which leaf comes next (`_choose`), and what it learns from its
expansion (`_learn`). The formulas are AlphaProof's (Nature 2025, pseudocode). A value V is minus the number of
remaining tactics on the longest branch (<= -1 for an open state). N counts visits, and during selection also
simulations in flight. A simulation in flight counts as a loss (virtual loss), so that concurrent simulations select
different leaves.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import msgspec

from common.lean import Outcome, OutcomeKind, ProofTree, Step
from node.prover.policies.policy import Proposal
from node.prover.search import proofs
from node.prover.search.parameters import SearchParameters
from node.prover.search.tree import Action, StateNode, Tree, Walk, add_mass, bury, wake

# Python 3.11 looks up an enum's member with a function call, and `expand` needs these for every tactic.
LOST, GOALS, PROVED = OutcomeKind.LOST, OutcomeKind.GOALS, OutcomeKind.PROVED

NO_TACTICS: frozenset[str] = frozenset()

mass_of = operator.attrgetter("mass")


class Leaf(msgspec.Struct, frozen=True):
    """A state that a search has selected: asks for tactics, the state's value, and Lean's outcomes for the tactics. The
    search takes it back with them (`feed`), or without (`abandon`)."""

    search: TreeSearch
    """The search whose tree has the state."""
    node: StateNode
    state: str
    path: tuple[Step, ...]
    round: int
    """Number of earlier expansions of this state. It is part of the seed of the samples, as is `number`."""
    tried: frozenset[str]
    """Tactics with a known outcome at this state. They are not sent to Lean again."""
    number: int
    """Different for the states of an attempt."""
    turn: int = 0
    """Index of the policy to ask, if several take turns."""


@dataclass(slots=True)
class SearchStatistics:
    """Counts of one search so far."""

    simulations: int = 0
    """Expansions that were fed. Repeated ones (`losses`) do not count."""
    tactics_tried: int = 0
    tactics_failed: int = 0
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
    """A search for one proof. Pure and synchronous: it does not wait or measure time."""

    def __init__(self, root_state: str, parameters: SearchParameters | None = None) -> None:
        self.parameters = parameters or SearchParameters()
        self.tree = Tree(
            root_state,
            self.parameters.max_depth,
            and_nodes=self.parameters.and_nodes,
        )
        self.statistics = SearchStatistics()
        self._walks: dict[StateNode, Walk] = {}
        self._most_expansions = self.parameters.dead_after
        """A state without live tactics rests after so many expansions: one more in every round."""
        self._refusals = proofs.Refusals()

    @abstractmethod
    def _choose(self) -> Walk | None:
        """The walk to the state to expand next. None if all walks lead to expansions in flight."""

    @abstractmethod
    def _learn(self, walk: Walk, proposals: Sequence[Proposal], value: float) -> None:
        """Update the statistics after the walk's leaf was expanded. `value`: V of the leaf (`leaf_value`)."""

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
        # 1. Lost outcomes: the leaf is selected again, unless that has happened too often. A missing outcome raises
        #    KeyError here, while the tree is still unchanged.
        node, statistics = self._walks[leaf.node].leaf, self.statistics
        new = [outcomes[p.tactic] for p in proposals if p.tactic not in node.tried]
        lost = sum([outcome.kind is LOST for outcome in new])
        if lost and node.losses < self.parameters.max_losses:
            node.losses += 1
            statistics.losses += 1
            self.abandon(leaf)
            return False
        # 2. Expand. If everything was lost max_losses times, the state counts as exhausted.
        expand(self.tree, node, proposals, outcomes, statistics, known)
        walk = self._walks.pop(node)
        leave(walk)
        node.exhausted = node.exhausted or exhausted or 0 < lost == len(new)
        node.resting = not node.live and node.expansions + 1 >= self._most_expansions
        # 3. Back up the value, and that the leaf is dead, if it is. If that leaves nothing, a new round begins.
        self._learn(walk, proposals, leaf_value(node, value, self.parameters, lost=lost > 0))
        bury(node)
        if self.tree.root.dead:
            self._begin_round()
        # 4. Count.
        statistics.simulations += 1
        statistics.expansions_lost += lost > 0
        return True

    def _begin_round(self) -> list[StateNode]:
        """Every resting state may be expanded once more. Returns these states."""
        self._most_expansions += 1
        return wake(self.tree)

    def abandon(self, leaf: Leaf) -> None:
        """Cancel a simulation in flight. The tree is as before its selection."""
        leave(self._walks.pop(leaf.node))

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return proofs.extract(self.tree.root)

    def reject(self, proof: ProofTree) -> None:
        """Drop a proof that final verification refused, so that it is never returned again. The search goes on.

        The search stays solved if it knows another proof. `node.prover.search.proofs` describes which tactics are
        forbidden with the refused proof. Raises ValueError if this search has not found that proof.
        """
        self._refusals.reject(self.tree.root, proof)
        self.statistics.proofs_rejected += 1
        self.statistics.proof_refused(self.solved)


# ----------------------------------------------------------------------------------------------------------------------
# Selection: PUCT at OR and AND nodes, and progressive sampling.


def q_value(value: float, parameters: SearchParameters) -> float:
    """Q = γ^(-1-V), in (0, 1] for V <= -1. An action that closes its state has Q = 1."""
    return math.pow(parameters.discount, -1.0 - value)


def unvisited_q(parent_value: float, parameters: SearchParameters) -> float:
    """Q of an unvisited child: from V(parent) minus a penalty in steps, or 0 with `unvisited_zero`."""
    return 0.0 if parameters.unvisited_zero else q_value(parent_value - parameters.unvisited_penalty, parameters)


def exploration(total: int, parameters: SearchParameters) -> float:
    """c · sqrt(ΣN), with c = c_init + log((ΣN + c_base + 1) / c_base). The caller multiplies by P / (1 + N)."""
    growth = math.log((total + parameters.c_base + 1.0) / parameters.c_base)
    return (parameters.c_init + growth) * math.sqrt(total)


def rounds(visits: int, parameters: SearchParameters) -> float:
    """c · N^exponent: a state with N visits and at most this many expansions is sampled again."""
    return parameters.progressive_c * math.pow(visits, parameters.progressive_exponent)


class ByCount(dict[int, float]):
    """A formula's values by count. A search needs the same counts again and again, at every level."""

    def __init__(self, formula: Callable[[int, SearchParameters], float], parameters: SearchParameters) -> None:
        super().__init__()
        self._formula = formula
        self._parameters = parameters

    def __missing__(self, count: int) -> float:
        value = self[count] = self._formula(count, self._parameters)
        return value


class Numbers:
    """The parameters of one search, and the formulas of selection that depend on them and a count alone."""

    __slots__ = ("exploration", "parameters", "rounds")

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        self.exploration = ByCount(exploration, parameters)
        self.rounds = ByCount(rounds, parameters)


def wants_tactics(node: StateNode, numbers: Numbers) -> bool:
    """Progressive sampling: expand a state while its number of expansions <= c · N^exponent (AlphaProof, pseudocode:
    `evaluations`). A new state has 0 <= 0. So has, at its next visit, a state whose actions are all dead."""
    if node.exhausted or node.pending:
        return False
    return not node.live or node.expansions <= numbers.rounds[node.visits]


Closed = Container[StateNode]
"""During one selection: states below which all walks lead to expansions in flight."""


def is_blocked(action: Action, closed: Closed) -> bool:
    """True when no branch is open: all unsolved branches wait for expansions in flight."""
    for child in action.children:
        if child.steps is None and (child.live > 0 or not child.pending) and child not in closed:  # `is_open`, inlined
            return False
    return True


def is_open(child: StateNode, closed: Closed) -> bool:
    """True for an unsolved branch that a simulation can enter: it has live actions, or no expansion is in flight."""
    return child.steps is None and (child.live > 0 or not child.pending) and child not in closed


def is_dead_end(action: Action) -> bool:
    """True if a branch was expanded and no tactic is left there. It may have further ones when it is sampled again."""
    for child in action.children:  # noqa: SIM110 - as above
        if not child.live and child.expansions and child.steps is None:
            return True
    return False


def best_action(node: StateNode, numbers: Numbers, closed: Closed = ()) -> Action | None:
    """OR node: argmax of Q + c · P · sqrt(ΣN) / (1 + N) over the actions. Ties go to the larger prior. None if no
    action can be selected now.

    Dead ends have Q = 0, so they rank below what is untried. (The pseudocode backs up -40 steps for them, which is
    Q = 0.68, more than the Q of untried siblings.)
    """
    best = _argmax_action(node, node.actions, numbers)
    if best is not None and (is_blocked(best, closed) or is_dead_end(best)):
        # Rare, so only the best action is checked first: the scores of others could only fall.
        open_actions = [action for action in node.actions if not is_blocked(action, closed)]
        return _argmax_action(node, open_actions, numbers, frozenset(filter(is_dead_end, open_actions)))
    return best


def _argmax_action(
    node: StateNode, actions: list[Action], numbers: Numbers, dead_ends: Container[Action] = ()
) -> Action | None:
    # ΣN: all visits that took an action, which are those that did not end here.
    total = node.visits - node.expansions + node.in_flight - node.pending
    weight = numbers.exploration[total] / node.mass if node.mass else 0.0
    fresh_q = None
    best, best_score = None, -math.inf
    for action in actions:
        if action.dead:
            continue
        passages = visits = action.visits
        if action in dead_ends:
            score = 0.0
        elif visits:
            score = action.q
        else:
            if fresh_q is None:  # most states have no unvisited action, so this is computed where it is needed
                fresh_q = unvisited_q(node.value, numbers.parameters)
            score = fresh_q
        if action.in_flight:
            passages += action.in_flight
            score *= visits / passages
        score += weight * action.mass / (1 + passages)
        if score > best_score:
            best, best_score = action, score
    return best


def hardest_branch(action: Action, numbers: Numbers, closed: Closed = ()) -> StateNode:
    """AND node: argmax of (1 - Q) + c_AND · c · (1 / n) · sqrt(ΣN) / (1 + N) over the n branches, without solved ones.

    So unvisited branches come first, then the hardest branch, because the value of an action is that of its worst
    branch. Raises ValueError if the action is blocked.
    """
    children, parameters = action.children, numbers.parameters
    total = 0
    for child in children:
        total += child.visits + child.in_flight
    weight = parameters.c_and * numbers.exploration[total] / len(children)
    best, best_score = None, -math.inf
    for child in children:
        if not is_open(child, closed):
            continue
        passages = visits = child.visits
        loss = 1.0 - (q_value(child.value, parameters) if visits else unvisited_q(product_value(action), parameters))
        if child.in_flight:
            passages += child.in_flight
            loss *= visits / passages
        score = loss + weight / (1 + passages)
        if score > best_score:
            best, best_score = child, score
    if best is None:
        raise ValueError("no branch is open")
    return best


def enter(walk: Walk) -> None:
    """Add the virtual loss of a simulation in flight to every node and action of its walk."""
    walk.leaf.pending = True
    walk.leaf.in_flight += 1
    for action in walk.actions:
        action.in_flight += 1
        action.parent.in_flight += 1


def leave(walk: Walk) -> None:
    """Remove the virtual loss of a simulation."""
    walk.leaf.pending = False
    walk.leaf.in_flight -= 1
    for action in walk.actions:
        action.in_flight -= 1
        action.parent.in_flight -= 1


# ----------------------------------------------------------------------------------------------------------------------
# Expansion.


def expand(
    tree: Tree,
    leaf: StateNode,
    proposals: Sequence[Proposal],
    outcomes: Mapping[str, Outcome],
    statistics: SearchStatistics,
    known: Container[str] = (),
) -> None:
    """Add an action to the leaf for each legal tactic, with the prior P(a) = mass(a) / Σ mass. Counts the tactics.

    A tactic that was tried before only gains prior mass. A tactic whose outcome was lost is ignored. `known`: tactics
    that are not counted, because another search has sent them to Lean.
    """
    root = tree.root
    for proposal in proposals:
        # 1. A tactic of an earlier expansion.
        tactic, mass = proposal.tactic, proposal.mass
        if tactic in leaf.tried:
            tried_action = leaf.tried[tactic]
            if tried_action is not None:
                add_mass(tried_action, mass)
            continue
        outcome = outcomes[tactic]
        kind = outcome.kind
        if kind is LOST:
            continue
        # 2. A new one: legal (and perhaps the end of the proof), useless, or failed.
        counts = tactic not in known
        statistics.tactics_tried += counts
        action = None
        if kind is GOALS or kind is PROVED:
            action = tree.add_action(leaf, tactic, mass, outcome.branches)
            if root.steps is not None and not statistics.solved_at_simulations:
                statistics.solved_at_simulations = statistics.simulations + 1
                statistics.solved_at_tactics = statistics.tactics_tried
        else:
            statistics.tactics_failed += counts
        leaf.tried[tactic] = action
        if proposal.source:
            leaf.sources[tactic] = proposal.source
    # 3. Ties keep the order of proposals, because the sort is stable.
    if len(leaf.actions) > 1:
        leaf.actions.sort(key=mass_of, reverse=True)


# ----------------------------------------------------------------------------------------------------------------------
# Values and visits that a simulation leaves behind.


def leaf_value(leaf: StateNode, value: float, parameters: SearchParameters, *, lost: bool) -> float:
    """V that a simulation backs up from its leaf.

    The exact value if the leaf is solved, `no_tactic_value` (-40) if it has no legal tactic, otherwise the policy's V
    (or -1 without `parameters.values`). An open state needs at least one tactic, so V is at most -1. `lost`: outcomes
    were lost, so a leaf without actions may still have a legal tactic.
    """
    if leaf.steps is not None:
        return -float(leaf.steps)
    if not leaf.actions and not lost:
        return parameters.no_tactic_value
    return min(value, -1.0) if parameters.values else -1.0


def product_value(action: Action) -> float:
    """V of an AND node: the minimum over its solved and visited branches. The parent state's value if there are
    none."""
    least = None
    for child in action.children:
        if (child.visits or child.steps is not None) and (least is None or child.value < least):
            least = child.value
    return action.parent.value if least is None else least


def count_leaf(leaf: StateNode, value: float) -> None:
    """Count a simulation that ended in this state, with its value."""
    leaf.expansions += 1
    leaf.visits += 1
    leaf.value_sum += value
    if leaf.steps is None:
        leaf.value = leaf.value_sum / leaf.visits


def count_passage(action: Action, value: float, parameters: SearchParameters) -> None:
    """Count a simulation that passed through this action and its parent state, with its value."""
    action.visits += 1
    action.value_sum += value
    action.q = math.pow(parameters.discount, -1.0 - action.value_sum / action.visits)  # `q_value`, inlined for speed
    node = action.parent
    node.visits += 1
    node.value_sum += value
    if node.steps is None:
        node.value = node.value_sum / node.visits
