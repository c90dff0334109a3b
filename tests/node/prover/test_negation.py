"""Negations of pessimistic states: what Lean makes of them, and what the search does with a refuted state."""

import re

import pytest

from common.lean import Outcome, OutcomeKind, Theorem
from common.protocol.attempts import AttemptOutcome, AttemptResult
from node.lean.opened import OpenedLean
from node.prover.agent import Agent, Playing
from node.prover.policies.policy import Advice, Proposal
from node.prover.search.negation import NegatingSearch, negating_tactic
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from node.prover.search.simulation import Leaf
from tests.node.play.opened import environment_of, verified
from tests.node.prover.toys import attempt, goals

ON = SearchParameters(negate_below=15.0, negation_share=0.5, negation_simulations=4, unvisited_penalty=0.0)
FALSE_STATE, NEGATED, HARD = "n : Nat\n⊢ n < n", "⊢ ¬∀ (n : Nat), n < n", "n : Nat\n⊢ n = n"


def negating_search(parameters: SearchParameters = ON) -> NegatingSearch:
    return NegatingSearch(Search("root", parameters), lambda state: Search(state, parameters), parameters)


def lean(request: Leaf, tactic: str) -> Outcome:
    """`left` leads to a false state, `right` to a hard one, whose tactics lead on without an end."""
    if request.given:
        closed = request.state.replace("n : Nat\n⊢ ", "∀ (n : Nat), ")
        return goals(f"⊢ ¬{closed}", f"⊢ {closed}")
    if request.state.startswith("⊢ ¬"):
        return Outcome(OutcomeKind.PROVED if request.state == NEGATED else OutcomeKind.ERROR)
    if request.state == "root":
        return goals(FALSE_STATE if tactic == "left" else HARD)
    return goals(f"{request.state} and {tactic} {request.node.index}")


def simulate(search: NegatingSearch, count: int) -> list[Leaf]:
    """Simulations with two tactics each; all values are very low."""
    requests = []
    for _ in range(count):
        request = search.select()
        if request is None:
            break
        requests.append(request)
        tactics = request.given or (("left", "right") if request.state == "root" else ("a", "b"))
        outcomes = {tactic: lean(request, tactic) for tactic in tactics}
        search.feed(request, [Proposal(tactic, 1.0) for tactic in tactics], -20.0, outcomes)
    return requests


def test_hypotheses_are_reverted_and_inaccessible_ones_are_named_first() -> None:
    assert negating_tactic("n m : Nat\nh✝ : n < m\nh : m < n\n⊢ False") == (
        "(rename_i negated_1; revert n m negated_1 h; refine (fun (_ : ¬ ?P) (h : ?P) => h) ?_ ?_)"
    )
    assert negating_tactic("⊢ 1 = 2") == "(refine (fun (_ : ¬ ?P) (h : ?P) => h) ?_ ?_)"
    assert negating_tactic("⊢ ?w = 2") == "" == negating_tactic("⊢ 1 = 1\n\n⊢ 2 = 2")


def test_a_state_whose_negation_is_proved_is_dead_and_never_selected_again() -> None:
    search = negating_search()
    requests = simulate(search, 60)
    assert FALSE_STATE in [request.state for request in requests if request.given] and search.refuted == 1
    side = next(request for request in requests if request.state == NEGATED)
    assert [step.tactic for step in side.path] == ["left", negating_tactic(FALSE_STATE)]
    last = requests.index(side)
    assert not any(request.state.startswith(FALSE_STATE) for request in requests[last + 1 :])
    dead = [node for node in search.tree.nodes if node.dead]
    assert [node.state for node in dead] == [FALSE_STATE] and not search.exhausted


def test_negations_get_at_most_their_share_of_the_simulations() -> None:
    search = negating_search(SearchParameters(negate_below=1.0, negation_share=0.25, unvisited_penalty=0.0))
    requests = simulate(search, 100)
    sides = sum(bool(request.given) or request.state.startswith("⊢ ¬") for request in requests)
    assert 0 < sides <= 21 and search.statistics.simulations == len(requests) == 100


class TwoWays:
    """Proposes `left` first. The states below it are false, and the critic knows that."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        self.asked.append(state)
        if "⊢ ¬" in state:
            return Advice([Proposal("intro h; exact absurd (h 0) (by decide)", 1.0)], -1.0)
        if "∨" in state:
            return Advice([Proposal("left", 1.0), Proposal("right", 0.1)], -3.0)
        if "n < n" in state:
            return Advice([Proposal(f"have h{len(self.asked)} : True := trivial", 1.0)], -30.0)
        steps = len(re.findall(r"\bs\d+", state))
        return Advice([Proposal("rfl" if steps == 3 else f"have s{steps} : True := trivial", 1.0)], -40.0)


@pytest.mark.lean
async def test_lean_refutes_a_false_branch_and_the_proof_is_found_on_the_other(opened_lean: OpenedLean) -> None:
    theorem = Theorem("t", "(n : Nat)", "n < n ∨ n = n")

    async def verify(proof: object) -> str:
        reply = await verified(opened_lean, theorem, proof)  # type: ignore[arg-type]
        return "" if reply.accepted else reply.reason or "refused"

    async def play(parameters: SearchParameters) -> tuple[Agent, TwoWays, AttemptResult]:
        wanted = attempt(40, theorem=theorem, samples=1)
        policy = TwoWays()
        environment = environment_of(opened_lean, theorem)
        agent = Agent(wanted, policy, environment, Playing("p", leaves=1, parameters=parameters, verify=verify))
        return agent, policy, await agent.play()

    agent, policy, result = await play(ON)
    assert isinstance(agent.search, NegatingSearch) and agent.search.refuted >= 1
    refuted = next(state for state in policy.asked if "⊢ ¬" in state)
    assert refuted == "⊢ ¬∀ (n : Nat), n < n"
    later = policy.asked[policy.asked.index(refuted) + 1 :]
    assert not any("n < n" in state for state in later)
    assert result.outcome is AttemptOutcome.PROVED, result.message
    alone, _, _ = await play(SearchParameters(unvisited_penalty=0.0))
    assert isinstance(alone.search, Search)
