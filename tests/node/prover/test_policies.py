"""Policies of a mesh: their names, several of them as one, and what predicted steps and exploration add."""

from dataclasses import replace

import pytest

from common.bus import BusError
from common.lean import TacticRule
from node.llm.address import parse_hub_address
from node.prover.policies.combined import EXPLORED_SHARE, ExploringPolicy, MixturePolicy, Part, RuledPolicy, explored
from node.prover.policies.fixed import candidates
from node.prover.policies.goal_tactics import read_goal
from node.prover.policies.names import INFERENCE, OWN, BadPolicy, joined, parse
from node.prover.policies.policy import Advice, BadAdvice, Proposal, StateTooLong


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
    assert joined(parse(text, network)) == again
    assert parse(again, network) == parse(text, network)


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
    """A policy that says the same about every state."""

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
    masses = [proposal.mass for proposal in proposals]
    assert sum(masses[2:]) / sum(masses) == pytest.approx(EXPLORED_SHARE) and len(set(masses[2:])) == 1
    assert {each.tactic for each in explored(SAMPLED, BOTH, 1000, seed=1)} == {*everything, "exact hp"}
    assert all(proposal.mass > 0 for proposal in explored([], BOTH, 3, seed=1))


async def test_exploration_keeps_value_and_weights_and_a_rule_keeps_refused_tactics_from_every_policy() -> None:
    advice = await ExploringPolicy(Sampler(), 4).advise(BOTH, 6, seed=3)
    assert (advice.value, advice.weights, advice.exhausted, len(advice.proposals)) == (-2.5, 4, False, 6)
    rule = TacticRule(allow=("exact", "assumption"))
    advice = await RuledPolicy(ExploringPolicy(Sampler(), 1000, rule), rule).advise(BOTH, 6, seed=3)
    assert {proposal.tactic for proposal in advice.proposals} == {"exact hp", "assumption"}
    assert (advice.value, advice.weights) == (-2.5, 4)
