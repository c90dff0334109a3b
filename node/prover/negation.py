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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import msgspec

from common.lean import Outcome, ProofTree, Step
from node.prover.expansion import GOALS, LOST, ExpandRequest
from node.prover.merging import hypothesis_names
from node.prover.parameters import SearchParameters
from node.prover.prior import Proposal
from node.prover.tree import StateNode, Tree, refute
from node.prover.tree_search import NO_TACTICS, SearchStatistics, TreeSearch

LEAST_VISITS = 2
"""Visits after which the mean value of a state counts: a first value alone is the critic's guess."""

_MAIN, _OPENING, _SIDE = range(3)
"""What an expansion belongs to, as the remainder of its node id: the search, the negating tactic, the side search."""

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
    of a single search (`node.prover.methods.ProofSearch`)."""

    def __init__(self, search: TreeSearch, make: Callable[[str], TreeSearch], parameters: SearchParameters) -> None:
        """`make` begins a side search at the text of a root state."""
        self.search = search
        self.statistics = SearchStatistics()
        self._make, self._parameters = make, parameters
        self._open: Negation | None = None
        self._opening = False
        """The negating tactic is with Lean."""
        self._tried: set[StateNode] = set()
        self._side = SearchStatistics()
        """Sums over all side searches that have ended."""
        self.refuted = 0
        """Number of states whose negation is proved."""

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

    def at(self, node_id: int) -> tuple[TreeSearch, int] | None:
        """The search for the proof and the index of a request's state in its tree; None for parts of negations."""
        index, kind = divmod(node_id, 3)
        return (self.search, index) if kind == _MAIN else None

    def select(self) -> ExpandRequest | None:
        """Start a simulation: of the side search while its share lasts, otherwise of the search."""
        if self.finished:
            return None
        if self._negates_next() and (request := self._select_side()):
            return request
        request = self.search.select()
        return msgspec.structs.replace(request, node_id=request.node_id * 3 + _MAIN) if request else None

    @property
    def _most(self) -> int:
        """Most simulations of a side search."""
        return self._parameters.negation_simulations

    def _negates_next(self) -> bool:
        spent = self._sums().simulations - self.search.statistics.simulations
        return spent < self._parameters.negation_share * self.search.statistics.simulations

    def _select_side(self) -> ExpandRequest | None:
        if self._opening:
            return None
        negation = self._open
        if negation is None:
            negation = self._open = self._next()
            if negation is None:
                return None
            self._opening = True
            node, given = negation.node, (negation.tactic,)
            return ExpandRequest(node.index * 3 + _OPENING, node.state, node.path, 0, NO_TACTICS, given=given)
        side = negation.search
        assert side is not None  # the negating tactic has run
        request = side.select() if side.statistics.simulations + side.in_flight < self._most else None
        if request is None:
            return None
        return msgspec.structs.replace(
            request, node_id=request.node_id * 3 + _SIDE, path=negation.prefix + request.path
        )

    def _next(self) -> Negation | None:
        """The most visited pessimistic state. Not the root: attempts to disprove the theorem do that."""
        limit = -self._parameters.negate_below
        candidates = [
            node
            for node in self.search.tree.nodes[1:]
            if node.visits >= LEAST_VISITS
            and node.value <= limit
            and not (node.dead or node.steps is not None or node in self._tried)
        ]
        for node in sorted(candidates, key=lambda node: (-node.visits, node.index)):
            self._tried.add(node)
            if tactic := negating_tactic(node.state):
                return Negation(node, tactic)
        return None

    def feed(
        self,
        node_id: int,
        proposals: Sequence[Proposal],
        value: float,
        outcomes: Mapping[str, Outcome],
        *,
        exhausted: bool = False,
    ) -> bool:
        """Finish a simulation. A proved negation kills its state. False: outcomes were lost, select it again."""
        index, kind = divmod(node_id, 3)
        counted = True
        if kind == _MAIN:
            counted = self.search.feed(index, proposals, value, outcomes, exhausted=exhausted)
        elif kind == _OPENING:
            self._opened(outcomes)
        else:
            assert self._open is not None and self._open.search is not None
            side, unsolved = self._open.search, not self._open.search.solved
            counted = side.feed(index, proposals, value, outcomes, exhausted=exhausted)
            if unsolved and side.solved:
                refute(self._open.node)
                self.refuted += 1
            if (side.finished or side.statistics.simulations >= self._most) and not side.in_flight:
                self._close()
        self._add_up()
        return counted

    def _opened(self, outcomes: Mapping[str, Outcome]) -> None:
        self._opening = False
        assert self._open is not None
        outcome = outcomes.get(self._open.tactic)
        self._side.simulations += 1
        self._side.tactics_tried += outcome is not None and outcome.kind is not LOST
        if not self._open.begin(outcome, self._make):
            self._open = None

    def abandon(self, node_id: int) -> None:
        """Cancel a simulation in flight."""
        index, kind = divmod(node_id, 3)
        if kind == _MAIN:
            self.search.abandon(index)
        elif kind == _OPENING:
            self._opening, self._open = False, None
        elif self._open is not None and self._open.search is not None:
            self._open.search.abandon(index)

    def _close(self) -> None:
        assert self._open is not None and self._open.search is not None
        add(self._side, self._open.search.statistics)
        self._open = None

    def proof(self, failed: int = 0) -> ProofTree:
        """The shortest known proof. Raises NotSolved."""
        return self.search.proof(failed)

    def reject(self, proof: ProofTree) -> None:
        """Drop a refused proof. Raises ValueError for a proof of another search."""
        self.search.reject(proof)
        self._add_up()

    def _sums(self) -> SearchStatistics:
        total = SearchStatistics()
        add(total, self.search.statistics)
        add(total, self._side)
        if self._open is not None and self._open.search is not None:
            add(total, self._open.search.statistics)
        return total

    def _add_up(self) -> None:
        """Costs are those of all searches; a proof is known after all simulations so far."""
        newly_solved = self.search.solved and not self.statistics.solved_at_simulations
        until = self.statistics.solved_at_simulations, self.statistics.solved_at_tactics
        self.statistics = self._sums()
        if newly_solved:
            until = self.statistics.simulations, self.statistics.tactics_tried
        solved = self.search.solved
        self.statistics.solved_at_simulations, self.statistics.solved_at_tactics = until if solved else (0, 0)


def add(total: SearchStatistics, part: SearchStatistics) -> None:
    """Add the counts of a search; not when it was solved."""
    for each in fields(SearchStatistics):
        if each.name not in ("solved_at_simulations", "solved_at_tactics"):
            setattr(total, each.name, getattr(total, each.name) + getattr(part, each.name))
