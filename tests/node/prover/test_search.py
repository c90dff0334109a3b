"""The search against trees worked out by hand. γ = 0.99, c_init = 0.001, c_base = 3200, c_AND = 64 throughout."""

from __future__ import annotations

import math

import pytest

from common.lean import Branch, Outcome, OutcomeKind, ProofTree, Step
from common.proofs import transitions_of
from common.protocol.attempts import Transition
from common.protocol.messages import SampledTactic
from node.prover.policies.policy import Proposal, merge_samples
from node.prover.search.parameters import SearchParameters
from node.prover.search.proofs import NotSolved, extract
from node.prover.search.search import Search
from node.prover.search.simulation import Leaf, Numbers, exploration, hardest_branch, q_value, wants_tactics
from node.prover.search.tree import Tree
from tests.node.prover.toys import ERROR, LOST, PROVED, expand, goals


def test_q_is_one_for_a_closing_action_and_falls_by_a_percent_per_step() -> None:
    parameters = SearchParameters()
    assert q_value(-1.0, parameters) == 1.0
    assert q_value(-2.0, parameters) == pytest.approx(0.99)
    assert q_value(-11.0, parameters) == pytest.approx(0.904382075, abs=1e-9)


def test_exploration_factor_at_four_visits() -> None:
    # c = 0.001 + log((4 + 3200 + 1) / 3200) = 0.001 + log(1.0015625) = 0.00256128; times sqrt(4)
    assert exploration(4, SearchParameters()) == pytest.approx(0.005122562, abs=1e-9)


def test_prior_mass_counts_duplicates_and_drops_incomplete_samples() -> None:
    samples = [
        SampledTactic("simp", -2.0),
        SampledTactic("intro h", -20.0),
        SampledTactic(" simp ", -2.0),
        SampledTactic("exact (", -1.0, complete=False),
        SampledTactic("  ", -1.0),
    ]
    simp, intro = merge_samples(samples)
    assert (simp.tactic, intro.tactic) == ("simp", "intro h")
    assert simp.mass == pytest.approx(2 * math.exp(-0.01))
    assert intro.mass == pytest.approx(math.exp(-0.1))


def test_first_simulations_follow_the_prior_and_then_the_value() -> None:
    search = Search("root")
    assert expand(search, -5.0, {"a": goals("A"), "b": goals("B")}, [1.0, 2.0]) == "root"
    # No action has a visit: both have Q = γ^(-1-(-5-32)) and ΣN = 0; the tie goes to the larger prior, b.
    assert expand(search, -3.0, {"c": goals("C")}) == "B"
    root = search.tree.root
    action_b = root.actions[0]
    # B is worth -3, the action that leads there -4, the root the mean of -5 and -4.
    assert (action_b.tactic, action_b.visits, action_b.value) == ("b", 1, -4.0)
    assert action_b.q == pytest.approx(0.99**3)
    assert root.value == pytest.approx(-4.5)
    # b scores 0.99^3 = 0.9703 and more; a starts 32 steps below the root's -4.5: 0.99^35.5 = 0.70. So b again: C.
    assert expand(search, -1.5, {}) == "C"
    # No tactic is legal at C: -40, then -41 for the action c and B's mean (-3 - 41) / 2, and -42 for b: (-4 - 42) / 2.
    assert search.tree.nodes[3].value == -40.0
    assert search.tree.nodes[2].value == -22.0
    assert action_b.value == -23.0
    # Q(b) = 0.99^22 = 0.8016; root V = (-5 - 4 - 42) / 3 = -17, so Q(a) = 0.99^48 = 0.6173: b, and C once more.
    assert expand(search, -1.5, {"d": PROVED}) == "C"
    assert search.solved and search.select() is None
    assert search.proof() == ProofTree(
        "b", ((0,),), (ProofTree("c", ((0,),), (ProofTree("d", state="C"),), "B"),), "root"
    )


