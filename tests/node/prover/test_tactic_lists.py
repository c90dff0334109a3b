"""The fixed tactic list, and tactics by nearest neighbours among proved states."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from common.lean import TacticRule
from node.prover.policies import goal_tactics
from node.prover.policies.fixed import CLOSING, MOST_TACTICS, NeighbourTactics, advise, candidates, contents, everything
from node.prover.policies.goal_tactics import connective, read_goal
from node.prover.policies.names import BadPolicy, PolicyName
from node.retrieval.neighbours import ProvedStates, carried_over, form_of, types_of

STATE = """\
α : Type
p q : Prop
P : α → Prop
n m✝ : Nat
h : p ∧
    q
f : ∀ (x : α), P x → q
⊢ q ∧ p"""


def test_context_is_read_with_broken_lines_and_without_inaccessible_names() -> None:
    goal = read_goal(STATE)
    assert [h.name for h in goal.hypotheses] == ["α", "p", "q", "P", "n", "h", "f"]
    assert goal.conclusion == "q ∧ p"
    assert [h.name for h in goal.proofs] == ["f", "h"]
    assert goal.proofs[1].type == "p ∧ q"


@pytest.mark.parametrize(
    ("proposition", "symbol"),
    [
        ("p ∧ q → q ∧ p", "→"),
        ("p ∨ q ↔ q ∨ p", "↔"),
        ("¬p ∨ q", "∨"),
        ("¬(p ∨ q)", "¬"),
        ("∀ (x : Nat), x = x ∧ p", "∀"),
        ("∃ x, P x → q", "∃"),
        ("(∃ x, P x) → q", "→"),
        ("p ∧ ∃ x, P x ∨ q", "∧"),
        ("a + b = b + a", "="),
        ("P x", ""),
    ],
)
def test_main_connective(proposition: str, symbol: str) -> None:
    assert connective(proposition) == symbol


@pytest.mark.parametrize(
    ("state", "tactic"),
    [
        ("p q : Prop\n⊢ p ∧ q → q ∧ p", "intro h"),
        ("p q : Prop\nh : p ∧ q\n⊢ q ∧ p", "obtain ⟨h_1, h_2⟩ := h"),
        ("p q : Prop\nh : p ∨ q\n⊢ q ∨ p", "rcases h with h_1 | h_2"),
        ("p q : Prop\nh : p\n⊢ q ∨ p", "right"),
        ("p q : Prop\nhq : p → q\nhp : p\n⊢ q", "apply hq"),
        ("p q r : Prop\nhq : p → q\nhp : p\n⊢ r", "have h := hq hp"),
        ("a b : Nat\nh : a = b\n⊢ b = a", "rw [h]"),
        ("n : Nat\n⊢ 0 + n = n", "induction n with | zero => ?_ | succ n' ih => ?_"),
        ("xs : List Nat\n⊢ xs = xs", "induction xs with | nil => ?_ | cons x xs' ih => ?_"),
        ("n : Nat\n⊢ ∃ m, m = n", "refine ⟨n, ?_⟩"),
        ("p : Prop\n⊢ p ∨ ¬p", "by_cases h : p"),
    ],
)
def test_tactics_are_filled_in_from_the_goal(state: str, tactic: str) -> None:
    assert tactic in candidates(read_goal(state))


def test_advice_is_one_round_in_order_with_a_falling_prior() -> None:
    advice = advise(STATE)
    assert advice.exhausted
    assert tuple(proposal.tactic for proposal in advice.proposals[: len(CLOSING)]) == CLOSING
    masses = [proposal.mass for proposal in advice.proposals]
    assert masses == sorted(masses, reverse=True) and masses[0] == 1.0 and masses[-1] > 0.5


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.text(alphabet="⊢ :pqh∀∃→∧∨¬()[]{}\n✝=n", max_size=60))
def test_any_text_gives_distinct_one_line_tactics(state: str) -> None:
    tactics = [proposal.tactic for proposal in advise(state).proposals]
    assert len(tactics) == len(set(tactics)) <= MOST_TACTICS
    assert all(tactic.strip() and "\n" not in tactic for tactic in tactics)


@pytest.mark.parametrize(
    ("state", "tactic"),
    [
        ("⊢ ∀ (m n : Nat), m = n → n = m", "intro m n h"),
        ("⊢ ∀ {x : Nat} (P : Nat → Prop), P x → ¬P x → False", "intro x P h h_1"),
        ("h : 0 = 0\nx : Nat\n⊢ ∀ (x : Nat), x ≠ 1", "intro x_1 h_1"),
        ("p q : Prop\n⊢ (p → q) → p → q", "intro h h_1"),
    ],
)
def test_all_that_stands_before_the_result_is_introduced_at_once(state: str, tactic: str) -> None:
    assert list(goal_tactics.introductions(read_goal(state))) == [tactic]


@pytest.mark.parametrize(
    ("conclusion", "witness"),
    [
        ("∃ k, n = 2 * k", "n / 2"),
        ("∃ k, a + b = k + k", "(a + b) / 2"),
        ("∃ k, n = m + k", "n - m"),
        ("∃ k, 3 * k = a * b", "(a * b) / 3"),
        ("∃ k, n = k", "n"),
    ],
)
def test_an_equation_says_which_number_is_wanted(conclusion: str, witness: str) -> None:
    state = read_goal(f"a b m n : Nat\n⊢ {conclusion}")
    assert witness in goal_tactics.solutions(state)
    assert f"exact ⟨{witness}, by omega⟩" in everything(state)


def test_a_rule_chooses_before_the_list_is_cut() -> None:
    relations = "\n".join(f"h{number} : ∀ (x : α), a (b x) = b x" for number in range(20))
    state = f"α : Type\na b : α → α\nx : α\n{relations}\n⊢ a (b x) = b x"
    ruled = [each.tactic for each in advise(state, rule=TacticRule(allow=("rfl", "rw"))).proposals]
    rewrites = {f"rw [{arrow}h{number}]" for number in range(17, 20) for arrow in ("", "← ")}
    assert rewrites.isdisjoint(each.tactic for each in advise(state).proposals)
    assert {"rfl", *rewrites} <= set(ruled) and all(each == "rfl" or each.startswith("rw ") for each in ruled)


# --- nearest neighbours: order, names, K, sources ---------------------------------------------------------------------
AND = "p q : Prop\nh : p ∧ q\n⊢ q ∧ p"
SUM = "n m : Nat\n⊢ n + m = m + n"
EVEN = "a b : Nat\nha : Even a\nhb : Even b\n⊢ Even (a + b)"
PROVED = ProvedStates(
    [
        (AND, "exact ⟨h.2, h.1⟩"),
        (SUM, "rw [Nat.add_comm]"),
        (SUM, "omega"),
        (EVEN, "exact ha.add hb"),
        ("f : Nat → Nat\nhf : ∀ n, f n = 0\n⊢ f 3 = 0", "rw [hf]"),
    ]
)


def test_the_most_similar_state_comes_first_and_its_tactics_get_the_names_of_the_new_one() -> None:
    assert PROVED.ordered("x y : Prop\nboth : x ∧ y\n⊢ y ∧ x", [])[:1] == ["exact ⟨both.2, both.1⟩"]
    assert PROVED.ordered("k l : Nat\n⊢ k + l = l + k", [])[:2] == ["rw [Nat.add_comm]", "omega"]
    assert PROVED.ordered("c d : Nat\nh1 : Even c\nh2 : Even d\n⊢ Even (d + c)", [])[:1] == ["exact h1.add h2"]
    # A state equal up to names has similarity 1, an unrelated one 0: nothing of it is proposed.
    assert PROVED.ordered("⊢ True", ["trivial"]) == ["trivial"]


def test_hypotheses_become_the_most_similar_ones_and_new_names_stay_new() -> None:
    there = types_of("v0 v1 : Nat\nv2 : Even v0\nv3 : v0 = v1\nv4 : Odd v1\n⊢ v0 = 2")
    here = types_of("v0 : Nat\nv1 : v0 = 3\nv2 : Even v0\n⊢ v0 = 2")
    assert carried_over("exact foo v2 v1", here, there, 5) == "exact foo v2 v3"
    assert carried_over("obtain ⟨v3, v4⟩ := v2", here, there, 5) == "obtain ⟨v5, v6⟩ := v2"
    assert carried_over("exact v4", there, here, 3) is None, "no hypothesis is like it"
    assert carried_over("rw [v2, v3]", types_of("v2 v3 : Even v0"), there, 5) is None, "there is one, not two"
    assert form_of("obtain ⟨v3, v4⟩ := v2") == "obtain ⟨_, _⟩ := _"


def test_listed_tactics_of_a_known_form_rise_and_the_others_keep_their_order() -> None:
    """Rewriting with a hypothesis was right where a function was zero: the list's rewriting with others rises, too."""
    state = "g : Nat → Nat\nk : Nat\nh0 : k = 1\nhg : ∀ n, g n = 0\n⊢ g 5 = 0"
    listed = ["simp", "decide", "rw [h0]", "rw [hg]", "omega"]
    found = PROVED.ordered(state, listed)
    assert found[:2] == ["rw [hg]", "rw [h0]"] and found[-2:] == ["simp", "decide"]
    assert len(found) == len(set(found))


