"""What holds for every search method, over random AND-OR graphs with many merges and cycles."""

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import Branch, Layout, Outcome, OutcomeKind, ProofTree, Step
from common.proofs import transitions_of
from common.protocol.attempts import Method
from node.prover.policies.policy import Proposal
from node.prover.search.methods import METHODS, ProofSearch, UnknownMethod, begin
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from tests.node.prover import toys

SEARCHES = settings(max_examples=8, deadline=None, derandomize=True)
every_method = pytest.mark.parametrize("method", METHODS)
seeds = st.integers(0, 10_000)
leaves = st.integers(1, 6)
states = st.integers(3, 200)


def searched(
    method: str, environment: toys.Environment, seed: int, leaves: int, simulations: int = 60
) -> tuple[ProofSearch, list[str]]:
    search = begin(method, "s0", SearchParameters(), seed)
    return search, toys.play(search, environment, seed=seed, simulations=simulations, leaves=leaves)


def test_every_method_has_its_search() -> None:
    assert set(METHODS) == set(Method) - {Method.WHOLE_PROOF}, "whole proofs are no search"
    with pytest.raises(UnknownMethod, match="no search method 'dfs': this prover has mcts, best-first, random"):
        begin("dfs", "s0", SearchParameters(), 1)


@every_method
@settings(SEARCHES, max_examples=12)
@given(seeds, states, leaves, st.sampled_from([6, 10, 20, 40]))
def test_proofs_are_valid_and_graphs_consistent(method: str, seed: int, states: int, leaves: int, closing: int) -> None:
    environment = toys.random_environment(seed, states, closing=closing)
    search, expanded = searched(method, environment, seed, leaves)
    assert len(expanded) == search.statistics.simulations and (search.finished or len(expanded) == 60)
    assert search.in_flight == 0, "no virtual loss is left"
    again, same = searched(method, environment, seed, leaves)
    assert expanded == same and [node.value for node in search.tree.nodes] == [node.value for node in again.tree.nodes]
    toys.check_marks(search)
    for node in search.tree.nodes:
        assert node.in_flight == 0 and not node.pending
        assert all(action.in_flight == 0 for action in node.actions)
        if method == Method.MCTS:
            assert node.visits == node.expansions + sum(action.visits for action in node.actions)
    assert method != Method.MCTS or search.tree.root.visits == len(expanded)
    if search.solved:
        proof = search.proof()
        assert toys.is_valid(proof, "s0", environment) and proof.remaining_steps == search.tree.root.steps
        transitions = transitions_of(proof)
        assert transitions[0].remaining_steps == proof.remaining_steps
        assert len({(each.state, each.tactic) for each in transitions}) == len(transitions)


@every_method
@SEARCHES
@given(seeds, states, leaves)
def test_a_policy_that_has_no_more_ends_the_search(method: str, seed: int, states: int, leaves: int) -> None:
    # Whatever is not solved is dead in the end: no state that matters is forgotten.
    environment = toys.random_environment(seed, states, closing=10_000)
    search = begin(method, "s0", SearchParameters(max_depth=6), seed)
    toys.play(search, environment, seed=seed, simulations=5000, leaves=leaves, tactics=3)
    assert search.exhausted


@every_method
@SEARCHES
@given(seeds, st.integers(10, 200), leaves)
def test_a_search_says_when_it_was_solved(method: str, seed: int, states: int, leaves: int) -> None:
    environment = toys.random_environment(seed, states, closing=12)
    search, _ = searched(method, environment, seed, leaves)
    at = search.statistics.solved_at_simulations
    assert (at > 0) == search.solved
    if search.solved:
        assert searched(method, environment, seed, leaves, simulations=at)[0].solved
        assert not searched(method, environment, seed, leaves, simulations=at - 1)[0].solved


@every_method
def test_methods_solve_some_graphs_and_leave_others_open(method: str) -> None:
    found = [searched(method, toys.random_environment(seed, 50, closing=60), seed, 3)[0].solved for seed in range(20)]
    assert 2 <= sum(found) <= 18


@every_method
def test_the_tactic_that_completes_the_proof_is_the_last_one_counted(method: str) -> None:
    search = begin(method, "root", SearchParameters(), 1)
    toys.expand(search, -5.0, {"bad": toys.ERROR, "a": toys.goals("A")})
    toys.expand(search, -5.0, {"bad": toys.ERROR, "close": toys.PROVED, "unneeded": toys.PROVED})
    statistics = search.statistics
    assert (statistics.solved_at_simulations, statistics.solved_at_tactics, statistics.tactics_tried) == (2, 4, 5)


@every_method
def test_lost_outcomes_repeat_the_expansion_and_an_abandoned_state_is_selected_again(method: str) -> None:
    search = begin(method, "root", SearchParameters(max_losses=2), 1)
    for _ in range(2):
        assert toys.expand(search, -5.0, {"a": toys.LOST, "b": toys.goals("B")}) == "root"
        assert search.statistics.simulations == 0
    toys.expand(search, -5.0, {"a": toys.LOST, "b": toys.goals("B")})
    assert (search.statistics.losses, search.statistics.expansions_lost) == (2, 1)
    assert toys.expand(search, -5.0, {"c": toys.PROVED}) == "B" and search.solved
    search = begin(method, "root", SearchParameters(), 1)
    request = search.select()
    assert request is not None and search.select() is None
    search.abandon(request)
    assert search.in_flight == 0 and search.select() == request