def test_path_of_a_state_is_the_steps_that_lead_there() -> None:
    search = Search("root")
    expand(search, -5.0, {"cases": goals("A", "B")})
    expand(search, -5.0, {"simp": PROVED})  # A
    expand(search, -5.0, {"intro": goals("C")})  # B, the only open branch
    request = search.select()
    assert request is not None and request.state == "C"
    assert request.path == (Step("cases", 1, ((0,), (1,))), Step("intro", 0, ((0,),)))


def test_product_visits_every_branch_first_and_backs_up_the_minimum() -> None:
    search = Search("root")
    expand(search, -6.0, {"cases": goals("A", "B")})
    action = search.tree.root.actions[0]
    assert expand(search, -2.0, {"a": goals("A1")}) == "A"
    assert action.value == -3.0  # one reward below the only visited branch
    # Unvisited B has V = -2 - 32, so 1 - Q = 1 - 0.99^33 = 0.28; A has 1 - 0.99 = 0.01.
    assert expand(search, -9.0, {"b": goals("B1")}) == "B"
    # min(-2, -9) = -9, minus one: mean of -3 and -10.
    assert action.value == -6.5
    assert search.tree.root.value == pytest.approx((-6 - 3 - 10) / 3)
    # A: 1 - 0.99^1 = 0.01; B: 1 - 0.99^8 = 0.0773; exploration 64 · 0.0016 · 0.5 · sqrt(2) / 2 = 0.0367 for both: B.
    assert expand(search, -4.0, {"b2": goals("B2")}) == "B1"
    # B = (-9 - 5) / 2 = -7: minimum -7, action (-3 - 10 - 8) / 3.
    assert action.value == -7.0


def test_branch_score_explores_the_less_visited_branch() -> None:
    parameters = SearchParameters()
    search = Search("root")
    expand(search, -6.0, {"cases": goals("A", "B")})
    action = search.tree.root.actions[0]
    a, b = action.children
    a.visits, a.value, b.visits, b.value = 100, -4.0, 10, -3.0
    # c = 0.001 + log(3311 / 3200) = 0.0350983, times 64 · 0.5 · sqrt(110) = 11.7796...
    # A: 1 - 0.99^3 + 11.78 / 101 = 0.1463; B: 1 - 0.99^2 + 11.78 / 11 = 1.0908
    assert hardest_branch(action, Numbers(parameters)) is b
    # Now c = 0.001 + log(3400 / 3200) and the sum is 199: 27.8 / 101 + 0.0297 for A, 27.8 / 100 + 0.0199 for B.
    b.visits = 99
    assert hardest_branch(action, Numbers(parameters)) is a


def test_product_is_solved_when_all_branches_are_and_solved_branches_are_skipped() -> None:
    search = Search("root")
    expand(search, -6.0, {"cases": goals("A", "B")})
    assert expand(search, -2.0, {"done": PROVED}) == "A"
    assert not search.solved
    assert expand(search, -50.0, {"b": goals("B1")}) == "B"
    assert expand(search, -2.0, {"c": PROVED}) == "B1"
    assert search.solved
    proof = search.proof()
    assert proof == ProofTree(
        "cases",
        ((0,), (1,)),
        (ProofTree("done", state="A"), ProofTree("b", ((0,),), (ProofTree("c", state="B1"),), "B")),
        "root",
    )
    assert proof.remaining_steps == 3
    assert transitions_of(proof) == (
        Transition("root", "cases", 3),
        Transition("A", "done", 1),
        Transition("B", "b", 2),
        Transition("B1", "c", 1),
    )


