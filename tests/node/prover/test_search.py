"""Searches against trees worked out by hand. γ = 0.99, c_init = 0.001, c_base = 3200, c_AND = 64 throughout."""

import collections
import math
from collections.abc import Sequence

import pytest

from common.lean import Branch, Outcome, OutcomeKind, ProofTree, Step
from common.proofs import transitions_of
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import SampledTactic
from node.prover.agent import Agent, Playing, shape_of
from node.prover.policies.combined import ByTurns, Player
from node.prover.policies.policy import Proposal, log_probabilities, merge_samples
from node.prover.search.frontier import BestFirstSearch, FrontierSearch, RandomSearch
from node.prover.search.parameters import SearchParameters
from node.prover.search.proofs import extract
from node.prover.search.search import Search
from node.prover.search.simulation import exploration, q_value
from node.prover.search.tree import Tree
from node.prover.search.turns import TurnSearch
from tests.node.prover.toys import ERROR, PROVED, Says, attempt, check_marks, expand, goals


def test_q_falls_by_a_percent_per_step_and_exploration_grows_with_visits() -> None:
    assert q_value(-11.0, SearchParameters()) == pytest.approx(0.904382075, abs=1e-9)
    # c = 0.001 + log((4 + 3200 + 1) / 3200) = 0.001 + log(1.0015625) = 0.00256128; times sqrt(4)
    assert exploration(4, SearchParameters()) == pytest.approx(0.005122562, abs=1e-9)


def test_prior_mass_counts_duplicates_drops_incomplete_samples_and_stands_for_unknown_log_probabilities() -> None:
    drawn = (("simp", -2.0), ("intro h", -20.0), (" simp ", -2.5), ("  ", -1.0))
    samples = [*(SampledTactic(*each) for each in drawn), SampledTactic("exact (", -1.0, complete=False)]
    simp, intro = merge_samples(samples)
    assert (simp.tactic, intro.tactic) == ("simp", "intro h")
    assert (simp.mass, intro.mass) == pytest.approx((math.exp(-0.01) + math.exp(-0.0125), math.exp(-0.1)))
    assert log_probabilities([simp, intro]) == [-2.0, -20.0]
    mixed = [Proposal("a", 3.0, -2.0), Proposal("b", 1.0), Proposal("c", 0.0)]
    assert log_probabilities(mixed) == [math.log(0.75), math.log(0.25), -math.inf]


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
    assert search.tree.nodes[3].value == -40.0 and search.tree.nodes[2].value == -22.0
    assert action_b.value == -23.0
    # Q(b) = 0.99^22 = 0.8016; root V = (-5 - 4 - 42) / 3 = -17, so Q(a) = 0.99^20 = 0.8179: a.
    assert expand(search, -30.0, {"e": goals("E")}) == "A"
    # Q(a) = 0.99^30 = 0.7397, so b, and C once more.
    assert expand(search, -1.5, {"d": PROVED}) == "C" and search.solved and search.select() is None
    below = ProofTree("c", ((0,),), (ProofTree("d", state="C"),), "B")
    assert search.proof() == ProofTree("b", ((0,),), (below,), "root")


def test_a_dead_end_ranks_below_every_untried_sibling_and_is_dead_after_two_rounds() -> None:
    search = Search("root", SearchParameters(unvisited_penalty=32.0))
    expand(search, -5.0, {"a": goals("A"), "b": goals("B"), "c": goals("C")}, [9.0, 2.0, 1.0])
    assert expand(search, -5.0, {"wrong": ERROR}) == "A"
    # By its value -41, a has Q = 0.99^40 = 0.67, and b starts at 0.99^(-1 + 23.5 + 32) = 0.58. But A is a dead end.
    assert expand(search, -9.0, {"b1": ERROR}) == "B" and expand(search, -9.0, {"c1": goals("C1")}) == "C"
    assert expand(search, -9.0, {"wrong": ERROR}) == "C1"
    # C has an action still, so it comes before the dead ends A and B. After its second round C1 is dead.
    assert expand(search, -9.0, {"worse": ERROR}) == "C1"
    # Now all three are dead ends, with Q = 0: the prior decides. After its second round A is dead.
    assert expand(search, -5.0, {"worse": ERROR}) == "A"
    root = search.tree.root
    assert [action.dead for action in root.actions] == [True, False, False]
    assert expand(search, -5.0, {"b2": goals("B2")}) == "B"  # B has an action now, and its value counts again
    assert not root.actions[1].dead and expand(search, -5.0, {"b3": PROVED}) == "B2" and search.solved


