"""Policies of a mesh: their names, several as one, the fixed tactic list, tactics by nearest neighbours."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from common.bus import BusError
from common.lean import TacticRule
from node.llm.address import parse_hub_address
from node.prover.policies import goal_tactics
from node.prover.policies.combined import EXPLORED_SHARE, ExploringPolicy, MixturePolicy, Part, RuledPolicy, explored
from node.prover.policies.fixed import CLOSING, MOST_TACTICS, NeighbourTactics, advise, candidates, contents, everything
from node.prover.policies.goal_tactics import connective, read_goal
from node.prover.policies.names import INFERENCE, OWN, BadPolicy, PolicyName, joined, parse
from node.prover.policies.policy import Advice, BadAdvice, Proposal, StateTooLong
from node.retrieval.neighbours import ProvedStates, carried_over, form_of, types_of


@pytest.mark.parametrize(
    ("text", "network", "again"),
    [
        ("inference", INFERENCE, "inference"),
        ("fixed", INFERENCE, "tactics"),
        ("inference+fixed", INFERENCE, "inference+tactics"),
        ("tactics:a+b+inference", INFERENCE, "tactics:a+b+inference"),
        ("inference+neighbours:runs/a*0.5", INFERENCE, "inference+neighbours:runs/a*0.5"),
        (" inference+tactics:my list ", INFERENCE, "inference+tactics:my list"),
        ("own:runs/demo+tactics", OWN, "own:runs/demo+tactics"),
        ("hf:a/model+an/adapter@stp+fixed", OWN, "hf:a/model+an/adapter@stp+tactics"),
        ("hf:model*0.5+hf:model+adapter*2+tactics", OWN, "hf:model*0.5+hf:model+adapter*2+tactics"),
        ("inference, fixed", INFERENCE, "inference,tactics"),
        ("own:a,b/c+tactics*2,own:a,b/c,tactics:x,y", OWN, "own:a,b/c+tactics*2,own:a,b/c,tactics:x,y"),
    ],
)
def test_names_are_read_and_written(text: str, network: str, again: str) -> None:
    assert joined(parse(text, network)) == again and parse(again, network) == parse(text, network)


def test_a_plus_joins_an_adapter_to_its_model_and_parts_of_a_policy_to_each_other() -> None:
    first, second, third = parse("hf:a/model*0.5+hf:b/model+./tactics@stp*2+tactics:list", OWN)
    assert (first.where, first.share) == ("a/model", 0.5)
    assert (second.where, second.share) == ("b/model+./tactics@stp", 2.0)
    assert (third.kind, third.where) == ("tactics", "list")
    address = parse_hub_address(second.where)
    assert (address.model, address.adapter, address.template) == ("b/model", "./tactics", "stp")


@pytest.mark.parametrize(
    ("text", "network", "says"),
    [
        ("inferense", INFERENCE, "there is no policy `inferense`; there are `inference`, `openai:MODEL`"),
        ("own:runs/demo", INFERENCE, "proofmesh up --policy own:PATH"),
        ("inference+own:runs/demo", INFERENCE, "a mesh cannot use `own:PATH`"),
        ("inference", OWN, "name the mesh with --url"),
        ("inference:7", INFERENCE, "a mesh has one network"),
        ("tactics:", INFERENCE, "names no file"),
        ("inference+neighbours:", INFERENCE, "names no run or data with proofs; write `neighbours:RUN`"),
        ("fixed+tactics", INFERENCE, "twice"),
        ("inference,tactics+tactics", INFERENCE, "twice"),
        ("inference+tactics,tactics+inference", INFERENCE, "two searches that take turns have the same policy"),
        ("inference*0,tactics", INFERENCE, "with share 0 a network gives only its values"),
        ("inference,", INFERENCE, "there is no policy `inference,`"),
        ("", INFERENCE, "there is no policy"),
    ],
)
def test_names_that_cannot_be_had_there_are_refused(text: str, network: str, says: str) -> None:
    with pytest.raises(BadPolicy, match=says):
        parse(text, network)


# --- several policies as one ------------------------------------------------------------------------------------------
class Says:
    def __init__(self, value: float = -1.0, exhausted: bool = False, **masses: float) -> None:
        self.advice = Advice([Proposal(tactic, mass) for tactic, mass in masses.items()], value, exhausted, 3)

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        return self.advice


class Fails:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        raise self.error


async def masses(*parts: Part) -> dict[str, float]:
    advice = await MixturePolicy(parts).advise("⊢ p", 6, 0)
    return {proposal.tactic: proposal.mass for proposal in advice.proposals}


async def test_each_part_has_its_share_what_two_propose_adds_up_and_it_is_exhausted_when_all_are() -> None:
    mixed = await masses(Part(Says(rfl=3.0, simp=1.0), 0.5), Part(Says(simp=10.0, omega=10.0), 0.5))
    assert mixed == pytest.approx({"rfl": 0.375, "simp": 0.125 + 0.25, "omega": 0.25})
    for first, second in ((True, True), (True, False), (False, False)):
        parts = [Part(Says(exhausted=first, rfl=1.0)), Part(Says(exhausted=second, simp=1.0))]
        assert (await MixturePolicy(parts).advise("⊢ p", 6, 0)).exhausted is (first and second)


async def test_each_tactic_names_the_parts_that_propose_it_also_those_of_a_mixture_within() -> None:
    inner = MixturePolicy([Part(Says(rfl=3.0, simp=1.0), name="own:net"), Part(Says(simp=1.0), name="tactics")])
    outer = MixturePolicy([Part(inner, name="inner"), Part(Says(omega=1.0), name="hf:llama")])
    advice = await outer.advise("⊢ p", 6, 0)
    sources = {each.tactic: each.source for each in advice.proposals}
    assert sources == {"rfl": "own:net", "simp": "own:net+tactics", "omega": "hf:llama"}


async def test_a_part_with_share_0_gives_its_value_alone() -> None:
    parts = [Part(Says(-9.0, exhausted=True, simp=1.0)), Part(Says(-3.0, rfl=5.0), 0.0, has_values=True)]
    advice = await MixturePolicy(parts).advise("⊢ p", 6, 0)
    assert [each.tactic for each in advice.proposals] == ["simp"]
    assert (advice.value, advice.exhausted) == (-3.0, True)
    silent = MixturePolicy([Part(Fails(BadAdvice("gone"))), parts[1]])
    with pytest.raises(BadAdvice, match="gone"):  # nobody proposes tactics: not the same as having none
        await silent.advise("⊢ p", 6, 0)


async def test_a_part_that_fails_or_cannot_read_a_state_is_left_out_unless_all_do_or_the_mixture_is_strict() -> None:
    broken = Part(Fails(BadAdvice("not a number")), has_values=True)
    advice = await MixturePolicy([broken, Part(Says(-4.0, rfl=1.0))]).advise("⊢ p", 6, 0)
    assert ([proposal.tactic for proposal in advice.proposals], advice.value) == (["rfl"], -4.0)
    with pytest.raises(BadAdvice, match="not a number"):
        await MixturePolicy([Part(Fails(BusError("nobody"))), broken]).advise("⊢ p", 6, 0)
    with pytest.raises(BadAdvice, match="not a number"):
        await MixturePolicy([broken, Part(Says(rfl=1.0))], strict=True).advise("⊢ p", 6, 0)
    whole = [Part(Says(-7.0, simp=1.0), has_values=True), Part(Says(rfl=1.0))]
    assert await MixturePolicy(whole, strict=True).advise("⊢ p", 6, 0) == await MixturePolicy(whole).advise("⊢ p", 6, 0)
    long = Part(Fails(StateTooLong("too long", -8.0)))
    advice = await MixturePolicy([long, Part(Says(simp=1.0))], strict=True).advise("⊢ p", 6, 0)
    assert [each.tactic for each in advice.proposals] == ["simp"]
    with pytest.raises(StateTooLong):
        await MixturePolicy([long, long], strict=True).advise("⊢ p", 6, 0)


class Draws(Says):
    """A policy that says what it drew."""

    def __init__(self, samples: int | None, tokens: int | None, **masses: float) -> None:
        super().__init__(**masses)
        self.advice = replace(self.advice, samples=samples, tokens=tokens)


@pytest.mark.parametrize(
    ("parts", "drawn"),
    [
        ([Draws(6, 60, rfl=1.0), Draws(4, 30, simp=1.0)], (10, 90)),
        ([Draws(6, 60, rfl=1.0), Draws(None, None, rfl=1.0, simp=1.0, omega=1.0)], (9, 60)),
        ([Draws(None, None, rfl=1.0), Draws(None, None)], (1, None)),
    ],
)
async def test_what_all_parts_drew_is_counted(parts: list[Draws], drawn: tuple[int, int | None]) -> None:
    for order in (parts, parts[::-1]):
        advice = await MixturePolicy([Part(part) for part in order]).advise("⊢ p", 6, 0)
        assert (advice.samples, advice.tokens) == drawn


BOTH = "p q : Prop\nhp : p\nhq : q\n⊢ p ∧ q"
SAMPLED = [Proposal("constructor", 0.6), Proposal("exact hp", 0.2)]


class Sampler:
    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        return Advice(SAMPLED, -2.5, weights=4)


def test_explored_candidates_come_from_the_fixed_list_by_seed_and_share_their_part_of_the_prior() -> None:
    proposals = explored(SAMPLED, BOTH, 5, seed=1)
    assert proposals[:2] == SAMPLED and explored(SAMPLED, BOTH, 5, seed=1) == proposals
    added, everything = [proposal.tactic for proposal in proposals[2:]], {*candidates(read_goal(BOTH))}
    assert len(set(added)) == 5 and set(added) <= everything - {"constructor"}
    assert [each.tactic for each in explored(SAMPLED, BOTH, 5, seed=2)][2:] != added
    leads = []
    for seed in range(200):
        masses = [proposal.mass for proposal in explored(SAMPLED, BOTH, 5, seed)]
        leads.append(masses[2] > max(masses[:2] + masses[3:]))
        if not leads[-1]:
            assert sum(masses[2:]) / sum(masses) == pytest.approx(EXPLORED_SHARE)
        assert len(set(masses[3:])) == 1
    assert 0.15 < sum(leads) / 200 < 0.35, "in a quarter of the expansions one of them comes first"
    assert {each.tactic for each in explored(SAMPLED, BOTH, 1000, seed=1)} == {*everything, "exact hp"}
    assert all(proposal.mass > 0 for proposal in explored([], BOTH, 3, seed=1))


async def test_exploration_keeps_value_and_weights_and_a_rule_keeps_refused_tactics_from_every_policy() -> None:
    advice = await ExploringPolicy(Sampler(), 4).advise(BOTH, 6, seed=3)
    assert (advice.value, advice.weights, advice.exhausted, len(advice.proposals)) == (-2.5, 4, False, 6)
    rule = TacticRule(allow=("exact", "assumption"))
    advice = await RuledPolicy(ExploringPolicy(Sampler(), 1000, rule), rule).advise(BOTH, 6, seed=3)
    assert {proposal.tactic for proposal in advice.proposals} == {"exact hp", "assumption"}
    assert (advice.value, advice.weights) == (-2.5, 4)


# --- the fixed tactic list: how goals are read and what is proposed for them ------------------------------------------
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
    assert goal.conclusion == "q ∧ p" and [h.name for h in goal.proofs] == ["f", "h"]
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
    assert witness in goal_tactics.solutions(state) and f"exact ⟨{witness}, by omega⟩" in everything(state)


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
