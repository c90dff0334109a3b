"""The AND-OR tree of one search: states (OR), actions (AND), and what is certain about them.

A state is an OR node: one of its tactics has to work. An action is a tactic that ran; it is an AND node over the
independent branches that the tactic left: all of them have to be proved. Equal states are merged, so the tree is a
graph; it is kept acyclic by dropping tactics that lead back to an ancestor, where they cannot help. States are equal up
to the names and the order of their hypotheses (`node.prover.known_states`): a node has the text of the state that came
first, and where another one was merged into it, the action remembers the names there.

The nodes' statistics are declared here and written in `node.prover.statistics`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from common.lean import Branch, Layout, Step
from node.prover.known_states import Alias, KnownStates
from node.prover.merging import Merging
from node.prover.statistics import add_mass, count_solved

Aliases = tuple[Alias | None, ...]
"""For each branch of an action; None: the branch has the text of its node. Empty: all have."""


@dataclass(frozen=True, slots=True)
class Result:
    """A tactic, and how what it led to is written; actions stand for all tactics that led to the same."""

    tactic: str
    layout: Layout
    aliases: Aliases = ()


@dataclass(slots=True, eq=False)
class Action:
    """A legal tactic at a state, and the statistics of the simulations that took it."""

    tactic: str
    parent: StateNode
    children: tuple[StateNode, ...]
    """One state per independent branch; none: the tactic closed the state."""
    layout: Layout
    aliases: Aliases = ()
    mass: float = 0.0
    """Prior mass; the prior is mass / parent.mass."""
    visits: int = 0
    in_flight: int = 0
    value_sum: float = 0.0
    q: float = 0.0
    """Q of the mean value."""
    dead: bool = False
    """A branch is known to be unprovable with the tactics that the policy has, or the tactic is forbidden."""
    forbidden: bool = False
    """Verification refused a proof with this tactic (`node.prover.refusals`)."""
    others: list[Result] | None = None
    """Further tactics with the same result."""

    @property
    def value(self) -> float:
        """Mean V of this action in steps, its own reward of -1 included (only when visited)."""
        return self.value_sum / self.visits

    @property
    def steps(self) -> int | None:
        """Tactics on the longest branch of the shortest known proof through this action; None while unsolved."""
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
    """A proof state, and the statistics of the simulations that passed through it or ended in it."""

    index: int
    state: str
    origin: tuple[Action, int] | None
    """The action and branch that first led here: the state's path. None for the root."""
    depth: int = 0
    """Length of that path."""
    parents: list[Action] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    """Legal tactics by falling prior mass."""
    tried: dict[str, Action | None] = field(default_factory=dict)
    """Every tactic tried here; None: it failed, is useless or forbidden."""
    sources: dict[str, str] = field(default_factory=dict)
    """Who proposed the tactics tried here first, where the policy is a mixture."""
    mass: float = 0.0
    """Sum of the actions' prior masses."""
    live: int = 0
    """Actions that are not dead."""
    visits: int = 0
    in_flight: int = 0
    value: float = 0.0
    """Mean V in steps; exact (minus the steps of the proof) once solved."""
    value_sum: float = 0.0
    expansions: int = 0
    """Simulations that ended here."""
    pending: bool = False
    """An expansion of this node is in flight."""
    losses: int = 0
    exhausted: bool = False
    """The policy has no further tactic for this state."""
    dead: bool = False
    steps: int | None = None
    """Tactics on the longest branch of the shortest known proof; None while unsolved."""
    best: Action | None = None
    """The first action of that proof."""

    @property
    def path(self) -> tuple[Step, ...]:
        """The steps that first led here from the root."""
        steps = []
        origin = self.origin
        while origin is not None:
            action, branch = origin
            steps.append(Step(action.tactic, branch, action.layout))
            origin = action.parent.origin
        return tuple(reversed(steps))


@dataclass(slots=True)
class Walk:
    """The way of one simulation: the actions from the root down to a leaf."""

    actions: list[Action]
    leaf: StateNode


