"""The AND-OR tree of one search: states (OR nodes), actions (AND nodes), and which of them are solved or dead.

A state is an OR node: one of its tactics has to prove it. An action is a tactic that ran without error. It is an AND
node over the independent branches that the tactic left: all of them have to be proved.

Equal states are merged, so the tree is a directed graph. It stays acyclic, because tactics that lead back to an
ancestor are dropped. States are equal up to the names and the order of their hypotheses
(`KnownStates`). A node has the text of the first of its states. Actions store the names of the
other states that were merged into it.

The visits and values are updated in `node.prover.search.simulation`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.lean import Branch, Layout, Step
from node.lean.text.canonical import Canonical, Merging, Sketches, canonical
from node.lean.text.goals import ELIDED

# ----------------------------------------------------------------------------------------------------------------------
# The states of one search by text, and up to the names and the order of their hypotheses.
#
# Two states are equal if their canonical keys are equal. A key costs more than the rest of a simulation, and most
# states are unique. So each state first gets a cheap sketch, and keys are computed only for states with equal sketches.


@dataclass(frozen=True, slots=True)
class Alias:
    """A state that was merged into a node with another text."""

    state: str
    """The text of the merged state, as Lean prints it."""
    names: dict[str, str]
    """From each name of the node's context to the name in the merged state."""


class KnownStates:
    """The nodes of a tree by text, by sketch and by canonical key."""

    def __init__(self, merging: Merging) -> None:
        self.merged = 0
        """Number of texts that were merged into a node with another text."""
        self._merging: Merging = merging
        self._by_text: dict[str, tuple[StateNode, Alias | None]] = {}
        self._sketches = Sketches()
        self._by_sketch: dict[int, StateNode | None] = {}
        """The only node with this sketch. None: there may be several, and all of them are in `_by_key`."""
        self._by_key: dict[str, tuple[StateNode, Canonical]] = {}

    def find(self, state: str) -> tuple[StateNode | None, Alias | None, int | None]:
        """The node of a state (None for a new state), the state's alias (None if its text is the node's), and its
        sketch (None if it may be merged with equal texts only)."""
        known = self._by_text.get(state)
        if known is not None:
            return *known, None
        sketch = None if self._merging == "text" else self._sketches.of(state)
        if sketch is None or sketch not in self._by_sketch:
            return None, None, sketch
        form = canonical(state, self._merging)
        if form is None:
            return None, None, None
        self._compute_key(sketch)
        equal = self._by_key.get(form.key)
        if equal is None:
            return None, None, sketch
        node, first = equal
        alias = Alias(state, dict(zip(first.names, form.names, strict=True)))
        self._by_text[state] = node, alias
        self.merged += 1
        return node, alias, sketch

    def of_text(self, state: str) -> tuple[StateNode, Alias | None]:
        """The node of a known state, and the state's alias (None if its text is the node's). Raises KeyError if the
        text is unknown."""
        return self._by_text[state]

    def enter(self, node: StateNode, sketch: int | None) -> None:
        """Add a new node. `sketch`: from `find`; None: only states with equal text are merged with this one."""
        if ELIDED not in node.state:
            self._by_text[node.state] = node, None
        if sketch is None:
            return
        if sketch in self._by_sketch:
            self._enter_key(node)
        else:
            self._by_sketch[sketch] = node

    def _compute_key(self, sketch: int) -> None:
        """Enter the key of the first state with this sketch, because there is a second one now."""
        first = self._by_sketch[sketch]
        if first is not None:
            self._by_sketch[sketch] = None
            self._enter_key(first)

    def _enter_key(self, node: StateNode) -> None:
        form = canonical(node.state, self._merging)
        if form is not None:
            self._by_key[form.key] = node, form


# ----------------------------------------------------------------------------------------------------------------------
# The tree.

Aliases = tuple[Alias | None, ...]
"""One entry for each branch of an action. None: the branch has the text of its node. Empty: all branches have."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tactic, and how its branches are written. One action stands for all tactics that lead to the same states."""

    tactic: str
    layout: Layout
    aliases: Aliases = ()


@dataclass(slots=True, eq=False)
class Action:
    """A legal tactic at a state, and the statistics of the simulations that took it."""

    tactic: str
    parent: StateNode
    children: tuple[StateNode, ...]
    """One state for each independent branch. Empty: the tactic closed the state."""
    layout: Layout
    aliases: Aliases = ()
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


class LeadsBack(ValueError):
    """An action would lead to an ancestor of its own state, and make a cycle."""


