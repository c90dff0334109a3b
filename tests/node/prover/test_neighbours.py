"""Tactics by nearest neighbours among proved states: order, names, K, sources."""

import json
from pathlib import Path

import pytest

from common.lean import TacticRule
from node.prover.policies.fixed import NeighbourTactics, advise, contents
from node.prover.policies.names import BadPolicy, PolicyName
from node.retrieval.neighbours import ProvedStates, carried_over, form_of, types_of

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
