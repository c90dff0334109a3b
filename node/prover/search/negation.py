"""Tries the negation of states that look unprovable. A state whose negation is proved is dead, and left alone.

A tactic such as `left` or `exfalso` can leave a false state, where every tactic of the policy is in vain. The critic
sees that as a very low value. Then a side search tries to prove ¬ ∀ hypotheses, conclusion. (An open idea of nanoproof;
AlphaProof, Nature 2025, tries negations of whole theorems only.)

A printed state need not elaborate again, so the negation comes from Lean: one tactic at the state reverts all
hypotheses and splits the goal P into the two branches ¬ P and P (`negating_tactic`). The side search begins at the
first of them. Its tactics run behind the path of the state, like all others.

No kernel checks a refutation. A wrong one could cost a proof but never make one, because every proof is verified whole.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence

import msgspec

from common.lean import Outcome, ProofTree, Step
from node.lean.text.canonical import hypothesis_names
from node.prover.policies.policy import Proposal
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import GOALS, LOST, NO_TACTICS, Leaf, SearchStatistics, TreeSearch
from node.prover.search.tree import StateNode, Tree, refute

LEAST_VISITS = 2
"""Visits after which the mean value of a state counts: a first value alone is the critic's guess."""

LOOK_AFTER, LOOK_FACTOR = 8, 1.125
"""After a look at all states at n simulations, the next one is at LOOK_FACTOR * n + LOOK_AFTER. All looks of a
search together take time in proportion to the number of its states."""


_METAVARIABLE = re.compile(r"\?[\w✝]")


def negating_tactic(state: str) -> str:
    """A tactic that leaves two independent goals: the negation of the closed state, and the closed state itself. Empty
    for several goals, and for goals with metavariables, which cannot be closed."""
    if "\n\n" in state or _METAVARIABLE.search(state):
        return ""
    names: list[str] = []
    renamed: list[str] = []
    for name in hypothesis_names(state):
        if "✝" in name:  # `rename_i` names all inaccessible hypotheses, in their order
            name = f"negated_{len(renamed) + 1}"
            renamed.append(name)
        names.append(name)
    steps = [f"rename_i {' '.join(renamed)}"] if renamed else []
    steps += [f"revert {' '.join(names)}"] if names else []
    return f"({'; '.join([*steps, 'refine (fun (_ : ¬ ?P) (h : ?P) => h) ?_ ?_'])})"


class Negation:
    """The side search for one state."""

    def __init__(self, node: StateNode, tactic: str) -> None:
        self.node, self.tactic = node, tactic
        self.prefix: tuple[Step, ...] = ()
        self.search: TreeSearch | None = None
        """None until Lean has run the tactic."""

    def begin(self, outcome: Outcome | None, make: Callable[[str], TreeSearch]) -> bool:
        """Begin the search at the branch of the negation. False if the tactic did not leave it."""
        if outcome is None or outcome.kind is not GOALS:
            return False
        layout = tuple(branch.goals for branch in outcome.branches)
        for index, branch in enumerate(outcome.branches):
            if branch.goals == (0,) and branch.state.startswith("⊢ ¬"):
                self.prefix = (*self.node.path, Step(self.tactic, index, layout))
                self.search = make(branch.state)
                return True
        return False