def test_when_nothing_is_left_every_dead_state_is_sampled_once_more_and_not_the_root_alone() -> None:
    search = Search("root")
    expand(search, -5.0, {"a": goals("A"), "b": goals("B")}, [2.0, 1.0])
    expand(search, -5.0, {"a1": goals("A1")})
    states: list[str] = [expand(search, -5.0, {"bad": ERROR}) for _ in range(16)]
    # The first round ends when all four states have two expansions, each further one when all have one more.
    assert [sorted(states[start:end]) for start, end in ((0, 6), (6, 10), (10, 14))] == [
        ["A", "A1", "A1", "B", "B", "root"],
        *2 * [["A", "A1", "B", "root"]],
    ]
    check_marks(search)
    while (leaf := search.select()) is not None and leaf.state != "B":
        search.feed(leaf, [Proposal("bad", 1.0)], -5.0, {})
    assert leaf is not None
    search.feed(leaf, [Proposal("good", 1.0)], -5.0, {"good": PROVED})
    assert search.solved and search.proof().tactic == "b"


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


def test_depth_is_bounded_and_a_deep_proof_is_read_without_recursion() -> None:
    search = Search("0", SearchParameters(max_depth=3))
    for depth in range(4):
        assert expand(search, -5.0, {"step": goals(str(depth + 1))}) == str(depth)
    assert len(search.tree.nodes) == 4
    depth = 5_000
    tree = Tree("0", max_depth=depth)
    for number in range(depth):
        branches = (Branch(str(number + 1)),) if number + 1 < depth else ()
        tree.add_action(tree.nodes[number], "step", 1.0, branches)
    proof = extract(tree.root)
    assert proof.remaining_steps == depth
    assert [step.remaining_steps for step in transitions_of(proof)] == list(range(depth, 0, -1))


def test_without_values_open_states_are_worth_one_step_and_without_and_nodes_goals_are_one_state() -> None:
    search = Search("root", parameters=SearchParameters(values=False))
    expand(search, -17.0, {"a": goals("A")})
    assert search.tree.root.value == -1.0
    expand(search, -9.0, {})  # no tactic is legal at A, which is known without a network
    assert search.tree.nodes[1].value == -40.0
    search = Search("root", parameters=SearchParameters(and_nodes=False))
    branches = (Branch("B", (1,)), Branch("A\n\nC", (0, 2)))
    expand(search, -1.0, {"cases": Outcome(OutcomeKind.GOALS, branches)})
    (action,) = search.tree.root.actions
    assert [child.state for child in action.children] == ["A\n\nB\n\nC"] and action.layout == ((0, 1, 2),)


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


# --- best-first and random search -------------------------------------------------------------------------------------
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
    assert grow(search, ("f", -9.0, "F")) == "E" and grow(search, ("g", -9.0, "G")) == "A"
    assert grow(search) == "D"


@pytest.mark.parametrize(("alpha", "state"), [(0.0, "A"), (0.5, "A"), (1.0, "C")])
def test_length_normalisation_lets_deep_paths_come_forward(alpha: float, state: str) -> None:
    search = best_first(alpha)
    grow(search, ("a", -2.0, "A"), ("b", -1.5, "B"))
    assert grow(search, ("c", -1.5, "C")) == "B"
    # A: -2. C: -3 / 2^α, which is -3, -2.12 and -1.5.
    assert search.score(search.tree.nodes[3]) == pytest.approx(-3.0 / 2**alpha) and grow(search) == state


def test_a_merged_state_takes_the_better_score_and_is_wanted_again() -> None:
    search = best_first(0.0)
    grow(search, ("dead", -1.0, "A B"), ("late", -6.0, "C"))
    grow(search, ("a", -3.0, "D"))
    assert grow(search, exhausted=True) == "B"
    # The way to D over A is dead now, for B is; C leads to D as well.
    assert grow(search, ("c", -0.5, "D")) == "C"
    assert search.score(search.tree.nodes[4]) == -4.0, "the better path counts, dead or not"
    assert grow(search, ("d", -1.0, "")) == "D" and search.solved and search.proof().tactic == "late"


def test_expanded_states_are_sampled_again_in_the_same_order() -> None:
    search = best_first(0.0)
    grow(search, ("a", -1.0, "A"), ("b", -2.0, "B"))
    # No tactic is legal at A and B: after two expansions each they rest. Then a new round begins, with one expansion
    # for each state.
    assert [grow(search) for _ in range(9)] == 3 * ["A", "B", "root"]


def test_random_search_follows_its_seed_and_picks_old_and_new_states_alike_whatever_their_probability() -> None:
    def order(seed: int) -> list[str]:
        search = RandomSearch("root", seed=seed)
        grow(search, *((name, -1.0, name.upper()) for name in "abcdefgh"))
        return [grow(search) for _ in range(8)]

    assert order(1) == order(1) != order(2) and sorted(order(1)) == list("ABCDEFGH")
    picked: collections.Counter[str] = collections.Counter()
    for seed in range(400):
        search = RandomSearch("root", seed=seed)
        grow(search, ("a", -0.1, "A"), ("b", -9.0, "B"), ("c", -1.0, "C"))
        first = grow(search, ("x", -1.0, "X"), ("y", -20.0, "Y"))
        picked["old" if grow(search) in set("ABC") - {first} else "new"] += 1
    assert abs(picked["old"] - 200) < 50  # two of each wait; the standard deviation is 10


