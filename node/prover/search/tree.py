"""The AND-OR tree of one search: states (OR nodes), actions (AND nodes), and which of them are solved or dead.

A state is an OR node: one of its tactics has to prove it. An action is a tactic that ran without error. It is an AND
node over the independent branches that the tactic left: all of them have to be proved.

States of equal text are one node, so the tree is a directed graph. It stays acyclic, because tactics that lead back to
an ancestor are dropped.

The visits and values are updated in `node.prover.search.simulation`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from common.lean import Branch, Layout, Step
from node.lean.text.goals import ELIDED


class Result(NamedTuple):
    """A tactic, and the goals of its branches. One action stands for all tactics that lead to the same states."""

    tactic: str
    layout: Layout


@dataclass(slots=True, eq=False)
class Action:
    """A legal tactic at a state, and the statistics of the simulations that took it."""

    tactic: str
    parent: StateNode
    children: tuple[StateNode, ...]
    """One state for each independent branch. Empty: the tactic closed the state."""
    layout: Layout
    mass: float = 0.0
    """Prior mass. The prior P(a) is mass / parent.mass."""
    visits: int = 0
    in_flight: int = 0
    value_sum: float = 0.0
    q: float = 0.0
    """Q of the mean value."""
    dead: bool = False
    """True if the policy's tactics cannot prove one of the branches, or if the tactic is forbidden."""
    forbidden: bool = False
    """Verification refused a proof with this tactic (`node.prover.search.proofs`)."""
    others: list[Result] | None = None
    """Further tactics that lead to the same states."""

    @property
    def value(self) -> float:
        """Mean V of this action in steps, including its own reward of -1. Only for visited actions."""
        return self.value_sum / self.visits

    @property
    def steps(self) -> int | None:
        """Length of the longest branch of the shortest known proof through this action. None while unsolved."""
        if self.forbidden:
            return None
        longest = 0
        for child in self.children:
            if child.steps is None:
                return None
            longest = max(longest, child.steps)
        return 1 + longest


@dataclass(slots=True, eq=False)
class StateNode:
    """A proof state, and the statistics of the simulations that passed through it or ended at it."""

    index: int
    state: str
    origin: tuple[Action, int] | None
    """The action and the branch that first led here. They define the state's path. None for the root."""
    depth: int = 0
    """Length of the path."""
    parents: list[Action] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    """Legal tactics, sorted by decreasing prior mass."""
    tried: dict[str, Action | None] = field(default_factory=dict)
    """Every tactic that was tried here. None: it failed, is useless or forbidden."""
    sources: dict[str, str] = field(default_factory=dict)
    """For mixtures: the parts of the policy that first proposed each tactic."""
    mass: float = 0.0
    """Sum of the actions' prior masses."""
    live: int = 0
    """Number of actions that are not dead."""
    visits: int = 0
    in_flight: int = 0
    value: float = 0.0
    """Mean V in steps. Once the state is solved: minus the steps of the proof, which is exact."""
    value_sum: float = 0.0
    expansions: int = 0
    """Number of simulations that ended here."""
    estimate: float | None = None
    """V of the network at the first expansion; None: it gave none."""
    pending: bool = False
    """An expansion of this node is in flight."""
    losses: int = 0
    exhausted: bool = False
    """The policy has no further tactic for this state."""
    resting: bool = False
    """No live tactic was found here in as many expansions as a state gets. A new round wakes it (`wake`)."""
    dead: bool = False
    steps: int | None = None
    """Length of the longest branch of the shortest known proof. None while unsolved."""
    best: Action | None = None
    """The first action of that proof."""

    @property
    def path(self) -> tuple[Step, ...]:
        """The steps from the root that first led here."""
        steps = []
        origin = self.origin
        while origin is not None:
            action, branch = origin
            steps.append(Step(action.tactic, branch, action.layout))
            origin = action.parent.origin
        return tuple(reversed(steps))


@dataclass(slots=True)
class Walk:
    """The path of one simulation: the actions from the root down to a leaf."""

    actions: list[Action]
    leaf: StateNode


