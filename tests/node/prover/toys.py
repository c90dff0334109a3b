"""Toy environments for the search: states are short words, and what a tactic does is a table or a pure function."""

import asyncio
import itertools
import random
from collections.abc import Callable, Mapping, Sequence

from common.lean import BadStatement, Branch, Outcome, OutcomeKind, ProofTree, Step
from common.protocol.attempts import Attempt, Purpose
from common.seeds import derive_seed
from node.llm.sampling import Decoding, Prompt, Sample
from node.prover.policies.policy import Advice, Proposal
from node.prover.search.methods import ProofSearch
from node.prover.search.simulation import Leaf
from node.prover.search.tree import ancestors
from tests import message_values as values

PROVED = Outcome(OutcomeKind.PROVED)
ERROR = Outcome(OutcomeKind.ERROR, message="tactic failed")
LOST = Outcome(OutcomeKind.LOST, message="worker gone")

Environment = Callable[[str, str], Outcome]
"""(state, tactic) -> outcome."""


def goals(*states: str) -> Outcome:
    """A tactic that leaves these independent branches."""
    return Outcome(OutcomeKind.GOALS, tuple(Branch(state, (index,)) for index, state in enumerate(states)))


def expand(search: ProofSearch, value: float, tactics: Mapping[str, Outcome], masses: Sequence[float] = ()) -> str:
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


def play(
    search: ProofSearch, environment: Environment, *, seed: int, simulations: int, leaves: int = 1, tactics: int = 0
) -> list[str]:
    """Run a search with up to `leaves` expansions in flight, fed in order of selection; returns the states expanded.
    `tactics`: every state has so many and no more, without a policy that draws some."""
    window: list[Leaf] = []
    expanded: list[str] = []
    while search.statistics.simulations < simulations:
        while len(window) < leaves and (request := search.select()) is not None:
            window.append(request)
        if not window:
            break
        request = window.pop(0)
        proposals, value = random_policy(seed, request, vocabulary=12)
        if tactics:
            proposals = [Proposal(f"t{number}", 1.0 + number) for number in range(tactics)]
        outcomes = {p.tactic: environment(request.state, p.tactic) for p in proposals if p.tactic not in request.tried}
        search.feed(request, proposals, value, outcomes, exhausted=tactics > 0)
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
    if outcome.kind is not OutcomeKind.GOALS or outcome.layout != proof.layout:
        return False
    pairs = list(itertools.zip_longest(proof.children, outcome.branches))
    return all(child and branch and is_valid(child, branch.state, environment) for child, branch in pairs)


def check_marks(search: ProofSearch) -> None:
    """Every mark of the tree agrees with its definition."""
    for node in search.tree.nodes:
        assert node.steps == min((a.steps for a in node.actions if a.steps is not None), default=None)
        assert (node.best is None) == (node.steps is None)
        assert node.live == sum(not action.dead for action in node.actions)
        assert node.dead == ((node.exhausted or node.resting) and not node.live and node.steps is None)
        above = ancestors(node)
        for action in node.actions:
            assert action.dead == (action.forbidden or any(child.dead for child in action.children))
            assert all(child not in above for child in action.children)


def attempt(simulations: int = 40, **changes: object) -> Attempt:
    fields = {"attempt_id": "a1", "theorem_id": "t1", "purpose": Purpose.TRAIN, "simulations": simulations, "seed": 7}
    return values.attempt(**{**fields, **changes})


class Model:
    """A language model that always samples the same, or fails, and notes what it is asked."""

    trouble = ""

    def __init__(self, *samples: Sample | Exception) -> None:
        self.samples = list(samples)
        self.asked: list[tuple[Prompt, int, int, Decoding]] = []

    async def sample(self, prompt: Prompt, count: int, seed: int, decoding: Decoding) -> Sequence[Sample]:
        self.asked.append((prompt, count, seed, decoding))
        if self.samples and isinstance(self.samples[0], Exception):
            raise self.samples.pop(0)  # type: ignore[misc]
        return [sample for sample in self.samples if isinstance(sample, Sample)]


class Says:
    """A policy that proposes the same tactics on every state."""

    def __init__(self, *tactics: str, value: float = -3.0, exhausted: bool = False) -> None:
        self.advice = Advice([Proposal(tactic, 1.0) for tactic in tactics], value, exhausted)

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        return self.advice


class ToyPolicy:
    """Draws tactics from the seed it is given, and answers after a random number of turns of the event loop."""

    def __init__(self, jitter: int) -> None:
        self.random = random.Random(jitter)
        self.calls: list[tuple[str, int]] = []

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        self.calls.append((state, seed))
        for _ in range(self.random.randrange(6)):
            await asyncio.sleep(0)
        draw = random.Random(f"{state}{seed}")
        tactics = dict.fromkeys(f"t{draw.randrange(12)}" for _ in range(samples))
        return Advice([Proposal(tactic, 1.0) for tactic in tactics], -1.0 - draw.randrange(9), weights=3)


class ToyLean:
    """A random AND-OR graph behind the environment's interface."""

    def __init__(self, seed: int, closing: int = 40, states: int = 60) -> None:
        self.table = random_environment(seed, states, closing=closing)
        self.state_of: dict[tuple[Step, ...], str] = {(): "s0"}
        self.ran: list[tuple[str, str]] = []

    async def open(self) -> str:
        return "s0"

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        state = "s0"
        for step in path:
            state = self.table(state, step.tactic).branches[step.branch].state
        self.ran += [(state, tactic) for tactic in tactics]
        return {tactic: self.table(state, tactic) for tactic in tactics}


class SameLean(ToyLean):
    """What all tactics do is the same."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(1)
        self.outcome = outcome

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        return dict.fromkeys(tactics, self.outcome)


class BadLean(ToyLean):
    async def open(self) -> str:
        raise BadStatement("unknown identifier 'foo'")