class LeadsBack(ValueError):
    """A state is above the action that is to lead to it."""


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
        """Texts of states that were found to be another node's up to names and order."""
        return self._known.merged

    def add_action(self, node: StateNode, tactic: str, mass: float, branches: tuple[Branch, ...]) -> Action | None:
        """Record what a tactic left to be proved; None when it leads back to the state itself or to an ancestor, or
        too deep.

        A tactic with the same result as another one of this state adds its mass to that one.
        """
        if branches and node.depth >= self.max_depth:
            return None
        if len(branches) > 1 and not self._and_nodes:
            branches = (joined(branches),)
        find = self._known.find
        found = [find(branch.state) for branch in branches]
        known = tuple([child for child, _, _ in found])
        if any(known) and leads_back(node, known):
            return None
        twin = None if None in known else find_twin(node, known)
        layout = tuple([branch.goals for branch in branches])
        if twin is not None:
            join(twin, Result(tactic, layout, as_aliases(alias for _, alias, _ in found)), mass)
            return twin
        action = Action(tactic, node, (), layout)
        children, aliases = [], []
        for index, (branch, (child, alias, sketch)) in enumerate(zip(branches, found, strict=True)):
            if child is None and index:  # the branches before this one may have brought it
                child, alias, sketch = find(branch.state)
            child = child or self._new(branch.state, (action, index), sketch)
            child.parents.append(action)
            children.append(child)
            aliases.append(alias)
        action.children, action.aliases = tuple(children), as_aliases(aliases)
        node.actions.append(action)
        add_mass(action, mass)
        action.dead = any(known) and any(child.dead for child in action.children)
        node.live += not action.dead
        if None not in known:
            settle(action)
        return action

    def part(self, action: Action, index: int) -> StateNode:
        """Undo a merge: the branch of the action gets a node of its own text, which is merged with no other text from
        now on. The caller finds out anew what is solved. Returns the node.

        A node of that text may be there already, made in the same way. Raises LeadsBack when that is above the action.
        """
        alias = action.aliases[index]
        assert alias is not None  # the caller's choice
        child, other = self._known.of_text(alias.state)
        if other is not None:
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


def joined(branches: tuple[Branch, ...]) -> Branch:
    """One branch with all goals of these, in Lean's order."""
    texts: dict[int, str] = {}
    for branch in branches:
        texts.update(zip(branch.goals, branch.state.split("\n\n"), strict=True))
    places = tuple(sorted(texts))
    return Branch("\n\n".join(texts[place] for place in places), places)


def as_aliases(aliases: Iterable[Alias | None]) -> Aliases:
    """None of them at all is the usual case."""
    listed = tuple(aliases)
    return listed if any(listed) else ()


def find_twin(node: StateNode, children: tuple[StateNode | None, ...]) -> Action | None:
    """An action of this node with the same result."""
    return next((action for action in node.actions if action.children == children), None)


def join(twin: Action, result: Result, mass: float) -> None:
    """Add a tactic to the action with the same result. It takes the place of one that is forbidden, and of one whose
    proof has to be renamed when its own has not."""
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
    """Let another tactic with the same result stand for the action.

    A state that was first reached by the former tactic has the names that this one gave. When the new tactic gives
    other ones, the path of the state keeps the former tactic.
    """
    if result.aliases != action.aliases:
        former = Action(action.tactic, action.parent, action.children, action.layout, forbidden=True)
        for child in action.children:
            if child.origin is not None and child.origin[0] is action:
                child.origin = former, child.origin[1]
    action.tactic, action.layout, action.aliases = result.tactic, result.layout, result.aliases


def leads_back(node: StateNode, children: tuple[StateNode | None, ...]) -> bool:
    """Is one of these states the node itself or above it? Only what has been expanded can be."""
    expanded = [child for child in children if child is not None and (child.actions or child is node)]
    return bool(expanded) and not ancestors(node).isdisjoint(expanded)


def ancestors(node: StateNode) -> set[StateNode]:
    """The node and every state from which it can be reached."""
    found, queue = {node}, [node]
    while queue:
        for action in queue.pop().parents:
            if action.parent not in found:
                found.add(action.parent)
                queue.append(action.parent)
    return found


def settle(action: Action) -> None:
    """Carry a proof upwards: a state is solved by its shortest solved action, an action when all its branches are.

    steps(state) = min over actions, steps(action) = 1 + max over branches. The best action of a state always leads to
    states of fewer steps, so the proof is well-founded.
    """
    queue = [action]
    while queue:
        action = queue.pop()
        steps, node = action.steps, action.parent
        if steps is not None and (node.steps is None or steps < node.steps):
            node.steps, node.best = steps, action
            count_solved(node, steps)
            queue.extend(node.parents)


def bury(node: StateNode) -> None:
    """Carry a dead end upwards: a state is dead when it is exhausted and all its actions are, an action when a
    branch is."""
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
