"""The search against trees worked out by hand. γ = 0.99, c_init = 0.001, c_base = 3200, c_AND = 64 throughout."""

import math

import pytest

from common.lean import Branch, Outcome, OutcomeKind, ProofTree
from common.proofs import transitions_of
from common.protocol.messages import SampledTactic
from node.prover.agent import shape_of
from node.prover.policies.policy import Proposal, merge_samples
from node.prover.search.parameters import SearchParameters
from node.prover.search.proofs import extract, inner_proofs
from node.prover.search.search import Search
from node.prover.search.simulation import exploration, q_value
from node.prover.search.tree import Tree
from tests.node.prover.toys import ERROR, PROVED, expand, goals


def test_q_falls_by_a_percent_per_step_and_exploration_grows_with_visits() -> None:
    assert q_value(-11.0, SearchParameters()) == pytest.approx(0.904382075, abs=1e-9)
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
    # No action has a visit: both have Q = γ^(-1-(-5-4)) and ΣN = 0; the tie goes to the larger prior, b.
    assert expand(search, -3.0, {"c": goals("C")}) == "B"
    root = search.tree.root
    action_b = root.actions[0]
    # B is worth -3, the action that leads there -4, the root the mean of -5 and -4.
    assert (action_b.tactic, action_b.visits, action_b.value) == ("b", 1, -4.0)
    assert action_b.q == pytest.approx(0.99**3)
    assert root.value == pytest.approx(-4.5)
    # b scores 0.99^3 = 0.9703 and more; a starts 4 steps below the root's -4.5: 0.99^7.5 = 0.93. So b again: C.
    assert expand(search, -1.5, {}) == "C"
    # No tactic is legal at C: -40, then -41 for the action c and B's mean (-3 - 41) / 2, and -42 for b: (-4 - 42) / 2.
    assert search.tree.nodes[3].value == -40.0
    assert search.tree.nodes[2].value == -22.0
    assert action_b.value == -23.0
    # Q(b) = 0.99^22 = 0.8016; root V = (-5 - 4 - 42) / 3 = -17, so Q(a) = 0.99^20 = 0.8179: a.
    assert expand(search, -30.0, {"e": goals("E")}) == "A"
    # Q(a) = 0.99^30 = 0.7397, so b, and C once more.
    assert expand(search, -1.5, {"d": PROVED}) == "C"
    assert search.solved and search.select() is None
    assert search.proof() == ProofTree(
        "b", ((0,),), (ProofTree("c", ((0,),), (ProofTree("d", state="C"),), "B"),), "root"
    )


def test_a_failed_search_keeps_the_proofs_of_its_solved_branches_longest_first() -> None:
    search = Search("root")
    expand(search, -5.0, {"split": goals("A", "B")})
    while (request := search.select()) is not None and search.statistics.simulations < 12:
        tactics = {"A": {"a": goals("A1", "A2")}, "A1": {"a1": goals("A3")}, "A3": {"a3": PROVED}, "A2": {"a2": PROVED}}
        known = tactics.get(request.state, {"on": goals(request.state + "b")})  # B goes on for ever
        search.feed(request, [Proposal(tactic, 1.0) for tactic in known], -5.0, known)
    below = ProofTree("a1", ((0,),), (ProofTree("a3", state="A3"),), "A1")
    whole = ProofTree("a", ((0,), (1,)), (below, ProofTree("a2", state="A2")), "A")
    assert not search.solved
    # A1 is a part of A's proof; B has none.
    assert inner_proofs(search.tree, 8) == (whole,) and inner_proofs(search.tree, 0) == ()