# --- searches that take turns: who is next, what they share, and what an attempt says of them -------------------------
def turns(number: int = 2) -> TurnSearch:
    return TurnSearch([Search("s0", SearchParameters()) for _ in range(number)], head_start=0)


def take_turn(search: TurnSearch, tactics: dict[str, Outcome]) -> int:
    """One simulation by hand: tactics that are known already are not sent; returns whose turn it was."""
    request = search.select()
    assert request is not None
    sent = {tactic: outcome for tactic, outcome in tactics.items() if tactic not in request.tried}
    assert search.feed(request, [Proposal(tactic, 1.0) for tactic in tactics], -2.0, sent)
    return request.turn


def test_next_is_the_search_that_has_sent_the_fewest_tactics_to_lean() -> None:
    search = turns()
    assert take_turn(search, {"a": goals("s1")}) == 0
    assert take_turn(search, dict.fromkeys("bcde", ERROR) | {"f": goals("s2")}) == 1
    assert [take_turn(search, {f"{number}": goals(f"n{number}")}) for number in range(5)] == [0, 0, 0, 0, 0]
    assert take_turn(search, {"g": ERROR}) == 1 and search.statistics.tactics_tried == 12
    assert search.statistics.simulations == 8


def test_an_outcome_that_one_search_knows_is_not_asked_for_again() -> None:
    search = turns()
    take_turn(search, {"a": goals("s1"), "bad": ERROR, "back": goals("s0")})
    second = search.select()
    assert second is not None and second.turn == 1 and second.tried == {"a", "bad", "back"}
    proposals = [Proposal(tactic, 1.0) for tactic in ("back", "bad", "a", "new")]
    assert search.feed(second, proposals, -2.0, {"new": ERROR})
    assert [action.tactic for action in search.searches[1].tree.root.actions] == ["a"]
    statistics = search.statistics
    assert (statistics.tactics_tried, statistics.tactics_failed) == (4, 2)


def test_what_closes_a_state_in_one_search_closes_it_in_the_others() -> None:
    search = turns()
    take_turn(search, {"a": goals("s1", "s2")})
    take_turn(search, {"b": goals("s1", "s3"), "no": ERROR, "nor": ERROR})
    take_turn(search, {"close": PROVED})  # one branch of the first search's tactic
    closed = next(node for node in search.searches[0].tree.nodes if node.steps)
    sent = search.statistics.tactics_tried
    order = [take_turn(search, {}) for _ in range(5)]
    assert order == [0, 0, 1, 0, 1], "they take turns, though nothing is sent"
    assert search.statistics.tactics_tried == sent
    assert [node.state for node in search.searches[1].tree.nodes if node.steps] == [closed.state]
    assert not search.solved


def test_a_proof_says_after_how_many_tactics_of_all_it_was_known_and_may_be_refused() -> None:
    search = turns()
    take_turn(search, {"a": goals("s1"), "b": ERROR})
    take_turn(search, {"b": ERROR, "c": ERROR, "close": PROVED, "late": PROVED})
    assert search.solved and search.finished and search.select() is None
    assert search.statistics.solved_at_simulations == 2
    assert search.statistics.solved_at_tactics == 2 + 2  # `b` was known
    proof = search.proof()
    assert proof.tactic == "close"
    search.reject(proof)
    assert search.statistics.proofs_rejected == 1 and search.proof().tactic == "late"
    search.reject(search.proof())
    assert not search.solved and search.statistics.solved_at_tactics == 0 and search.select() is not None


class Chain:
    """A theorem that `close` proves where `step` has been taken so often."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.sent: list[str] = []

    async def open(self) -> str:
        return "0"

    async def run(self, path: tuple[Step, ...], tactics: Sequence[str]) -> dict[str, Outcome]:
        self.sent += tactics
        steps = {"step": goals(f"{len(path) + 1}"), "close": PROVED if len(path) == self.length else ERROR}
        return {tactic: steps.get(tactic, ERROR) for tactic in tactics}


@pytest.mark.parametrize("deep_first", [True, False])
async def test_a_long_list_beside_a_narrow_policy_does_not_keep_it_from_going_deep(deep_first: bool) -> None:
    narrow = Player(Says("step", "close"), has_values=True)
    broad = Player(Says(*(f"t{number}" for number in range(20)), "step", "close", exhausted=True))
    lean = Chain(8)
    policy = ByTurns((narrow, broad) if deep_first else (broad, narrow))
    result = await Agent(attempt(0, samples=2, lean_attempts=100), policy, lean, Playing("p", leaves=1)).play()
    assert result.outcome is AttemptOutcome.PROVED
    assert result.statistics.lean_attempts == len(lean.sent) <= 100
    alone = await Agent(attempt(0, samples=2, lean_attempts=100), broad.policy, Chain(8), Playing("p", leaves=1)).play()
    assert alone.outcome is AttemptOutcome.FAILED