class Tree:
    """All states of one search."""

    def __init__(self, root_state: str, max_depth: int, merging: Merging = "text", *, and_nodes: bool = True) -> None:
        self.max_depth = max_depth
        self._and_nodes = and_nodes
        self.root = StateNode(0, root_state, None)
        self.nodes = [self.root]
        self._known = KnownStates(merging)
        _, _, sketch = self._known.find(root_state)
        self._known.enter(self.root, sketch)

    @property
    def merged(self) -> int:
        """Number of texts that were merged into a node with another text."""
        return self._known.merged

    def add_action(self, node: StateNode, tactic: str, mass: float, branches: tuple[Branch, ...]) -> Action | None:
        """Add a tactic and its branches. None if it leads back to the state itself or an ancestor, or is too deep.

        If another tactic of this state led to the same states, the tactic adds its prior mass to that action.
        """
        # 1. Which of its states are known? A tactic that leads back would make a cycle.
        if branches and node.depth >= self.max_depth:
            return None
        if len(branches) > 1 and not self._and_nodes:
            branches = (joined(branches),)
        find = self._known.find
        lookups = [find(branch.state) for branch in branches]
        known = tuple([child for child, _, _ in lookups])
        if any(known) and leads_back(node, known):
            return None
        # 2. Another tactic may have led to the same states.
        twin = None if None in known else find_twin(node, known)
        layout = tuple([branch.goals for branch in branches])
        if twin is not None:
            join(twin, Result(tactic, layout, as_aliases(alias for _, alias, _ in lookups)), mass)
            return twin
        # 3. A new action, with nodes for new states.
        action = Action(tactic, node, (), layout)
        children, aliases = [], []
        for index, (branch, (child, alias, sketch)) in enumerate(zip(branches, lookups, strict=True)):
            if child is None and index:  # an earlier branch of this tactic may have added the same state
                child, alias, sketch = find(branch.state)
            child = child or self._new(branch.state, (action, index), sketch)
            child.parents.append(action)
            children.append(child)
            aliases.append(alias)
        action.children, action.aliases = tuple(children), as_aliases(aliases)
        # 4. What it changes above: the state's prior mass, and perhaps the proof.
        node.actions.append(action)
        add_mass(action, mass)
        action.dead = any(known) and any(child.dead for child in action.children)
        node.live += not action.dead
        if None not in known:
            settle(action)
        return action

    def part(self, action: Action, index: int) -> StateNode:
        """Undo a merge: the branch gets a separate node with its own text, which is not merged with other texts.

        Returns the node. It may exist already, from an earlier undone merge. Raises LeadsBack if that node is an
        ancestor of the action. The caller has to recompute which states are solved.
        """
        alias = action.aliases[index]
        assert alias is not None  # callers pass merged branches only
        child, child_alias = self._known.of_text(alias.state)
        if child_alias is not None:
            child = self._new(alias.state, (action, index), None)
        elif leads_back(action.parent, (child,)):
            raise LeadsBack(alias.state[:80])
        action.children[index].parents.remove(action)
        child.parents.append(action)
        action.children = (*action.children[:index], child, *action.children[index + 1 :])
        action.aliases = as_aliases((*action.aliases[:index], None, *action.aliases[index + 1 :]))
        return child

    def _new(self, state: str, origin: tuple[Action, int], sketch: int | None) -> StateNode:
        child = StateNode(len(self.nodes), state, origin, depth=origin[0].parent.depth + 1)
        self.nodes.append(child)
        self._known.enter(child, sketch)
        return child


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


def as_aliases(aliases: Iterable[Alias | None]) -> Aliases:
    """The aliases as a tuple; the empty tuple if all are None, which is the usual case."""
    listed = tuple(aliases)
    return listed if any(listed) else ()


def find_twin(node: StateNode, children: tuple[StateNode | None, ...]) -> Action | None:
    """The action of this node that leads to the same states, if there is one."""
    return next((action for action in node.actions if action.children == children), None)


def join(twin: Action, result: Result, mass: float) -> None:
    """Add a tactic to the action that leads to the same states. The new tactic replaces the action's tactic if that one
    is forbidden, or if only that one needs a renamed proof."""
    add_mass(twin, mass)
    if not twin.forbidden:
        former = Result(twin.tactic, twin.layout, twin.aliases)
        better = bool(twin.aliases) and not result.aliases
        twin.others = [*(twin.others or ()), former if better else result]
        if better:
            take_place(twin, result)
        return
    take_place(twin, result)
    twin.forbidden = False
    twin.dead = any(child.dead for child in twin.children)
    twin.parent.live += not twin.dead
    settle(twin)


def take_place(action: Action, result: Result) -> None:
    """Replace the action's tactic by another one that leads to the same states.

    A state that was first reached by the former tactic has that tactic's names. If the new tactic gives other names,
    the path of the state keeps the former tactic.
    """
    if result.aliases != action.aliases:
        former = Action(action.tactic, action.parent, action.children, action.layout, forbidden=True)
        for child in action.children:
            if child.origin is not None and child.origin[0] is action:
                child.origin = former, child.origin[1]
    action.tactic, action.layout, action.aliases = result.tactic, result.layout, result.aliases


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

    A state is dead when it is exhausted and all its actions are dead. An action is dead when one of its branches is.
    """
    queue = [node]
    while queue:
        node = queue.pop()
        if node.dead or node.live or not node.exhausted or node.steps is not None:
            continue
        node.dead = True
        for action in node.parents:
            if not action.dead:
                action.dead = True
                action.parent.live -= 1
                queue.append(action.parent)