@every_method
def test_a_dead_end_ranks_below_every_live_action_however_good_it_looked(method: str) -> None:
    search = begin(method, "root", SearchParameters(), 1)
    toys.expand(search, -5.0, {"likely": toys.goals("dead"), "b": toys.goals("bad")}, [1e6, 1e-6])
    root = search.tree.root
    likely, bad = root.actions
    while not likely.dead:
        request = search.select()
        assert request is not None
        if request.state == "dead":
            search.feed(request, [], -1.0, {}, exhausted=True)
        else:
            search.abandon(request)
    likely.q = 1.0  # as if it had been the best of all
    for number in range(5):
        request = search.select()
        assert request is not None and [step.tactic for step in request.path[:1]] in ([], ["b"])
        assert search.select() is None, "it waits for what is in flight rather than try a dead end"
        search.feed(request, [Proposal(f"t{number}", 1.0)], -900.0, {f"t{number}": toys.goals(f"bad{number}")})
    assert bad.visits > 0 or method != "mcts"
    assert likely.dead and not bad.dead and root.live == 1


# --- proofs that final verification refused: never found again, and the search finds others ---------------------------
def reject(search: ProofSearch) -> None:
    search.reject(search.proof())


def test_a_known_alternative_is_the_next_proof_at_once() -> None:
    search = Search("root")
    toys.expand(search, -5.0, {"cases": toys.goals("A", "B")})
    toys.expand(search, -5.0, {"a": toys.PROVED})
    toys.expand(search, -5.0, {"wrong": toys.PROVED, "right": toys.PROVED})
    assert search.proof() == cases(ProofTree("a", state="A"), ProofTree("wrong", state="B"))
    reject(search)
    # `right` had the same result as `wrong`; `a`, which closes its state too, has no other in its place.
    assert search.solved and search.proof() == cases(ProofTree("a", state="A"), ProofTree("right", state="B"))
    assert search.statistics.solved_at_simulations == 3


def cases(*children: ProofTree) -> ProofTree:
    return ProofTree("cases", ((0,), (1,)), children, "root")


def test_what_all_refused_proofs_share_is_forbidden_before_what_they_do_not() -> None:
    search = Search("root")
    toys.expand(search, -5.0, {"cases": toys.goals("A", "B")})
    toys.expand(search, -5.0, {"a1": toys.PROVED, "a2": toys.PROVED, "a3": toys.PROVED})
    toys.expand(search, -5.0, {"wrong": toys.PROVED})
    reject(search)
    # Of A there are other proofs, so `a1` goes; but `wrong` is in the next one again.
    assert search.proof() == cases(ProofTree("a2", state="A"), ProofTree("wrong", state="B"))
    reject(search)
    assert not search.solved, "`cases` and `wrong` stood in both; `wrong` closes its state"
    assert toys.expand(search, -5.0, {"right": toys.PROVED}) == "B"
    assert search.proof() == cases(ProofTree("a2", state="A"), ProofTree("right", state="B"))


def test_a_tactic_with_the_result_of_a_forbidden_one_takes_its_place_with_its_own_layout() -> None:
    search = Search("root")
    toys.expand(search, -5.0, {"one": split(((0,), (1, 2))), "other": split(((1,), (0, 2)))})
    toys.expand(search, -5.0, {"a": toys.PROVED})
    toys.expand(search, -5.0, {"b": toys.PROVED})
    one = search.proof()
    assert (one.tactic, one.layout) == ("one", ((0,), (1, 2)))
    reject(search)
    other = search.proof()
    assert (other.tactic, other.layout) == ("other", ((1,), (0, 2)))
    assert search.tree.nodes[2].path == (Step("other", 1, ((1,), (0, 2))),)


def split(layout: Layout) -> Outcome:
    branches = tuple(Branch(state, positions) for state, positions in zip("AB", layout, strict=True))
    return Outcome(OutcomeKind.GOALS, branches)


def test_only_proofs_of_the_search_can_be_refused() -> None:
    search = Search("root")
    toys.expand(search, -5.0, {"close": toys.PROVED})
    with pytest.raises(ValueError, match="not a proof of this search: 'other' at 'root'"):
        search.reject(ProofTree("other", state="root"))
    refused = search.proof()
    search.reject(refused)
    with pytest.raises(ValueError, match="not a proof of this search"):
        search.reject(refused)
    assert search.statistics.proofs_rejected == 1


@every_method
@SEARCHES
@given(st.integers(0, 10_000), st.integers(3, 60), st.integers(1, 5))
def test_no_proof_is_returned_twice_and_all_are_valid(method: str, seed: int, states: int, leaves: int) -> None:
    environment = toys.random_environment(seed, states, closing=8)
    search = begin(method, "s0", SearchParameters(), seed)
    proofs: list[ProofTree] = []
    for simulations in range(10, 60, 10):
        toys.play(search, environment, seed=seed, simulations=simulations, leaves=leaves)
        assert search.finished or search.statistics.simulations == simulations, "a search stops only at its end"
        while search.solved:
            proofs.append(search.proof())
            assert toys.is_valid(proofs[-1], "s0", environment)
            search.reject(proofs[-1])
        toys.check_marks(search)
    assert len({str(proof) for proof in proofs}) == len(proofs) == search.statistics.proofs_rejected


@every_method
@SEARCHES
@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 5))
def test_a_search_whose_proofs_are_all_refused_ends(method: str, seed: int, states: int, leaves: int) -> None:
    environment = toys.random_environment(seed, states, closing=6)
    search = begin(method, "s0", SearchParameters(max_depth=5), seed)
    while not search.exhausted:
        toys.play(search, environment, seed=seed, simulations=5000, leaves=leaves, tactics=4)
        assert search.finished
        while search.solved:
            reject(search)
    assert not search.in_flight
    toys.check_marks(search)
