"""The search keeps the trees of the formulas as they are written in the paper: here without anything that saves time.

`ReferenceSearch` has all of our rules. What is fast in `node.prover.search.simulation` and `search` is left out:
formulas remembered by count, statistics kept up to date, calls that are written out. The reference chooses with its own
scores and counts into the same tree. `Pseudocode` is AlphaProof's search alone, with nodes and statistics of its own.
The search does the same where our deviations are off (docs/algorithms.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest

from common.lean import Outcome, OutcomeKind
from common.seeds import derive_seed
from node.prover.policies.policy import Proposal
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from node.prover.search.tree import Action, StateNode, Walk
from tests.node.prover.toys import ERROR, PROVED, goals, play, random_environment


class ReferenceSearch(Search):
    """The search, its walk and its values written down anew."""

    def _choose(self) -> Walk | None:
        return self._walk_from(self.tree.root)

    def _walk_from(self, node: StateNode) -> Walk | None:
        """Depth first: the best action whose best branch leads to a state that wants tactics."""
        if self._samples_again(node):
            return Walk([], node)
        choices = [action for action in node.actions if not action.dead]
        for action in sorted(choices, key=self._action_score, reverse=True):
            branches = [child for child in action.children if child.steps is None]
            for child in sorted(branches, key=lambda child: self._branch_score(action, child), reverse=True):
                walk = self._walk_from(child)
                if walk is not None:
                    return Walk([action, *walk.actions], walk.leaf)
        return None

    def _learn(self, walk: Walk, proposals: object, value: float) -> None:
        leaf = walk.leaf
        leaf.expansions += 1
        self._visit(leaf, value)
        for action in reversed(walk.actions):
            if len(action.children) > 1:
                value = self._worst(action)
            value -= 1
            action.visits += 1
            action.value_sum += value
            self._visit(action.parent, value)

    def _samples_again(self, node: StateNode) -> bool:
        if node.exhausted or node.pending:
            return False
        parameters = self.parameters
        few = parameters.progressive_c * math.pow(node.visits, parameters.progressive_exponent)
        return not node.live or node.expansions <= few

    def _action_score(self, action: Action) -> float:
        node = action.parent
        total = node.visits - node.expansions + node.in_flight - node.pending
        q = self._q(action.value) if action.visits else self._fresh_q(node.value)
        if any(map(self._is_dead_end, action.children)):
            q = 0.0
        passages = action.visits + action.in_flight
        if action.in_flight:
            q *= action.visits / passages
        return q + self._exploration(total) / node.mass * action.mass / (1 + passages)

    def _branch_score(self, action: Action, child: StateNode) -> float:
        total = sum(each.visits + each.in_flight for each in action.children)
        q = self._q(child.value) if child.visits else self._fresh_q(self._worst(action))
        passages = child.visits + child.in_flight
        loss = 1 - q
        if child.in_flight:
            loss *= child.visits / passages
        return loss + self.parameters.c_and * self._exploration(total) / len(action.children) / (1 + passages)

    def _exploration(self, total: int) -> float:
        base = self.parameters.c_base
        return (self.parameters.c_init + math.log((total + base + 1) / base)) * math.sqrt(total)

    def _fresh_q(self, value: float) -> float:
        return 0.0 if self.parameters.unvisited_zero else self._q(value - self.parameters.unvisited_penalty)

    def _q(self, value: float) -> float:
        return math.pow(self.parameters.discount, -1 - value)

    def _worst(self, action: Action) -> float:
        known = [child.value for child in action.children if child.visits or child.steps is not None]
        return min(known, default=action.parent.value)

    def _is_dead_end(self, child: StateNode) -> bool:
        return child.steps is None and not child.live and child.expansions > 0

    def _visit(self, node: StateNode, value: float) -> None:
        node.visits += 1
        node.value_sum += value
        if node.steps is None:
            node.value = node.value_sum / node.visits


PARAMETERS = [
    SearchParameters(),
    SearchParameters(unvisited_penalty=1.0),
    SearchParameters(unvisited_zero=True),
    SearchParameters(progressive_c=0.3, max_depth=12),
]


@pytest.mark.parametrize("seed", range(12))
def test_the_tree_is_that_of_the_plain_formulas(seed: int) -> None:
    trees = []
    for kind in (Search, ReferenceSearch):
        search = kind("s0", PARAMETERS[seed % 4])
        environment = random_environment(seed, (30, 200, 2000)[seed % 3], closing=50)
        expanded = play(search, environment, seed=seed, simulations=120, leaves=1 + seed % 5)
        nodes = []
        for node in search.tree.nodes:
            actions = [(a.tactic, a.visits, a.value_sum) for a in node.actions]
            nodes.append((node.state, node.visits, node.value, node.in_flight, actions))
        trees.append((expanded, nodes, search.statistics))
    assert trees[0] == trees[1]


@dataclass
class OrNode:
    """A state: one of its tactics has to prove it."""

    state: str
    evaluations: int = 0
    n: int = 0
    w: float = 0.0
    mass: dict[str, float] = field(default_factory=dict)
    actions: dict[str, AndNode] = field(default_factory=dict)
    """The legal tactics."""

    @property
    def steps(self) -> float:
        """Of its shortest known proof; infinite without one."""
        each = (1 + max((child.steps for child in action.children), default=0) for action in self.actions.values())
        return min(each, default=math.inf)

    @property
    def v(self) -> float:
        return -self.steps if self.steps < math.inf else self.w / self.n


@dataclass
class AndNode:
    """A tactic: all states that it leaves have to be proved."""

    children: list[OrNode]
    n: int = 0
    w: float = 0.0


class Pseudocode:
    """AlphaProof's search, written recursively, one simulation at a time. Untried actions have Q = 0, every expansion
    finds a legal tactic, and no two states are the same. Two things are ours: what a tactic closes is solved at once,
    and a solved state has the value of its proof."""

    def __init__(self, seed: int, parameters: SearchParameters) -> None:
        self.root, self.seed, self.parameters = OrNode("s"), seed, parameters
        self.expanded: list[str] = []

    def simulate(self, node: OrNode) -> float:
        """Walk down to a state, expand it, and return the value that is backed up."""
        parameters = self.parameters
        if node.evaluations <= parameters.progressive_c * node.n**parameters.progressive_exponent:
            value = self.expand(node)
        else:
            action = self.chosen(node)
            value = self.simulate(self.branch(action))
            if len(action.children) > 1:
                value = min(child.v for child in action.children if child.n or child.steps < math.inf)
            value -= 1  # the reward of a tactic
            action.n, action.w = action.n + 1, action.w + value
        node.n, node.w = node.n + 1, node.w + value
        return value

    def expand(self, node: OrNode) -> float:
        self.expanded.append(node.state)
        masses, value = sampled(self.seed, node.state, node.evaluations)
        for tactic, mass in masses.items():
            outcome = outcome_of(self.seed, node.state, tactic)
            if outcome.kind is OutcomeKind.ERROR:
                continue
            node.mass[tactic] = node.mass.get(tactic, 0.0) + mass
            node.actions.setdefault(tactic, AndNode([OrNode(branch.state) for branch in outcome.branches]))
        node.evaluations += 1
        return -node.steps if node.steps < math.inf else value

    def chosen(self, node: OrNode) -> AndNode:
        """PUCT; of equals the tactic with the larger prior, then the one that was sampled first."""
        total = sum(action.n for action in node.actions.values())
        mass = sum(node.mass.values())

        def score(tactic: str) -> tuple[float, float]:
            action, prior = node.actions[tactic], node.mass[tactic] / mass
            q = self.q(action.w / action.n) if action.n else 0.0
            return q + self.c(total) * prior * math.sqrt(total) / (1 + action.n), prior

        return node.actions[max(node.actions, key=score)]

    def branch(self, action: AndNode) -> OrNode:
        """The hardest of the unsolved branches, with a uniform prior; of equals the first."""
        total, prior = sum(child.n for child in action.children), 1 / len(action.children)

        def score(child: OrNode) -> float:
            q = self.q(child.v) if child.n else 0.0
            return 1 - q + self.parameters.c_and * self.c(total) * prior * math.sqrt(total) / (1 + child.n)

        return max((child for child in action.children if child.steps == math.inf), key=score)

    def q(self, value: float) -> float:
        return self.parameters.discount ** (-1 - value)

    def c(self, total: int) -> float:
        base = self.parameters.c_base
        return self.parameters.c_init + math.log((total + base + 1) / base)


def sampled(seed: int, state: str, round: int) -> tuple[dict[str, float], float]:
    """Tactics with their masses, often equal ones, and a value. Later rounds have new tactics and some of the old."""
    draw = derive_seed(seed, state, round)
    masses = {f"t{number}": 1.0 + (draw >> 8 * number) % 3 for number in range(2 * round, 2 * round + 4)}
    return {tactic: mass + 0.37 * round for tactic, mass in masses.items()}, -1.0 - draw % 9


def outcome_of(seed: int, state: str, tactic: str) -> Outcome:
    """What a tactic does in a random tree without dead ends. `t3` closes some states, and no other tactic does: two
    that do the same would be merged."""
    draw = derive_seed(seed, state, tactic)
    if draw % 3 == 0 and tactic != "t2":
        return ERROR
    if tactic == "t3" and (draw >> 8) % 5 == 0:
        return PROVED
    return goals(*(f"{state}.{tactic}{part}" for part in range(1 + draw % 2)))


@pytest.mark.parametrize("seed", range(6))
def test_the_search_is_that_of_the_pseudocode_where_our_deviations_are_off(seed: int) -> None:
    # With few visits the paper's c_base leaves nothing to exploration, and its progressive_c leaves it at one round.
    small = {"progressive_c": (0.01, 0.3)[seed % 2], "c_base": (2.0, 10.0, 3200.0)[seed % 3]}
    parameters = SearchParameters(unvisited_zero=True, discount=0.9, **small)
    search, pseudocode = Search("s", parameters), Pseudocode(seed, parameters)
    # 1. The same states are expanded, in the same order.
    while not search.solved and search.statistics.simulations < 100:
        leaf = search.select()
        assert leaf is not None
        masses, value = sampled(seed, leaf.state, leaf.round)
        outcomes = {tactic: outcome_of(seed, leaf.state, tactic) for tactic in masses if tactic not in leaf.tried}
        search.feed(leaf, [Proposal(*each) for each in masses.items()], value, outcomes)
        pseudocode.simulate(pseudocode.root)
        assert pseudocode.expanded[-1] == leaf.state
    # 2. All statistics are the same.
    nodes, todo = {node.state: node for node in search.tree.nodes}, [pseudocode.root]
    for node in todo:
        ours = nodes.pop(node.state)
        assert (ours.visits, ours.expansions, ours.steps or math.inf) == (node.n, node.evaluations, node.steps)
        assert not node.n or ours.value == pytest.approx(node.v)
        assert {each.tactic: (each.visits, each.value_sum) for each in ours.actions} == {
            tactic: (action.n, action.w) for tactic, action in node.actions.items()
        }
        todo += [child for action in node.actions.values() for child in action.children]
    assert not nodes