class NegatingSearch:
    """A search, and side searches for the negations of its most pessimistic states, one at a time. It has the interface
    of a single search (`node.prover.search.methods.ProofSearch`)."""

    def __init__(self, search: TreeSearch, make: Callable[[str], TreeSearch], parameters: SearchParameters) -> None:
        """`make` begins a side search at the text of a root state."""
        self.search = search
        self.statistics = SearchStatistics()
        self._make, self._parameters = make, parameters
        self._open: Negation | None = None
        self._opening = False
        """The negating tactic is with Lean."""
        self._tried: set[StateNode] = set()
        self._candidates: deque[StateNode] = deque()
        """States that were pessimistic at the last look, most visited first."""
        self._next_look = 0
        """Simulations of the search until the next look."""
        self._side = SearchStatistics()
        """Sums over all side searches that have ended."""
        self.refuted = 0
        """Number of states whose negation is proved."""

    @property
    def trees(self) -> Sequence[TreeSearch]:
        """The search for the proof, without side searches."""
        return (self.search,)

    @property
    def tree(self) -> Tree:
        """The tree of the search for the proof."""
        return self.search.tree

    @property
    def solved(self) -> bool:
        return self.search.solved

    @property
    def exhausted(self) -> bool:
        return self.search.exhausted

    @property
    def finished(self) -> bool:
        return self.search.finished

    @property
    def in_flight(self) -> int:
        side = self._open.search.in_flight if self._open and self._open.search else 0
        return self.search.in_flight + side + self._opening

    def summary(self) -> str:
        """How many negations were tried and proved, as text; empty if none was tried."""
        return f"negations tried: {len(self._tried)}, proved: {self.refuted}" if self._tried else ""

    def select(self) -> Leaf | None:
        """Start a simulation: of the side search while its share lasts, otherwise of the search."""
        if self.finished:
            return None
        if self._negates_next() and (leaf := self._select_side()):
            return leaf
        return self.search.select()

    @property
    def _most(self) -> int:
        """Most simulations of a side search."""
        return self._parameters.negation_simulations

    def _negates_next(self) -> bool:
        spent = self.statistics.simulations - self.search.statistics.simulations
        return spent < self._parameters.negation_share * self.search.statistics.simulations

    def _select_side(self) -> Leaf | None:
        if self._opening:
            return None
        negation = self._open
        if negation is None:
            negation = self._open = self._next()
            if negation is None:
                return None
            self._opening = True
            node, given = negation.node, (negation.tactic,)
            return Leaf(None, node, node.state, node.path, 0, NO_TACTICS, node.index, given=given)
        side = negation.search
        assert side is not None  # the negating tactic has run
        leaf = side.select() if side.statistics.simulations + side.in_flight < self._most else None
        if leaf is None:
            return None
        # A negative number: the states of the search for the proof keep theirs, and so the seeds of their samples.
        return msgspec.structs.replace(leaf, number=-2 * (leaf.number + 1), path=negation.prefix + leaf.path)

    def _next(self) -> Negation | None:
        """The most visited pessimistic state of the last look."""
        if not self._candidates and self.search.statistics.simulations >= self._next_look:
            self._look()
        while self._candidates:
            node = self._candidates.popleft()
            if not self._is_pessimistic(node) or leads_through_dead(node):
                continue
            self._tried.add(node)
            if tactic := negating_tactic(node.state):
                return Negation(node, tactic)
        return None

    def _look(self) -> None:
        """List the pessimistic states. Without the root: attempts to disprove the theorem do that."""
        self._next_look = int(LOOK_FACTOR * self.search.statistics.simulations) + LOOK_AFTER
        found = [node for node in self.search.tree.nodes[1:] if self._is_pessimistic(node)]
        self._candidates.extend(sorted(found, key=lambda node: (-node.visits, node.index)))

    def _is_pessimistic(self, node: StateNode) -> bool:
        """True if the state's mean value is below the limit, and nothing about it is decided."""
        return (
            node.visits >= LEAST_VISITS
            and node.value <= -self._parameters.negate_below
            and not (node.dead or node.steps is not None or node in self._tried)
        )

    def feed(
        self,
        leaf: Leaf,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Finish a simulation. A proved negation kills its state. False: outcomes were lost, select it again."""
        counted = True
        if leaf.search is self.search:
            return self._feed_main(leaf, proposals, value, outcomes, exhausted=exhausted)
        if leaf.search is None:
            self._opened(outcomes)
        else:
            assert self._open is not None and self._open.search is not None
            side, unsolved = self._open.search, not self._open.search.solved
            counted = side.feed(leaf, proposals, value, outcomes, exhausted=exhausted)
            if unsolved and side.solved:
                refute(self._open.node)
                self.refuted += 1
            if (side.finished or side.statistics.simulations >= self._most) and not side.in_flight:
                self._close()
        self._add_up()
        return counted

    def _feed_main(
        self, leaf: Leaf, proposals: Sequence[Proposal], value: float, outcomes: Mapping[str, Outcome], exhausted: bool
    ) -> bool:
        """Finish a simulation of the search for the proof. Returns and raises as `feed`."""
        search, unsolved = self.search, not self.search.solved
        beside = self.statistics.tactics_tried - search.statistics.tactics_tried
        counted = search.feed(leaf, proposals, value, outcomes, exhausted=exhausted)
        self._add_up()
        if unsolved and search.solved:
            self.statistics.solved_at_simulations = self.statistics.simulations
            self.statistics.solved_at_tactics = beside + search.statistics.solved_at_tactics
        return counted

    def _opened(self, outcomes: Mapping[str, Outcome]) -> None:
        self._opening = False
        assert self._open is not None
        outcome = outcomes.get(self._open.tactic)
        self._side.simulations += 1
        self._side.tactics_tried += outcome is not None and outcome.kind is not LOST
        if not self._open.begin(outcome, self._make):
            self._open = None

    def abandon(self, leaf: Leaf) -> None:
        """Cancel a simulation in flight."""
        if leaf.search is None:
            self._opening, self._open = False, None
        else:
            leaf.search.abandon(leaf)

    def _close(self) -> None:
        assert self._open is not None and self._open.search is not None
        self._side.add_up((self._side, self._open.search.statistics))
        self._open = None

    def proof(self) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return self.search.proof()

    def reject(self, proof: ProofTree) -> None:
        """Drop a refused proof. Raises ValueError for a proof of another search."""
        self.search.reject(proof)
        self._add_up()
        self.statistics.proof_refused(self.solved)

    def _add_up(self) -> None:
        """Sum the statistics of all searches."""
        parts = [self.search.statistics, self._side]
        if self._open is not None and self._open.search is not None:
            parts.append(self._open.search.statistics)
        self.statistics.add_up(parts)


def leads_through_dead(node: StateNode) -> bool:
    """True if an action on the path of a state is dead. Such a state is of no use, although it is not dead itself."""
    while node.origin is not None:
        action, _ = node.origin
        if action.dead:
            return True
        node = action.parent
    return False
