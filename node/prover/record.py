"""Records the searches of an attempt: states, tactics, priors, visits, values, times, Lean's messages."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from common.lean import Outcome, OutcomeKind
from common.protocol.attempts import Attempt, KeptSearch
from common.protocol.messages import SearchAtWork
from common.records.searches import FailedTactic, SearchState, SearchTree, TakenTactic, packed
from node.prover.agent import Expansion
from node.prover.search.methods import ProofSearch
from node.prover.search.tree import Action, StateNode

USELESS = "useless"
"""Kind of a tactic that ran, but changed nothing or led back to an ancestor."""

SAME = "same"
"""Kind of a tactic that ran, and led to the same states as another tactic."""

HOPELESS = 1e6
"""Missing tactics of a root state that is dead."""


@dataclass
class _Expanded:
    """What happened at a state."""

    at: float
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    policy_seconds: float = 0.0
    lean_seconds: float = 0.0


class SearchRecord:
    """The searches of one attempt: one, or several that take turns."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self._began = time.perf_counter()
        self._searches: list[tuple[ProofSearch, dict[int, _Expanded]]] = []

    def expanded(self, search: ProofSearch, node_id: int, expansion: Expansion) -> None:
        """An expansion was fed to a search (`Playing.on_expansion`)."""
        states = next((states for known, states in self._searches if known is search), None)
        if states is None:
            self._searches.append((search, states := {}))
        state = states.setdefault(node_id, _Expanded(time.perf_counter() - self._began))
        state.outcomes.update(expansion.outcomes)
        state.policy_seconds += expansion.policy_seconds
        state.lean_seconds += expansion.lean_seconds

    def at_work(self) -> SearchAtWork:
        """What the search has done so far."""
        return SearchAtWork(
            self.attempt.attempt_id,
            self.attempt.theorem_id,
            self.attempt.purpose,
            round(time.perf_counter() - self._began, 3),
            sum(search.statistics.simulations for search, _ in self._searches),
            sum(len(search.tree.nodes) for search, _ in self._searches),
        )

    def trees(self) -> tuple[SearchTree, ...]:
        """All trees so far."""
        return tuple(self._tree(search, states) for search, states in self._searches)

    def kept(self) -> KeptSearch | None:
        """The trees for a result; None before the first expansion."""
        if not self._searches:
            return None
        return KeptSearch(packed(self.trees()), min(missing(search.tree.root) for search, _ in self._searches))

    def _tree(self, search: ProofSearch, states: dict[int, _Expanded]) -> SearchTree:
        statistics = search.statistics
        return SearchTree(
            self.attempt.theorem.signature,
            statistics.simulations,
            statistics.tactics_tried,
            statistics.tactics_failed,
            tuple(_state(node, states.get(node.index)) for node in search.tree.nodes),
        )


def missing(root: StateNode) -> float:
    """Tactics that the most complete partial proof lacks, as the network's values say: 0 with a proof, at least 1 for
    each open state, `HOPELESS` if the root is dead."""
    costs: dict[StateNode, float] = {}
    todo = [root]
    while todo:
        node = todo[-1]
        live = [action for action in node.actions if not action.dead]
        if node in costs:
            todo.pop()
        elif node.steps is not None or not live:
            costs[node] = 0.0 if node.steps is not None else math.inf if node.dead else max(1.0, -_estimate(node))
        elif below := [child for action in live for child in action.children if child not in costs]:
            todo += below
        else:
            costs[node] = min(sum(costs[child] for child in action.children) for action in live)
    return min(HOPELESS, costs[root])


def _estimate(node: StateNode) -> float:
    """V of a state; of one that was not expanded, one step better than that of the state above it."""
    if node.estimate is not None:
        return node.estimate
    above = node.origin[0].parent.estimate if node.origin is not None else None
    return -1.0 if above is None else above + 1.0


def _state(node: StateNode, expanded: _Expanded | None) -> SearchState:
    action, _ = node.origin or (None, 0)
    taken = node.actions
    outcomes = expanded.outcomes if expanded is not None else {}
    return SearchState(
        id=node.index,
        state=node.state,
        depth=node.depth,
        visits=node.visits,
        value=node.value,
        expansions=node.expansions,
        parent=action.parent.index if action else None,
        tactic=action.tactic if action else "",
        steps=node.steps,
        dead=node.dead,
        best=taken.index(node.best) if node.best in taken else None,
        tactics=tuple(_taken(each) for each in taken),
        failed=tuple(_failed(node, tactic, outcome) for tactic, outcome in outcomes.items() if _left(node, tactic)),
        estimate=node.estimate,
        at=round(expanded.at, 4) if expanded is not None else None,
        policy_seconds=round(expanded.policy_seconds, 4) if expanded is not None else 0.0,
        lean_seconds=round(expanded.lean_seconds, 4) if expanded is not None else 0.0,
    )


def _left(node: StateNode, tactic: str) -> bool:
    """True if a tactic is not in the state's list of legal tactics under this text."""
    action = node.tried.get(tactic)
    return action is None or action.tactic != tactic


def _taken(action: Action) -> TakenTactic:
    mass = action.parent.mass
    value = action.value if action.visits else None
    return TakenTactic(
        action.tactic,
        action.mass / mass if mass > 0 else 0.0,
        action.visits,
        value if value is None or math.isfinite(value) else None,
        tuple(child.index for child in action.children),
        action.steps,
        action.dead,
    )


def _failed(node: StateNode, tactic: str, outcome: Outcome) -> FailedTactic:
    same = node.tried.get(tactic)
    if same is not None:
        return FailedTactic(tactic, SAME, f"leads to what `{same.tactic}` leads to")
    if outcome.kind in (OutcomeKind.PROVED, OutcomeKind.GOALS):
        return FailedTactic(tactic, USELESS, "leads back to a state above, changes nothing, or goes too deep")
    return FailedTactic(tactic, str(outcome.kind), outcome.message)
