"""Attempts that try every sample: counted as a plain loop over the same samples counts them."""

from __future__ import annotations

import random

import pytest

from common.lean import ProofTree
from common.protocol.attempts import (
    AttemptOutcome,
    AttemptResult,
    Ended,
    Method,
    Parts,
    ResultPart,
    SampledProof,
    divide,
)
from common.protocol.messages import decode, encode
from node.prover import whole_proof
from node.prover.agent import Playing
from node.prover.player import agent_of
from node.prover.policies.policy import NoTactics
from tests.node.prover.whole import Lean, Listed, attempt, play

TEXTS = ("good 1", "good 2", "  good 1 -- again", "bad 1", "bad 2", "half", "", "sorry", "hang 1")
PROOFS = ("good 1", "good 2")


async def played(source: Listed, lean: Lean | None = None, **changes: object) -> AttemptResult:
    wanted = attempt(**{"every_proof": True, **changes})
    return await agent_of(wanted, NoTactics(), source, lean or Lean(PROOFS), Playing("p", leaves=1)).play()


def counted(texts: list[str]) -> tuple[SampledProof, ...]:
    """By a plain loop over the samples."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts, 1):
        script = text.partition("--")[0].strip()
        if script in PROOFS:
            found.setdefault(script, []).append(number)
    return tuple(SampledProof(script, count=len(at), first=at[0]) for script, at in found.items())


@pytest.mark.parametrize("seed", range(20))
async def test_every_sample_is_tried_once_and_the_counts_are_those_of_a_plain_loop(seed: int) -> None:
    rng = random.Random(seed)
    texts = rng.choices(TEXTS, k=rng.randint(1, 40))
    lean = Lean(PROOFS)
    result = await played(Listed(*texts, jitter=seed), lean, simulations=len(texts), samples=rng.randint(1, 9))
    expected, statistics = counted(texts), result.statistics
    assert result.proofs == expected
    assert result.outcome == (AttemptOutcome.PROVED if expected else AttemptOutcome.FAILED)
    assert statistics.correct == sum(each.count for each in expected)
    assert (statistics.simulations, statistics.ended) == (len(texts), Ended.SIMULATIONS)
    assert statistics.solved_at_simulations == (expected[0].first if expected else 0)
    assert result.proof == (ProofTree(expected[0].script, state="⊢ t") if expected else None)
    assert len(lean.ran) == len(set(lean.ran)) == statistics.lean_attempts
    assert statistics.without_proof == texts.count("") + texts.count("sorry")
    assert statistics.tactics_tried - statistics.tactics_failed == len(expected)


async def test_a_source_that_ends_and_what_infrastructure_loses_are_told_beside_the_proofs() -> None:
    few = await played(Listed("good 1", "bad 1"), simulations=30)
    assert few.outcome is AttemptOutcome.PROVED
    assert (few.statistics.ended, few.statistics.simulations) == (Ended.EXHAUSTED, 2)
    lost = await played(Listed("good 1", "lost 1", "bad 1"), simulations=3)
    assert (lost.outcome, lost.statistics.expansions_lost) == (AttemptOutcome.PROVED, 1)
    nothing = await played(Listed("lost 1", "bad 1", "bad 2"), simulations=3)
    assert (nothing.outcome, nothing.proofs) == (AttemptOutcome.UNDECIDED, ())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"verify": True}, "cannot be combined with verify"),
        ({"correct": 1, "then": "mcts"}, "cannot be combined with correct and then"),
        ({"method": Method.MCTS}, "needs the method whole-proof, and the attempt has mcts"),
    ],
)
async def test_what_does_not_go_with_it_is_an_error_that_says_so(changes: dict[str, object], words: str) -> None:
    source = Listed(*PROOFS)
    result = await played(source, **changes)  # type: ignore[arg-type]
    assert (result.outcome, result.proofs, source.asked) == (AttemptOutcome.ERROR, (), [])
    assert words in result.message


async def test_proofs_that_have_no_room_are_counted_and_the_others_travel(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"good {number} {'x' * 4_000}" for number in range(200)]
    result = await played(Listed(*texts), Lean(texts), simulations=200, samples=32)
    pieces = divide(result)
    assert len(pieces) > 1
    parts = Parts()
    assert [parts.add(decode(encode(piece), ResultPart)) for piece in pieces][-1] == result
    assert len(result.proofs) == 200
    monkeypatch.setattr(whole_proof, "MOST_BYTES", 20_100)
    short = await played(Listed(*texts), Lean(texts), simulations=200, samples=32)
    assert short.proofs == result.proofs[:5] and short.statistics.correct == 200


async def test_other_attempts_end_with_the_first_proof_as_before() -> None:
    result = await play(Listed("bad 1", "good 1", "good 2"), Lean(PROOFS))
    assert (result.proofs, result.statistics.correct, result.statistics.simulations) == ((), 0, 2)