class Tree:
    """All states of one search."""

    def __init__(self, root_state: str, max_depth: int, *, and_nodes: bool = True) -> None:
        self.max_depth = max_depth
        self._and_nodes = and_nodes
        self.root = StateNode(0, root_state, None)
        self.nodes: list[StateNode] = []
        self._by_text: dict[str, StateNode] = {}
        """Without states with terms that Lean has elided: their equal texts may be different states."""
        self._enter(self.root)

    def add_action(self, node: StateNode, tactic: str, mass: float, branches: tuple[Branch, ...]) -> Action | None:
        """Add a tactic and its branches. None if it leads back to the state itself or an ancestor, or is too deep.

        If another tactic of this state led to the same states, the tactic adds its prior mass to that action.
        """
        # 1. Which of its states are known? A tactic that leads back would make a cycle.
        if branches and node.depth >= self.max_depth:
            return None
        if len(branches) > 1 and not self._and_nodes:
            branches = (joined(branches),)
        find = self._by_text.get
        known = tuple([find(branch.state) for branch in branches])
        if any(known) and leads_back(node, known):
            return None
        # 2. Another tactic may have led to the same states.
        twin = None if None in known else find_twin(node, known)
        layout = tuple([branch.goals for branch in branches])
        if twin is not None:
            join(twin, Result(tactic, layout), mass)
            return twin
        # 3. A new action, with nodes for new states.
        action = Action(tactic, node, (), layout)
        children = []
        for index, (branch, child) in enumerate(zip(branches, known, strict=True)):
            if child is None and index:  # an earlier branch of this tactic may have added the same state
                child = find(branch.state)
            if child is None:
                child = StateNode(len(self.nodes), branch.state, (action, index), depth=node.depth + 1)
                self._enter(child)
            child.parents.append(action)
            children.append(child)
        action.children = tuple(children)
        # 4. What it changes above: the state's prior mass, and perhaps the proof.
        node.actions.append(action)
        add_mass(action, mass)
        action.dead = any(known) and any(child.dead for child in action.children)
        node.live += not action.dead
        if None not in known:
            settle(action)
        return action

    def _enter(self, node: StateNode) -> None:
        self.nodes.append(node)
        if ELIDED not in node.state:
            self._by_text[node.state] = node


def add_mass(action: Action, mass: float) -> None:
    """Add prior mass to an action."""
    action.mass += mass
    action.parent.mass += mass


def joined(branches: tuple[Branch, ...]) -> Branch:
    """One branch with all goals of these branches, in Lean's order.

    Metavariables are numbered for each branch, so in the joined text different ones may have the same name.
    """
    texts: dict[int, str] = {}
    for branch in branches:
        texts.update(zip(branch.goals, branch.state.split("\n\n"), strict=True))
    places = tuple(sorted(texts))
    return Branch("\n\n".join(texts[place] for place in places), places)


def find_twin(node: StateNode, children: tuple[StateNode | None, ...]) -> Action | None:
    """The action of this node that leads to the same states, if there is one."""
    return next((action for action in node.actions if action.children == children), None)


def join(twin: Action, result: Result, mass: float) -> None:
    """Add a tactic to the action that leads to the same states. The new tactic replaces the action's tactic if that one
    is forbidden."""
    add_mass(twin, mass)
    if not twin.forbidden:
        twin.others = [*(twin.others or ()), result]
        return
    take_place(twin, result)
    twin.forbidden = False
    twin.dead = any(child.dead for child in twin.children)
    twin.parent.live += not twin.dead
    settle(twin)


def take_place(action: Action, result: Result) -> None:
    """Replace the action's tactic by another one that leads to the same states."""
    action.tactic, action.layout = result


def leads_back(node: StateNode, children: tuple[StateNode | None, ...]) -> bool:
    """True if one of these states is the node itself or an ancestor of it. Only expanded states can be."""
    expanded = [child for child in children if child is not None and (child.actions or child is node)]
    return bool(expanded) and not ancestors(node).isdisjoint(expanded)


def ancestors(node: StateNode) -> set[StateNode]:
    """The node and all states from which it can be reached."""
    states, queue = {node}, [node]
    while queue:
        for action in queue.pop().parents:
            if action.parent not in states:
                states.add(action.parent)
                queue.append(action.parent)
    return states


def settle(action: Action) -> None:
    """Propagate a solved action to the states above it.

    An action is solved when all its branches are, and a state when one of its actions is. steps(state) is the minimum
    over its actions, steps(action) = 1 + the maximum over its branches. The best action of a state always leads to
    states with fewer steps, so the proof is well-founded.
    """
    queue = [action]
    while queue:
        action = queue.pop()
        steps, node = action.steps, action.parent
        if steps is not None and (node.steps is None or steps < node.steps):
            node.steps, node.best = steps, action
            node.value = -float(steps)
            queue.extend(node.parents)


def bury(node: StateNode) -> None:
    """Propagate a dead state to the actions and states above it.

    A state is dead when it is exhausted or rests, and all its actions are dead. An action is dead when one of its
    branches is.
    """
    queue = [node]
    while queue:
        node = queue.pop()
        if node.dead or node.live or not (node.exhausted or node.resting) or node.steps is not None:
            continue
        node.dead = True
        for action in node.parents:
            if not action.dead:
                action.dead = True
                action.parent.live -= 1
                queue.append(action.parent)


def wake(tree: Tree) -> list[StateNode]:
    """Wake all resting states, and return them. What is dead afterwards is so because the policy is exhausted there."""
    woken = [node for node in tree.nodes if node.resting]
    for node in tree.nodes:
        node.resting = node.dead = False
        for action in node.actions:
            action.dead = action.forbidden
        node.live = sum(not action.dead for action in node.actions)
    for node in tree.nodes:
        bury(node)
    return woken
