"""Toy environments for the search: states are short words, and what a tactic does is a table or a pure function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from common.lean import Branch, Outcome, OutcomeKind, ProofTree
from common.seeds import derive_seed
from node.prover.policies.policy import Proposal
from node.prover.search.methods import ProofSearch
from node.prover.search.simulation import Leaf

PROVED = Outcome(OutcomeKind.PROVED)
ERROR = Outcome(OutcomeKind.ERROR, message="tactic failed")
LOST = Outcome(OutcomeKind.LOST, message="worker gone")

Environment = Callable[[str, str], Outcome]
"""(state, tactic) -> outcome."""


def goals(*states: str) -> Outcome:
    """A tactic that leaves these independent branches."""
    return Outcome(OutcomeKind.GOALS, tuple(Branch(state, (index,)) for index, state in enumerate(states)))


def expand(
    search: ProofSearch, value: float, tactics: Mapping[str, Outcome], masses: Sequence[float] | None = None
) -> str:
    """One simulation by hand: select, feed these tactics with these outcomes; returns the state that was expanded."""
    request = search.select()
    assert request is not None
    weights = masses or [1.0] * len(tactics)
    proposals = [Proposal(tactic, mass) for tactic, mass in zip(tactics, weights, strict=True)]
    search.feed(request, proposals, value, tactics)
    return request.state


def random_environment(seed: int, states: int, *, closing: int = 6) -> Environment:
    """A fixed random AND-OR graph over few states, so that merges and cycles abound. One tactic in `closing` closes."""

    def environment(state: str, tactic: str) -> Outcome:
        draw = derive_seed(seed, state, tactic)
        if draw % 5 == 0:
            return ERROR
        if (draw >> 8) % closing == 0:
            return PROVED
        branches = 1 + (draw >> 16) % 3
        return goals(*(f"s{(draw >> (24 + 8 * index)) % states}" for index in range(branches)))

    return environment


SAMPLES = 4


def random_policy(seed: int, request: Leaf, vocabulary: int) -> tuple[list[Proposal], float]:
    """Samples and a value that depend on the request alone."""
    picks = [derive_seed(seed, request.state, request.round, sample) % vocabulary for sample in range(SAMPLES)]
    proposals = [Proposal(f"t{pick}", float(picks.count(pick))) for pick in dict.fromkeys(picks)]
    return proposals, -1.0 - derive_seed(seed, request.state) % 10


def play(search: ProofSearch, environment: Environment, *, seed: int, simulations: int, leaves: int = 1) -> list[str]:
    """Run a search with up to `leaves` expansions in flight, fed in order of selection; returns the states expanded."""
    window: list[Leaf] = []
    expanded: list[str] = []
    while search.statistics.simulations < simulations:
        while len(window) < leaves and (request := search.select()) is not None:
            window.append(request)
        if not window:
            break
        request = window.pop(0)
        proposals, value = random_policy(seed, request, vocabulary=12)
        outcomes = {p.tactic: environment(request.state, p.tactic) for p in proposals if p.tactic not in request.tried}
        search.feed(request, proposals, value, outcomes)
        expanded.append(request.state)
    for request in window:
        search.abandon(request)
    return expanded


def is_valid(proof: ProofTree, state: str, environment: Environment) -> bool:
    """Does the proof close the state in the environment, and does it name the states on its way?"""
    if proof.state != state:
        return False
    outcome = environment(state, proof.tactic)
    if outcome.kind is OutcomeKind.PROVED:
        return not proof.children
    return (
        outcome.kind is OutcomeKind.GOALS
        and outcome.layout == proof.layout
        and len(proof.children) == len(outcome.branches)
        and all(
            is_valid(child, branch.state, environment)
            for child, branch in zip(proof.children, outcome.branches, strict=True)
        )
    )
