"""Several policies as one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from common.bus import BusError
from node.prover.policies.combined import MixturePolicy, Part
from node.prover.policies.policy import Advice, BadAdvice, Proposal, StateTooLong


class Says:
    """A policy that says the same about every state."""

    def __init__(self, value: float = -1.0, exhausted: bool = False, **masses: float) -> None:
        self.advice = Advice([Proposal(tactic, mass) for tactic, mass in masses.items()], value, exhausted, 3)

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        return self.advice


class Fails:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        raise self.error


async def masses(*parts: Part) -> dict[str, float]:
    advice = await MixturePolicy(parts).advise("⊢ p", 6, 0)
    return {proposal.tactic: proposal.mass for proposal in advice.proposals}


async def test_each_part_has_its_share_and_what_two_propose_adds_up() -> None:
    mixed = await masses(Part(Says(rfl=3.0, simp=1.0), 0.5), Part(Says(simp=10.0, omega=10.0), 0.5))
    assert mixed == pytest.approx({"rfl": 0.375, "simp": 0.125 + 0.25, "omega": 0.25})


async def test_each_tactic_names_the_parts_that_propose_it_also_those_of_a_mixture_within() -> None:
    inner = MixturePolicy([Part(Says(rfl=3.0, simp=1.0), name="own:net"), Part(Says(simp=1.0), name="tactics")])
    advice = await MixturePolicy([Part(inner, name="inner"), Part(Says(omega=1.0), name="hf:llama")]).advise(
        "⊢ p", 6, 0
    )
    assert {each.tactic: each.source for each in advice.proposals} == {
        "rfl": "own:net",
        "simp": "own:net+tactics",
        "omega": "hf:llama",
    }


async def test_a_part_with_share_0_gives_its_value_alone() -> None:
    parts = [Part(Says(-9.0, exhausted=True, simp=1.0)), Part(Says(-3.0, rfl=5.0), 0.0, has_values=True)]
    advice = await MixturePolicy(parts).advise("⊢ p", 6, 0)
    assert [each.tactic for each in advice.proposals] == ["simp"]
    assert (advice.value, advice.exhausted) == (-3.0, True)
    silent = MixturePolicy([Part(Fails(BadAdvice("gone"))), parts[1]])
    with pytest.raises(BadAdvice, match="gone"):  # nobody proposes tactics: not the same as having none
        await silent.advise("⊢ p", 6, 0)


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, False)])
async def test_it_is_exhausted_when_all_its_parts_are(first: bool, second: bool) -> None:
    parts = [Part(Says(exhausted=first, rfl=1.0)), Part(Says(exhausted=second, simp=1.0))]
    assert (await MixturePolicy(parts).advise("⊢ p", 6, 0)).exhausted is (first and second)


async def test_a_part_that_fails_is_left_out_unless_all_fail() -> None:
    broken = Part(Fails(BadAdvice("not a number")), has_values=True)
    advice = await MixturePolicy([broken, Part(Says(-4.0, rfl=1.0))]).advise("⊢ p", 6, 0)
    assert ([proposal.tactic for proposal in advice.proposals], advice.value) == (["rfl"], -4.0)
    with pytest.raises(BadAdvice, match="not a number"):
        await MixturePolicy([Part(Fails(BusError("nobody"))), broken]).advise("⊢ p", 6, 0)


async def test_a_state_that_one_part_cannot_read_is_left_to_the_others_also_in_a_strict_mixture() -> None:
    long = Part(Fails(StateTooLong("too long", -8.0)))
    advice = await MixturePolicy([long, Part(Says(simp=1.0))], strict=True).advise("⊢ p", 6, 0)
    assert [each.tactic for each in advice.proposals] == ["simp"]
    with pytest.raises(StateTooLong):
        await MixturePolicy([long, long], strict=True).advise("⊢ p", 6, 0)


async def test_one_part_that_fails_makes_a_strict_mixture_fail() -> None:
    parts = [Part(Fails(BadAdvice("not a number")), has_values=True), Part(Says(rfl=1.0))]
    with pytest.raises(BadAdvice, match="not a number"):
        await MixturePolicy(parts, strict=True).advise("⊢ p", 6, 0)
    whole = [Part(Says(-7.0, simp=1.0), has_values=True), Part(Says(rfl=1.0))]
    assert await MixturePolicy(whole, strict=True).advise("⊢ p", 6, 0) == await MixturePolicy(whole).advise("⊢ p", 6, 0)


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