def test_a_proof_lists_the_failed_tactics_of_the_network_alone() -> None:
    search = Search("root")
    timeout = Outcome(OutcomeKind.TIMEOUT)
    outcomes = {
        "wrong": ERROR,
        "useless": goals("root"),
        "slow": timeout,
        "listed": ERROR,
        "worse": ERROR,
        "step": goals("A"),
    }
    sampled = [Proposal(tactic, 1.0 + (tactic == "worse"), -1.0) for tactic in outcomes if tactic != "listed"]
    request = search.select()
    assert request is not None
    search.feed(request, [*sampled, Proposal("listed", 9.0)], -3.0, outcomes)
    assert expand(search, -1.0, {"done": PROVED}) == "A"
    assert search.statistics.tactics_failed == 4
    assert (search.proof().failed, search.proof(1).failed) == ((), ("worse",))
    first, second = transitions_of(search.proof(9))
    assert first == Transition("root", "step", 2, ("worse", "wrong"))
    assert second.failed == ()


def test_terminal_children_are_solved_when_they_are_made() -> None:
    search = Search("root")
    expand(search, -7.0, {"intro": goals("A"), "trivial": PROVED})
    assert search.solved and search.proof() == ProofTree("trivial", state="root")
    assert search.tree.root.value == -1.0
    assert search.statistics.simulations == 1


def test_shorter_proof_found_later_replaces_the_longer_one() -> None:
    search = Search("root")
    expand(search, -5.0, {"a": goals("A"), "b": goals("B")}, [2.0, 1.0])
    first, second = search.select(), search.select()
    assert first is not None and second is not None and (first.state, second.state) == ("A", "B")
    search.feed(first, [Proposal("x", 1.0)], -5.0, {"x": goals("A1")})
    third = search.select()
    assert third is not None and third.state == "A1"
    search.feed(third, [Proposal("y", 1.0)], -5.0, {"y": PROVED})
    assert search.proof().remaining_steps == 3
    search.feed(second, [Proposal("z", 1.0)], -5.0, {"z": PROVED})
    assert search.proof() == ProofTree("b", ((0,),), (ProofTree("z", state="B"),), "root")
    assert search.in_flight == 0


def test_equal_states_are_merged_and_keep_their_first_path() -> None:
    search = Search("root")
    expand(search, -5.0, {"a": goals("A"), "b": goals("B")}, [2.0, 1.0])
    assert expand(search, -5.0, {"x": goals("C")}) == "A"
    search.tree.root.actions[0].value_sum = -500.0  # make A look bad
    search.tree.root.actions[0].q = 0.001
    assert expand(search, -5.0, {"y": goals("C")}) == "B"
    assert len(search.tree.nodes) == 4
    merged = search.tree.nodes[3]
    assert [action.tactic for action in merged.parents] == ["x", "y"]
    assert merged.path == (Step("a"), Step("x"))


def test_tactic_that_leads_back_to_an_ancestor_is_useless() -> None:
    search = Search("root")
    expand(search, -5.0, {"a": goals("A"), "skip": goals("root")})
    assert [action.tactic for action in search.tree.root.actions] == ["a"]
    expand(search, -5.0, {"back": goals("root"), "split": goals("B", "A")})
    assert search.tree.nodes[1].actions == []
    assert search.statistics.tactics_useless == 3
    assert search.statistics.tactics_failed == 0


def test_tactics_with_one_result_share_their_prior() -> None:
    search = Search("root")
    expand(search, -5.0, {"simp": goals("A"), "simp_all": goals("A")}, [1.0, 2.0])
    (first,) = search.tree.root.actions
    expand(search, -5.0, {"intro x": goals("A1"), "intros": goals("A1"), "c": goals("C")}, [1.0, 2.5, 3.0])
    node = search.tree.nodes[1]
    assert first.tactic == "simp"
    assert [(action.tactic, action.mass) for action in node.actions] == [("intro x", 3.5), ("c", 3.0)]


