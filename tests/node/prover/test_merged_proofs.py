"""Proofs through states that were merged up to names and order: written with the names of each place."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import Branch, Outcome, OutcomeKind, ProofTree, Step
from common.proofs import transitions_of
from common.seeds import derive_seed
from node.lean.text.canonical import Merging
from node.prover.policies.goal_tactics import operands
from node.prover.policies.policy import Proposal
from node.prover.search.methods import METHODS, ProofSearch, begin
from node.prover.search.parameters import SearchParameters
from node.prover.search.proofs import actions_of
from node.prover.search.search import Search
from node.prover.search.simulation import Leaf
from node.prover.search.tree import ancestors
from tests.node.prover.toys import ERROR, PROVED, check_marks, expand, goals

SEARCHES = settings(max_examples=10, deadline=None, derandomize=True)
every_method = pytest.mark.parametrize("method", METHODS)

ROOT = "p q : Prop\n⊢ p ∧ q ↔ q ∧ p"
FIRST = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
SECOND = "p q : Prop\nk : q ∧ p\n⊢ p ∧ q"
TWO = ((0,), (1,))


def both_ways() -> Search:
    """The second direction is the first one with other names; that one is proved."""
    search = Search(ROOT)
    expand(search, -5.0, {"constructor <;> intro x": goals(FIRST, SECOND)})
    left = "p q : Prop\nh : p ∧ q\na : p\nb : q\n⊢ q ∧ p"
    expand(search, -5.0, {"have ⟨a, b⟩ := h": goals(left)})
    expand(search, -5.0, {"exact ⟨b, a⟩": PROVED})
    return search


def test_a_state_of_other_names_is_the_same_node_and_its_proof_is_renamed() -> None:
    search = both_ways()
    assert (len(search.tree.nodes), search.tree.merged) == (3, 1)
    (action,) = search.tree.root.actions
    assert action.children[0] is action.children[1] is search.tree.nodes[1]
    first, second = search.proof().children
    assert (first.tactic, first.children[0].tactic) == ("have ⟨a, b⟩ := h", "exact ⟨b, a⟩")
    assert (second.tactic, second.children[0].tactic) == ("have ⟨a, b⟩ := k", "exact ⟨b, a⟩")
    assert first.state == FIRST
    assert second.state == "q p : Prop\nk : q ∧ p\n⊢ p ∧ q", "what was run, with the names of the place"
    assert second.children[0].state == "q p : Prop\nk : q ∧ p\na : q\nb : p\n⊢ p ∧ q"
    assert len(transitions_of(search.proof())) == 5


def test_the_path_of_a_merged_state_has_the_names_of_the_way_that_was_first() -> None:
    search = Search("⊢ p → p")
    expand(search, -5.0, {"intro h": goals("h : p\n⊢ p"), "intro x": goals("x : p\n⊢ p")})
    (action,) = search.tree.root.actions
    assert action.mass == 2.0, "one move, however the hypothesis is called"
    request = search.select()
    assert request is not None
    assert (request.state, request.path) == ("h : p\n⊢ p", (Step("intro h"),))


def test_a_name_that_is_taken_at_the_place_becomes_another_one() -> None:
    search = Search("⊢ r")
    expand(search, -5.0, {"cases": goals("x : T\n⊢ P x → P x", "a : T\n⊢ P a → P a")})
    expand(search, -5.0, {"intro a": goals("x : T\na : P x\n⊢ P x")})
    expand(search, -5.0, {"exact a": PROVED})
    first, second = search.proof().children
    assert (first.tactic, first.children[0].tactic) == ("intro a", "exact a")
    assert (second.tactic, second.children[0].tactic) == ("intro a_1", "exact a_1")
    assert second.children[0].state == "a : T\na_1 : P a\n⊢ P a"


def test_what_is_no_name_of_the_context_is_not_renamed() -> None:
    search = Search("⊢ r")
    expand(search, -5.0, {"cases": goals("h n : T\n⊢ P h n", "g m : T\n⊢ P g m")})
    tactic = 'case h => exact foo (n := n) h.n .h ?h "h" Nat.h h\' hh -- h'
    expand(search, -5.0, {tactic: PROVED})
    _, second = search.proof().children
    assert second.tactic == 'case h => exact foo (n := m) g.n .h ?h "h" Nat.h h\' hh -- h'


def test_a_state_where_a_bound_variable_is_in_the_way_is_left_out() -> None:
    search = Search("⊢ r")
    expand(search, -5.0, {"cases": goals("y : T\n⊢ ∀ x, R x y", "x : T\n⊢ ∀ z, R z x")})
    expand(search, -5.0, {"exact all y": PROVED})
    first, second = search.proof().children
    assert (second.tactic, second.state, first.state) == ("exact all x", "", "y : T\n⊢ ∀ x, R x y")
    assert "" not in [transition.state for transition in transitions_of(search.proof())]


def test_a_state_that_only_renames_an_ancestor_leads_back() -> None:
    search = Search("p q : Prop\nh : p ∧ q\n⊢ q")
    turned = "q p : Prop\nk : q ∧ p\n⊢ p"
    expand(search, -5.0, {"turn": goals(turned), "left": goals("p q : Prop\na : p\nb : q\n⊢ q")})
    assert [action.tactic for action in search.tree.root.actions] == ["left"]
    assert search.statistics.tactics_useless == 1


def refused_once() -> Search:
    search = both_ways()
    search.reject(search.proof())
    return search


def test_after_a_refusal_the_merges_of_the_proof_are_undone_and_nothing_is_forbidden() -> None:
    search = refused_once()
    (action,) = search.tree.root.actions
    first, second = action.children
    assert not search.solved and not action.forbidden and not action.aliases
    assert (first.steps, second.steps, second.state, second.depth) == (2, None, SECOND, 1)
    assert second.path == (Step("constructor <;> intro x", 1, TWO),)
    check_marks(search)
    assert expand(search, -5.0, {"exact ⟨k.2, k.1⟩": PROVED}) == SECOND
    assert search.proof().children[1] == ProofTree("exact ⟨k.2, k.1⟩", state=SECOND)


def test_once_undone_a_refusal_forbids_a_tactic_as_ever() -> None:
    search = refused_once()
    expand(search, -5.0, {"wrong": PROVED})
    proof = search.proof()
    search.reject(proof)
    assert not search.solved and search.statistics.proofs_rejected == 2
    assert [tactic for node in search.tree.nodes for tactic, action in node.tried.items() if action is None] == [
        "exact ⟨b, a⟩"  # closes its state, and is the deepest
    ]
    with pytest.raises(ValueError, match="not a proof of this search"):
        search.reject(proof)


# --- a toy Lean: propositions of ∧ and → with named hypotheses, so that states differ in names and order alone -------
POOL = ("a", "b", "h", "k")
"""Names that tactics bring in."""

ATOMS = "p q r : Prop"

Context = list[tuple[str, str]]
"""Hypotheses, oldest first: name, proposition."""


def text_of(context: Context, goal: str) -> str:
    """As Lean prints it: of equal names only the last can be written, of equal neighbours one line is made."""
    shown: list[tuple[list[str], str]] = []
    for place, (name, proposition) in enumerate(context):
        later = sum(other == name for other, _ in context[place + 1 :])
        sign = "✝" * (later > 0) + ("¹²³⁴⁵⁶⁷⁸⁹"[later - 2] if later > 1 else "")
        if shown and shown[-1][1] == proposition:
            shown[-1][0].append(name + sign)
        else:
            shown.append(([name + sign], proposition))
    return "\n".join([ATOMS, *(f"{' '.join(names)} : {proposition}" for names, proposition in shown), f"⊢ {goal}"])


def read(state: str) -> tuple[Context, str]:
    _, *lines, goal = state.split("\n")
    pairs = [line.split(" : ") for line in lines]
    return [(name, proposition) for names, proposition in pairs for name in names.split()], goal.removeprefix("⊢ ")


def run(state: str, tactic: str) -> Outcome:
    """What a tactic does."""
    context, goal = read(state)
    known = {name: proposition for name, proposition in context if "✝" not in name}
    plain = [(re.sub("✝.?", "", name), proposition) for name, proposition in context]
    word, *names = re.findall(r"[\w']+", tactic)
    if word == "intro" and len(sides := operands(goal, "→")) > 1:
        return left(([*plain, (names[0], bare(sides[0]))], " → ".join(sides[1:])))
    if word in ("exact", "quoted") and known.get(names[0]) == goal:
        return PROVED
    if word == "assumption" and goal in [proposition for _, proposition in context]:
        return PROVED
    if word == "constructor" and len(sides := operands(goal, "∧")) > 1:
        return left((plain, bare(sides[0])), (plain, bare(" ∧ ".join(sides[1:]))))
    if word == "obtain" and len(sides := operands(known.get(names[2], ""), "∧")) > 1:
        rest = [
            (name, proposition)
            for (name, proposition), (full, _) in zip(plain, context, strict=True)
            if full != names[2]
        ]
        return left(([*rest, (names[0], bare(sides[0])), (names[1], bare(" ∧ ".join(sides[1:])))], goal))
    if word == "apply" and len(sides := operands(known.get(names[0], ""), "→")) == 2 and bare(sides[1]) == goal:
        return left((plain, bare(sides[0])))
    if word == "swap" and len(plain) > 1:
        return left(([*plain[:-2], plain[-1], plain[-2]], goal))
    if word == "rename_i" and (hidden := [place for place, (name, _) in enumerate(context) if "✝" in name]):
        plain[hidden[-1]] = (names[0], plain[hidden[-1]][1])
        return left((plain, goal))
    return ERROR


def left(*goals: tuple[Context, str]) -> Outcome:
    branches = tuple(Branch(text_of(context, bare(goal)), (index,)) for index, (context, goal) in enumerate(goals))
    return Outcome(OutcomeKind.GOALS, branches)


def bare(proposition: str) -> str:
    """Without brackets around all of it."""
    inner = proposition[1:-1]
    if proposition.startswith("(") and proposition.endswith(")") and inner.find(")") >= inner.find("("):
        return inner
    return proposition


def statement(seed: int) -> str:
    """A state to be proved: two implications that may be the same with other letters, under a common premise."""

    def draw(*key: int | str) -> int:
        return derive_seed(seed, *key) % 1000

    first, second = ((draw(part, 0) % 3, 1 + draw(part, 1) % 2) for part in range(2))
    way = draw(2) % 4

    def implication(start: int, step: int) -> str:
        x, y, z = ("pqr"[(start + step * turn) % 3] for turn in range(3))
        ways = (
            f"({x} ∧ {y}) → ({y} ∧ {x})",
            f"({x} → {y}) → ({x} ∧ {z}) → ({y} ∧ {z})",
            f"({x} ∧ ({y} ∧ {z})) → ({z} ∧ {x})",
            f"({x} → {y}) → ({y} → {z}) → {x} → {z}",
        )
        return f"({ways[way]})"

    return f"{ATOMS}\n⊢ {'pqr'[draw(3) % 3]} → ({implication(*first)} ∧ {implication(*second)})"


def tactics(request: Leaf, seed: int, *, quoted: bool) -> list[str]:
    """All tactics for a state; what they bring in is called as the seed will have it."""
    context, _ = read(request.state)
    known = [name for name, _ in context if "✝" not in name]

    def new(key: str) -> str:
        return POOL[derive_seed(seed, request.state, key) % len(POOL)]

    exact = [f'quoted "{name}"' if quoted else f"exact {name}" for name in known]
    take = [f"obtain ⟨{new(f'{name} 0')}, {new(f'{name} 1')}'⟩ := {name}" for name in known]
    return [f"intro {new('0')}", f"intro {new('1')}", "constructor", "swap", f"rename_i {new('2')}", *exact, *take] + [
        f"apply {name}" for name in known
    ]


def play(search: ProofSearch, *, seed: int, simulations: int, quoted: bool = False) -> None:
    """Simulations until the search is solved, exhausted or out of budget."""
    while not search.finished and search.statistics.simulations < simulations:
        request = search.select()
        if request is None:
            break
        proposals = [Proposal(tactic, 1.0) for tactic in dict.fromkeys(tactics(request, seed, quoted=quoted))]
        outcomes = {each.tactic: run(request.state, each.tactic) for each in proposals}
        search.feed(request, proposals, -5.0, outcomes, exhausted=True)


def replays(proof: ProofTree, state: str) -> bool:
    """Does the proof, as it is written, close the state?"""
    outcome = run(state, proof.tactic)
    return outcome.kind in (OutcomeKind.PROVED, OutcomeKind.GOALS) and (
        outcome.layout == proof.layout
        and len(outcome.branches) == len(proof.children)
        and all(replays(child, branch.state) for child, branch in zip(proof.children, outcome.branches, strict=True))
    )


@every_method
@SEARCHES
@given(st.integers(0, 10_000))
def test_renamed_proofs_are_proofs(method: str, seed: int) -> None:
    """Every proof that a search finds, as it is written, closes the statement."""
    search = played(method, seed)
    if search.solved:
        assert replays(search.proof(), statement(seed))
    for node in search.tree.nodes:
        above = ancestors(node)
        assert all(child not in above for action in node.actions for child in action.children)
    check_marks(search)


def played(method: str, seed: int, *, quoted: bool = False, merging: Merging = "names-and-order") -> Search:
    search = begin(method, statement(seed), SearchParameters(merging=merging), seed)
    play(search, seed=seed, simulations=60, quoted=quoted)
    assert isinstance(search.tree.merged, int)
    return search  # type: ignore[return-value]


def test_the_toy_has_proofs_that_are_renamed_and_merging_makes_searches_smaller() -> None:
    renamed = 0
    sizes = {"text": 0, "names": 0, "names-and-order": 0}
    for seed in range(8):
        for merging in sizes:
            search = played("best-first", seed, merging=merging)  # type: ignore[arg-type]
            sizes[merging] += len(search.tree.nodes)
        renamed += search.solved and any(a.aliases for a in actions_of(search.tree.root, search.proof()))
    assert renamed >= 2 and sizes["names-and-order"] < sizes["names"] < sizes["text"]


@every_method
@SEARCHES
@given(st.integers(0, 10_000))
def test_a_proof_that_cannot_be_renamed_is_refused_and_found_without_merging(method: str, seed: int) -> None:
    """Here the tactics that close a state have its names in strings, which are never renamed."""
    root = statement(seed)
    search = played(method, seed, quoted=True)
    while search.solved and not replays(proof := search.proof(), root):
        assert any(action.aliases for action in actions_of(search.tree.root, proof))
        search.reject(proof)
        check_marks(search)
        play(search, seed=seed, simulations=200, quoted=True)
    assert search.finished or search.statistics.simulations >= 60
    if search.exhausted:
        assert not played(method, seed, merging="text").solved
