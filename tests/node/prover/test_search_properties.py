"""What holds for every search, over random AND-OR graphs with many merges and cycles."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from common.proofs import transitions_of
from node.prover.search.search import Search
from node.prover.search.tree import ancestors
from tests.node.prover.toys import is_valid, play, random_environment

SEARCHES = settings(max_examples=150, deadline=None, derandomize=True)
seeds = st.integers(0, 10_000)
leaves = st.integers(1, 6)
states = st.integers(3, 200)


def searched(seed: int, states: int, leaves: int, closing: int, simulations: int = 60) -> tuple[Search, list[str]]:
    search = Search("s0")
    environment = random_environment(seed, states, closing=closing)
    return search, play(search, environment, seed=seed, simulations=simulations, leaves=leaves)


@SEARCHES
@given(seeds, states, leaves)
def test_every_passage_is_counted_once(seed: int, states: int, leaves: int) -> None:
    search, expanded = searched(seed, states, leaves, closing=40)
    assert search.tree.root.visits == len(expanded) == search.statistics.simulations
    for node in search.tree.nodes:
        assert node.visits == node.expansions + sum(action.visits for action in node.actions)


@SEARCHES
@given(seeds, states, leaves)
def test_no_virtual_loss_is_left(seed: int, states: int, leaves: int) -> None:
    search, _ = searched(seed, states, leaves, closing=10)
    assert search.in_flight == 0
    for node in search.tree.nodes:
        assert node.in_flight == 0 and not node.pending
        assert all(action.in_flight == 0 for action in node.actions)


@SEARCHES
@given(seeds, states, leaves)
def test_proofs_are_valid_and_as_long_as_they_say(seed: int, states: int, leaves: int) -> None:
    search, _ = searched(seed, states, leaves, closing=20)
    if search.solved:
        proof = search.proof()
        assert is_valid(proof, "s0", random_environment(seed, states, closing=20))
        assert proof.remaining_steps == search.tree.root.steps
        transitions = transitions_of(proof)
        assert transitions[0].remaining_steps == proof.remaining_steps
        assert len({(t.state, t.tactic) for t in transitions}) == len(transitions)


def test_random_graphs_are_neither_all_solved_nor_all_open() -> None:
    solved = sum(searched(seed, 50, 3, closing=20)[0].solved for seed in range(50))
    assert 5 <= solved <= 45


@SEARCHES
@given(seeds, states, leaves)
def test_graph_has_no_cycle_and_live_counts_agree(seed: int, states: int, leaves: int) -> None:
    search, _ = searched(seed, states, leaves, closing=40)
    for node in search.tree.nodes:
        assert node.live == sum(not action.dead for action in node.actions)
        above = ancestors(node)
        assert all(child not in above for action in node.actions for child in action.children)


@SEARCHES
@given(seeds, states, leaves)
def test_solved_marks_agree_with_the_definition(seed: int, states: int, leaves: int) -> None:
    search, _ = searched(seed, states, leaves, closing=6)
    for node in search.tree.nodes:
        steps = [action.steps for action in node.actions if action.steps is not None]
        assert node.steps == min(steps, default=None)


@SEARCHES
@given(seeds, states, leaves)
def test_search_is_deterministic(seed: int, states: int, leaves: int) -> None:
    first, second = searched(seed, states, leaves, closing=40), searched(seed, states, leaves, closing=40)
    assert first[1] == second[1]
    assert [node.value for node in first[0].tree.nodes] == [node.value for node in second[0].tree.nodes]