def test_leaves_in_flight_differ_and_leave_no_virtual_loss() -> None:
    search = Search("root")
    root_request = search.select()
    assert root_request is not None
    assert search.select() is None, "the only state is in flight"
    proposals = [Proposal(tactic, 1.0) for tactic in "abc"]
    search.feed(root_request, proposals, -5.0, {t: goals(t.upper()) for t in "abc"})
    requests = [search.select() for _ in range(4)]
    assert [request.state for request in requests if request] == ["A", "B", "C"]
    assert requests[3] is None
    assert search.tree.root.in_flight == 3
    for request in requests[:3]:
        assert request is not None
        search.abandon(request)
    assert search.tree.root.in_flight == 0
    assert all(action.in_flight == 0 for action in search.tree.root.actions)
    assert search.tree.root.visits == 1, "what is abandoned leaves no trace"


def test_lost_outcomes_repeat_the_expansion_and_count_nothing() -> None:
    search = Search("root", SearchParameters(max_losses=2))
    for _ in range(2):
        request = search.select()
        assert request is not None and request.round == 0
        fed = search.feed(request, [Proposal("a", 1.0), Proposal("b", 1.0)], -5.0, {"a": LOST, "b": goals("B")})
        assert not fed
        assert search.tree.root.visits == 0 and search.tree.root.tried == {}
    # The third time, what is known is used; a is neither tried nor failed, so the search has lost something.
    expand(search, -5.0, {"a": LOST, "b": goals("B")})
    assert list(search.tree.root.tried) == ["b"]
    assert (search.statistics.losses, search.statistics.expansions_lost) == (2, 1)
    assert search.statistics.tactics_failed == 0


def test_search_whose_root_is_lost_for_good_is_exhausted_and_says_so() -> None:
    search = Search("root", SearchParameters(max_losses=1))
    expand(search, -5.0, {"a": LOST})
    expand(search, -5.0, {"a": LOST})
    assert search.exhausted and not search.solved
    assert search.statistics.expansions_lost == 1
    with pytest.raises(NotSolved):
        search.proof()


def test_state_without_legal_tactic_is_sampled_again_and_asks_only_for_new_tactics() -> None:
    search = Search("root")
    expand(search, -5.0, {"bad": ERROR})
    assert search.tree.root.value == -40.0
    request = search.select()
    assert request is not None
    assert (request.state, request.round, request.tried) == ("root", 1, frozenset({"bad"}))
    search.feed(request, [Proposal("bad", 1.0), Proposal("good", 1.0)], -5.0, {"good": PROVED})
    assert search.solved


def test_progressive_sampling_comes_back_at_its_visit_count() -> None:
    search = Search("root")
    expand(search, -5.0, {"a": goals("A")})
    root, parameters = search.tree.root, search.parameters
    # One action: 1 <= 0.01 · N^0.6 from N = 100^(1 / 0.6) = 2154.43 on.
    root.visits = 2154
    assert not wants_tactics(root, Numbers(parameters))
    root.visits = 2155
    assert wants_tactics(root, Numbers(parameters))


def test_a_state_with_live_children_is_sampled_again_and_they_are_kept() -> None:
    search = Search("root", SearchParameters(progressive_c=0.5))  # 1 action: again at 4 visits
    root = search.tree.root
    expand(search, -5.0, {"a": goals("A")})
    expanded: list[str] = []
    while "root" not in expanded:
        number = len(expanded)
        (action,) = root.actions
        child = action.children[0]
        before = (action.visits, action.value_sum, child.visits, child.value_sum, list(child.actions))
        request = search.select()
        assert request is not None
        expanded.append(request.state)
        if request.state != "root":
            feed(search, request, {f"t{number}": goals(f"S{number}")})
    assert (request.round, request.tried, root.visits, action.visits) == (1, frozenset({"a"}), 4, 3)
    proposals = [Proposal("a", 1.0), Proposal("b", 2.0), Proposal("bad", 5.0)]
    search.feed(request, proposals, -5.0, {"b": goals("B"), "bad": ERROR})
    assert [(each.tactic, each.mass) for each in root.actions] == [("a", 2.0), ("b", 2.0)]
    assert root.actions[0] is action and action.children == (child,)
    assert (action.visits, action.value_sum, child.visits, child.value_sum, child.actions) == before
    assert (root.visits, root.expansions, root.live) == (5, 2, 2)
    seen = []
    for number in range(8):
        request = search.select()
        assert request is not None
        seen += [step.tactic for step in request.path[:1]]
        feed(search, request, {f"u{number}": goals(f"T{number}")})
    assert "a" in seen, "the old child is walked into as before"