async def test_advice_is_the_same_for_all_seeds_and_has_at_most_k_tactics() -> None:
    policy = NeighbourTactics(PROVED)
    advices = [await policy.advise(EVEN, samples, seed) for samples, seed in ((6, 1), (6, 2), (100, 1))]
    first, again, whole = ([each.tactic for each in advice.proposals] for advice in advices)
    assert first == again == whole[:6] and first[0] == "exact ha.add hb"
    assert {each.tactic for each in advise(EVEN).proposals} < set(whole) and advices[0].exhausted


async def test_what_a_rule_refuses_takes_no_room_among_the_k_tactics() -> None:
    policy = NeighbourTactics(PROVED).under(TacticRule(allow=("omega", "rfl")))
    advice = await policy.advise(SUM, 1, 1)
    assert [each.tactic for each in advice.proposals] == ["omega"], "the proof by rw is refused"
    # Without a rule, too: other programs' proofs may have what no candidate may be.
    sorry = NeighbourTactics(ProvedStates([(SUM, "sorry"), (SUM, "omega")]))
    assert [each.tactic for each in (await sorry.advise(SUM, 1, 1)).proposals] == ["omega"]


def test_sources_are_those_of_training_data_and_what_is_none_is_said(tmp_path: Path) -> None:
    rows = [{"theorem": "t", "state": SUM, "tactic": "omega", "remaining_steps": 1}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert contents(PolicyName("neighbours", str(tmp_path / "rows.jsonl")))[1] == "omega"
    for where, problem in ((tmp_path / "none", "no such file or folder; name"), (tmp_path, "nothing to train on")):
        with pytest.raises(BadPolicy) as error:
            contents(PolicyName("neighbours", str(where)))
        text = str(error.value)
        assert text.startswith(f"`neighbours:{where}`: ") and problem in text and "\n" not in text
