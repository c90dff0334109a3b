"""Expansion of a state: the request to policy and Lean, and how their replies enter the tree. All searches share it."""

from __future__ import annotations

import operator
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from common.lean import Outcome, OutcomeKind, Step
from node.prover.search.prior import Proposal
from node.prover.search.statistics import add_mass
from node.prover.search.tree import StateNode, Tree

if TYPE_CHECKING:
    from node.prover.search.tree_search import TreeSearch

LOST, GOALS, PROVED, ERROR = OutcomeKind.LOST, OutcomeKind.GOALS, OutcomeKind.PROVED, OutcomeKind.ERROR
"""Constants, because Python 3.11 looks up an enum's member with a function call."""

mass_of = operator.attrgetter("mass")


class Leaf(msgspec.Struct, frozen=True):
    """A state that a search has selected: asks for tactics, the state's value, and Lean's outcomes for the tactics. The
    search takes it back with them (`feed`), or without (`abandon`)."""

    search: TreeSearch | None
    """The search whose tree has the state; None for a tactic that begins a search (`node.prover.methods.negation`)."""
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
    given: tuple[str, ...] = ()
    """Tactics to run in place of the policy's (`node.prover.methods.negation`)."""


@dataclass(slots=True)
class Growth:
    """Counts of the new tactics of an expansion, by outcome."""

    tried: int = 0
    failed: int = 0
    useless: int = 0
    solved_after: int | None = None
    """Number of tried tactics up to the one that solved the root; None if the root is unsolved."""


def expand(
    tree: Tree,
    leaf: StateNode,
    proposals: Sequence[Proposal],
    outcomes: Mapping[str, Outcome],
    known: Container[str] = (),
) -> Growth:
    """Add an action to the leaf for each legal tactic, with the prior P(a) = mass(a) / Σ mass.

    A tactic that was tried before only gains prior mass. A tactic whose outcome was lost is ignored. `known`: tactics
    that are not counted, because another search has sent them to Lean.
    """
    growth = Growth()
    root = tree.root
    for proposal in proposals:
        tactic, mass = proposal.tactic, proposal.mass
        if tactic in leaf.tried:
            tried_action = leaf.tried[tactic]
            if tried_action is not None:
                add_mass(tried_action, mass)
            elif leaf.failed and tactic in leaf.failed:
                leaf.failed[tactic] += mass
            continue
        outcome = outcomes[tactic]
        kind = outcome.kind
        if kind is LOST:
            continue
        counts = tactic not in known
        growth.tried += counts
        action = None
        if kind is GOALS or kind is PROVED:
            action = tree.add_action(leaf, tactic, mass, outcome.branches)
            growth.useless += counts and action is None
            if root.steps is not None and growth.solved_after is None:
                growth.solved_after = growth.tried
        else:
            growth.failed += counts
            # Tactics of the fixed list, also those of exploration, have no log-probability.
            if kind is ERROR and proposal.log_probability is not None:
                if leaf.failed is None:
                    leaf.failed = {}
                leaf.failed[tactic] = mass
        leaf.tried[tactic] = action
        if proposal.source:
            leaf.sources[tactic] = proposal.source
    if len(leaf.actions) > 1:
        leaf.actions.sort(key=mass_of, reverse=True)  # stable: ties keep the order of proposals
    return growth