def test_a_dead_end_ranks_below_every_untried_sibling_and_is_dead_after_two_rounds() -> None:
    search = Search("root", SearchParameters(unvisited_penalty=32.0))
    expand(search, -5.0, {"a": goals("A"), "b": goals("B"), "c": goals("C")}, [9.0, 2.0, 1.0])
    assert expand(search, -5.0, {"wrong": ERROR}) == "A"
    # By its value -41, a has Q = 0.99^40 = 0.67, and b starts at 0.99^(-1 + 23.5 + 32) = 0.58. But A is a dead end.
    assert expand(search, -9.0, {"b1": ERROR}) == "B"
    assert expand(search, -9.0, {"c1": goals("C1")}) == "C"
    assert expand(search, -9.0, {"wrong": ERROR}) == "C1"
    # C has an action still, so it comes before the dead ends A and B. After its second round C1 is dead.
    assert expand(search, -9.0, {"worse": ERROR}) == "C1"
    # Now all three are dead ends, with Q = 0: the prior decides. After its second round A is dead.
    assert expand(search, -5.0, {"worse": ERROR}) == "A"
    root = search.tree.root
    assert [action.dead for action in root.actions] == [True, False, False]
    assert expand(search, -5.0, {"b2": goals("B2")}) == "B"  # B has an action now, and its value counts again
    assert not root.actions[1].dead and expand(search, -5.0, {"b3": PROVED}) == "B2"
    assert search.solved


def test_a_root_without_legal_tactic_is_sampled_as_long_as_the_budget_lasts_and_asks_only_for_new_tactics() -> None:
    search = Search("root")
    for _ in range(5):
        assert expand(search, -5.0, {"bad": ERROR}) == "root"
    assert search.tree.root.value == -40.0 and not search.exhausted
    request = search.select()
    assert request is not None
    assert (request.state, request.round, request.tried) == ("root", 5, frozenset({"bad"}))
    search.feed(request, [Proposal("bad", 1.0), Proposal("good", 1.0)], -5.0, {"good": PROVED})
    assert search.solved


def test_depth_is_bounded() -> None:
    search = Search("0", SearchParameters(max_depth=3))
    for depth in range(4):
        assert expand(search, -5.0, {"step": goals(str(depth + 1))}) == str(depth)
    assert len(search.tree.nodes) == 4
    assert search.statistics.tactics_useless == 1


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


def test_the_shape_of_a_search_tells_dead_ends_choices_depth_values_and_tactics() -> None:
    tree = Tree("root", max_depth=9)

    def state(name: str, expansions: int, estimate: float | None, tried: dict[str, str | None], visited: int) -> None:
        """Expand a state. Tactics lead to a state, close theirs (""), or fail (None); the first ones are visited."""
        node = next(each for each in tree.nodes if each.state == name)
        node.expansions, node.estimate = expansions, estimate
        for tactic, to in tried.items():
            branches = (Branch(to),) if to else ()
            node.tried[tactic] = None if to is None else tree.add_action(node, tactic, 1.0, branches)
        for action in node.actions[:visited]:
            action.visits = 1

    state("root", 2, -3.5, {"rw [a]": "A", "· (rw [b] at h)": "B", "norm_num.ext": None}, 2)
    state("A", 1, None, {"exact h": ""}, 1)
    state("B", 1, -4.0, {"cases h": "D", "apply f": "C"}, 1)
    state("C", 3, -2.0, {"rw [c]": None, "omega": None, "⟨⟩": None}, 0)
    state("D", 1, -1.0, {"rfl": ""}, 1)
    shape = shape_of([tree], extract(tree.root))
    # Root 2, A 1, B 1, C 3, D 1 expansions, at the depths 0, 1, 1, 2, 2. C is dead. The root alone has compared.
    assert (shape.expanded, shape.expansions, shape.dead, shape.dead_expansions) == (5, 8, 1, 3)
    assert (shape.choices, shape.depth, shape.depths, shape.proof_steps) == (1, 2, 1 + 1 + 3 * 2 + 2, 2)
    # On the proof: the root (two steps, foretold 3.5). Off it: B in two steps, foretold 4, and D in one, foretold 1.
    assert (shape.on_proof, shape.error_on_proof, shape.off_proof, shape.error_off_proof) == (1, 1.5, 2, 2.0)
    # Eight bins for each doubling: D in 0, C in 8, B in 16.
    assert shape.solved == (1, *[0] * 15, 1) and shape.unsolved == (*[0] * 8, 1)
    assert (shape.tried["rw"], shape.legal["rw"], shape.used) == (3, 2, {"rw": 1, "exact": 1})
    assert shape.tried["norm_num.ext"] == shape.tried["…"] == 1 and "…" not in shape.legal
    assert shape_of([tree]).off_proof == 3 and shape_of([]).expanded == 0
