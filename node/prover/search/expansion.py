"""Expansion of a state: the request to policy and Lean, and how their replies enter the tree. All searches share it."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from common.lean import Outcome, OutcomeKind, Step
from node.prover.search.prior import Proposal
from node.prover.search.statistics import add_mass
from node.prover.search.tree import StateNode, Tree

LOST, GOALS, PROVED, ERROR = OutcomeKind.LOST, OutcomeKind.GOALS, OutcomeKind.PROVED, OutcomeKind.ERROR
"""Constants, because Python 3.11 looks up an enum's member with a function call."""

mass_of = operator.attrgetter("mass")


class ExpandRequest(msgspec.Struct, frozen=True):
    """A request for tactics at a state, the state's value, and Lean's outcomes for the tactics."""

    node_id: int
    state: str
    path: tuple[Step, ...]
    round: int
    """Number of earlier expansions of this state. It is part of the seed of the samples, as is `node_id`."""
    tried: frozenset[str]
    """Tactics with a known outcome at this state. They are not sent to Lean again."""
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
    solved_after: int = 0
    """Position (from 1) of the tried tactic that solved the root; 0 if the root is unsolved."""


def expand(tree: Tree, leaf: StateNode, proposals: Sequence[Proposal], outcomes: Mapping[str, Outcome]) -> Growth:
    """Add an action to the leaf for each legal tactic, with the prior P(a) = mass(a) / Σ mass.

    A tactic that was tried before only gains prior mass. A tactic whose outcome was lost is ignored.
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
        growth.tried += 1
        action = None
        if kind is GOALS or kind is PROVED:
            action = tree.add_action(leaf, tactic, mass, outcome.branches)
            growth.useless += action is None
            if root.steps is not None and not growth.solved_after:
                growth.solved_after = growth.tried
        else:
            growth.failed += 1
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