def feed(search: Search, leaf: Leaf, tactics: dict[str, Outcome]) -> None:
    search.feed(leaf, [Proposal(tactic, 1.0) for tactic in tactics], -5.0, tactics)


def test_exhausted_policy_ends_the_search() -> None:
    search = Search("root")
    for tactics in ({"a": goals("A"), "b": ERROR}, {"c": ERROR}):
        request = search.select()
        assert request is not None
        proposals = [Proposal(tactic, 1.0) for tactic in tactics]
        search.feed(request, proposals, -5.0, tactics, exhausted=True)
    assert search.exhausted and search.select() is None


def test_depth_is_bounded() -> None:
    search = Search("0", SearchParameters(max_depth=3))
    for depth in range(4):
        assert expand(search, -5.0, {"step": goals(str(depth + 1))}) == str(depth)
    assert len(search.tree.nodes) == 4
    assert search.statistics.tactics_useless == 1


def test_missing_outcome_changes_nothing() -> None:
    search = Search("root")
    request = search.select()
    assert request is not None
    with pytest.raises(KeyError):
        search.feed(request, [Proposal("a", 1.0), Proposal("b", 1.0)], -5.0, {"a": PROVED})
    assert not search.solved and search.in_flight == 1


@pytest.mark.parametrize(("zero", "state"), [(False, "A"), (True, "C")])
def test_an_unvisited_action_starts_below_its_parent_or_at_zero_by_option(zero: bool, state: str) -> None:
    search = Search("root", SearchParameters(unvisited_penalty=1.0, unvisited_zero=zero))
    expand(search, -5.0, {"a": goals("A"), "b": goals("B")}, [1.0, 2.0])
    assert expand(search, -30.0, {"c": goals("C")}) == "B"
    # Q(b) = 0.99^30 = 0.74; root V = (-5 - 31) / 2 = -18. One step below that a has 0.99^18 = 0.83, by the option 0.
    assert expand(search, -2.0, {"d": goals("D")}) == state


def test_a_deep_proof_is_read_without_recursion() -> None:
    depth = 5_000
    tree = Tree("0", max_depth=depth)
    for number in range(depth):
        branches = (Branch(str(number + 1)),) if number + 1 < depth else ()
        tree.add_action(tree.nodes[number], "step", 1.0, branches)
    proof = extract(tree.root)
    assert proof.remaining_steps == depth
    assert [step.remaining_steps for step in transitions_of(proof)] == list(range(depth, 0, -1))


def test_without_values_every_open_state_is_worth_one_step() -> None:
    search = Search("root", parameters=SearchParameters(values=False))
    expand(search, -17.0, {"a": goals("A")})
    assert search.tree.root.value == -1.0
    expand(search, -9.0, {})  # no tactic is legal at A, which is known without a network
    assert search.tree.nodes[1].value == -40.0


def test_without_and_nodes_the_goals_of_a_tactic_are_one_state_in_leans_order() -> None:
    search = Search("root", parameters=SearchParameters(and_nodes=False))
    branches = (Branch("B", (1,)), Branch("A\n\nC", (0, 2)))
    expand(search, -1.0, {"cases": Outcome(OutcomeKind.GOALS, branches)})
    (action,) = search.tree.root.actions
    assert [child.state for child in action.children] == ["A\n\nB\n\nC"]
    assert action.layout == ((0, 1, 2),)
