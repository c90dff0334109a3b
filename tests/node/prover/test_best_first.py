"""Best-first and random search against trees worked out by hand."""

import collections
import math

import pytest

from common.protocol.messages import SampledTactic
from node.prover.policies.policy import Proposal, log_probabilities, merge_samples
from node.prover.search.frontier import BestFirstSearch, FrontierSearch, RandomSearch
from node.prover.search.parameters import SearchParameters
from tests.node.prover.toys import PROVED, goals


def best_first(alpha: float) -> BestFirstSearch:
    return BestFirstSearch("root", SearchParameters(length_exponent=alpha))


def grow(search: FrontierSearch, *tactics: tuple[str, float, str], exhausted: bool = False) -> str:
    """One simulation: each tactic with its log-probability leads to the states named, separated by blanks; to none at
    all if it closes. Returns the state that was expanded."""
    request = search.select()
    assert request is not None
    proposals = [Proposal(tactic, 1.0, log_probability) for tactic, log_probability, _ in tactics]
    outcomes = {tactic: goals(*states.split()) if states else PROVED for tactic, _, states in tactics}
    search.feed(request, proposals, -5.0, outcomes, exhausted=exhausted)
    return request.state


def test_the_likeliest_path_comes_first() -> None:
    search = best_first(0.0)
    grow(search, ("a", -3.0, "A"), ("b", -1.0, "B"))
    assert grow(search, ("c", -1.5, "C"), ("d", -4.0, "D")) == "B"
    # C: -1 - 1.5 = -2.5; A: -3; D: -5.
    assert grow(search, ("e", -0.4, "E")) == "C"
    # E: -2.9; A: -3.
    assert grow(search, ("f", -9.0, "F")) == "E"
    assert grow(search, ("g", -9.0, "G")) == "A"
    assert grow(search) == "D"


@pytest.mark.parametrize(("alpha", "state"), [(0.0, "A"), (0.5, "A"), (1.0, "C")])
def test_length_normalisation_lets_deep_paths_come_forward(alpha: float, state: str) -> None:
    search = best_first(alpha)
    grow(search, ("a", -2.0, "A"), ("b", -1.5, "B"))
    assert grow(search, ("c", -1.5, "C")) == "B"
    # A: -2. C: -3 / 2^α, which is -3, -2.12 and -1.5.
    assert search.score(search.tree.nodes[3]) == pytest.approx(-3.0 / 2**alpha)
    assert grow(search) == state


def test_a_merged_state_takes_the_better_score_and_is_wanted_again() -> None:
    search = best_first(0.0)
    grow(search, ("dead", -1.0, "A B"), ("late", -6.0, "C"))
    grow(search, ("a", -3.0, "D"))
    assert grow(search, exhausted=True) == "B"
    # The way to D over A is dead now, for B is; C leads to D as well.
    assert grow(search, ("c", -0.5, "D")) == "C"
    assert search.score(search.tree.nodes[4]) == -4.0, "the better path counts, dead or not"
    assert grow(search, ("d", -1.0, "")) == "D"
    assert search.solved and search.proof().tactic == "late"


def test_expanded_states_are_sampled_again_in_the_same_order_until_they_are_dead() -> None:
    search = best_first(0.0)
    grow(search, ("a", -1.0, "A"), ("b", -2.0, "B"))
    # No tactic is legal at A and B: after two rounds they are dead, and only the root is left.
    assert [grow(search) for _ in range(7)] == ["A", "B", "root", "A", "B", "root", "root"]


def test_shares_of_the_prior_stand_for_log_probabilities_that_no_policy_knows() -> None:
    known = merge_samples([SampledTactic("a", -2.0), SampledTactic("b", -3.0), SampledTactic(" a", -2.5)])
    assert log_probabilities(known) == [-2.0, -3.0]
    mixed = [Proposal("a", 3.0, -2.0), Proposal("b", 1.0), Proposal("c", 0.0)]
    assert log_probabilities(mixed) == [math.log(0.75), math.log(0.25), -math.inf]


def test_random_search_follows_its_seed() -> None:
    def order(seed: int) -> list[str]:
        search = RandomSearch("root", seed=seed)
        grow(search, *((name, -1.0, name.upper()) for name in "abcdefgh"))
        return [grow(search) for _ in range(8)]

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list("ABCDEFGH")


def test_random_search_picks_old_and_new_states_alike_whatever_their_probability() -> None:
    picked: collections.Counter[str] = collections.Counter()
    for seed in range(400):
        search = RandomSearch("root", seed=seed)
        grow(search, ("a", -0.1, "A"), ("b", -9.0, "B"), ("c", -1.0, "C"))
        first = grow(search, ("x", -1.0, "X"), ("y", -20.0, "Y"))
        picked["old" if grow(search) in set("ABC") - {first} else "new"] += 1
    assert abs(picked["old"] - 200) < 50  # two of each wait; the standard deviation is 10
