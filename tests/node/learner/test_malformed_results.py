"""Results that no prover of ours would send: rejected or refused, and the learner goes on."""

from __future__ import annotations

import math

import msgspec
import pytest

from common.bus import Bus
from common.lean import ProofTree
from common.protocol.attempts import AttemptResult, AttemptStatistics
from common.protocol.messages import MalformedMessage, decode, encode
from node.learner.run import Run
from tests.node.learner.builders import planned, result
from tests.node.learner.works import PROOF, claim, collecting, dispatch, drained, outcomes, send
from tests.waiting import until


def nested(depth: int, proof: ProofTree) -> ProofTree:
    for _ in range(depth):
        proof = ProofTree("skip", ((0,),), (proof,))
    return proof


async def test_proof_trees_that_cannot_be_written_down_are_rejected(run: Run, bus: Bus) -> None:
    trees = {
        "does not fit": ProofTree("constructor", ((0,), (1,)), (ProofTree("rfl"),)),
        "two branches with several goals": ProofTree("x", ((0, 1), (2, 3)), (ProofTree("a"), ProofTree("b"))),
        "no proof tree": None,
    }
    attempts = await dispatch(run, len(trees) + 1)
    honest = ProofTree("rfl")
    claims = [
        msgspec.structs.replace(claim(attempt, honest), proof=tree)
        for attempt, tree in zip(attempts, trees.values(), strict=False)
    ]
    bad_tree_of_a_failure = msgspec.structs.replace(result(attempts[-1], "failed"), proof=nested(450, ProofTree("rfl")))
    async with collecting(run):
        await send(bus, *claims, bad_tree_of_a_failure)
        await until(lambda: drained(bus), what="the end of the results")
    assert run.ctx.crash is None
    found = outcomes(run)
    for attempt, words in zip(attempts, trees, strict=False):
        outcome, message = found[attempt.attempt_id]
        assert outcome == "rejected" and words in message, message
    assert found[attempts[-1].attempt_id][0] == "failed"


async def test_a_deep_proof_is_verified_and_recorded(run: Run, bus: Bus, lean_proxy: object) -> None:
    (attempt,) = await dispatch(run, 1)
    async with collecting(run):
        await send(bus, claim(attempt, nested(450, PROOF)))
        await until(lambda: drained(bus), what="the end of the results")
    outcome, message = outcomes(run)[attempt.attempt_id]
    assert outcome == "proved", message


@pytest.mark.parametrize(
    "changes",
    [
        {"statistics": AttemptStatistics(seconds=math.nan)},
        {"statistics": AttemptStatistics(simulations=2**63)},
        {"statistics": AttemptStatistics(nodes=-1)},
        {"statistics": AttemptStatistics(expansions_lost=-1)},
        {"outcome": "won"},
        {"purpose": "no such"},
    ],
)
def test_numbers_that_no_record_could_hold_make_a_message_malformed(changes: dict[str, object]) -> None:
    whole = result(planned(1).attempt)
    assert decode(encode(whole), AttemptResult) == whole
    with pytest.raises(MalformedMessage, match=r"AttemptResult: (Expected|Invalid)"):
        decode(encode(msgspec.structs.replace(whole, **changes)), AttemptResult)
