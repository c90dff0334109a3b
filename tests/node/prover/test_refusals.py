"""Proofs that final verification refused: never found again, and the search finds others."""

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import Branch, Layout, Outcome, OutcomeKind, ProofTree, Step
from node.prover.search.methods import METHODS, ProofSearch, begin
from node.prover.search.parameters import SearchParameters
from node.prover.search.search import Search
from tests.node.prover.toys import PROVED, check_marks, expand, goals, is_valid, play, random_environment

SEARCHES = settings(max_examples=12, deadline=None, derandomize=True)
every_method = pytest.mark.parametrize("method", METHODS)


def reject(search: ProofSearch) -> None:
    search.reject(search.proof())


def test_a_known_alternative_is_the_next_proof_at_once() -> None:
    search = Search("root")
    expand(search, -5.0, {"cases": goals("A", "B")})
    expand(search, -5.0, {"a": PROVED})
    expand(search, -5.0, {"wrong": PROVED, "right": PROVED})
    assert search.proof() == cases(ProofTree("a", state="A"), ProofTree("wrong", state="B"))
    reject(search)
    # `right` had the same result as `wrong`; `a`, which closes its state too, has no other in its place.
    assert search.solved
    assert search.proof() == cases(ProofTree("a", state="A"), ProofTree("right", state="B"))
    assert search.statistics.solved_at_simulations == 3


def cases(*children: ProofTree) -> ProofTree:
    return ProofTree("cases", ((0,), (1,)), children, "root")


def test_what_all_refused_proofs_share_is_forbidden_before_what_they_do_not() -> None:
    search = Search("root")
    expand(search, -5.0, {"cases": goals("A", "B")})
    expand(search, -5.0, {"a1": PROVED, "a2": PROVED, "a3": PROVED})
    expand(search, -5.0, {"wrong": PROVED})
    reject(search)
    # Of A there are other proofs, so `a1` goes; but `wrong` is in the next one again.
    assert search.proof() == cases(ProofTree("a2", state="A"), ProofTree("wrong", state="B"))
    reject(search)
    assert not search.solved, "`cases` and `wrong` stood in both; `wrong` closes its state"
    assert expand(search, -5.0, {"right": PROVED}) == "B"
    assert search.proof() == cases(ProofTree("a2", state="A"), ProofTree("right", state="B"))


def test_a_tactic_with_the_result_of_a_forbidden_one_takes_its_place_with_its_own_layout() -> None:
    search = Search("root")
    expand(search, -5.0, {"one": split(((0,), (1, 2))), "other": split(((1,), (0, 2)))})
    expand(search, -5.0, {"a": PROVED})
    expand(search, -5.0, {"b": PROVED})
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
    expand(search, -5.0, {"close": PROVED})
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
    environment = random_environment(seed, states, closing=8)
    search = begin(method, "s0", SearchParameters(), seed)
    proofs: list[ProofTree] = []
    for simulations in range(10, 60, 10):
        play(search, environment, seed=seed, simulations=simulations, leaves=leaves)
        assert search.finished or search.statistics.simulations == simulations, "a search stops only at its end"
        while search.solved:
            proofs.append(search.proof())
            assert is_valid(proofs[-1], "s0", environment)
            search.reject(proofs[-1])
        check_marks(search)
    assert len({str(proof) for proof in proofs}) == len(proofs) == search.statistics.proofs_rejected


@every_method
@SEARCHES
@given(st.integers(0, 10_000), st.integers(3, 40), st.integers(1, 5))
def test_a_search_all_of_whose_proofs_are_refused_comes_to_its_end(
    method: str, seed: int, states: int, leaves: int
) -> None:
    environment = random_environment(seed, states, closing=6)
    search = begin(method, "s0", SearchParameters(max_depth=5), seed)
    while not search.exhausted:
        play(search, environment, seed=seed, simulations=5000, leaves=leaves, tactics=4)
        assert search.finished
        while search.solved:
            reject(search)
    assert not search.in_flight
    check_marks(search)
