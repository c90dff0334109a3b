"""The contract of `Attempts` on a mesh, and that both places say the same."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from common.bus import Bus
from common.protocol.attempts import Method
from tests.node.play.contract import *  # noqa: F403
from tests.node.play.contract import FALSE, SWAP, TWO, Place, attempt, here, on_a_mesh, told

pytestmark = pytest.mark.lean


@pytest.fixture(name="place")
def mesh(bus: Bus, lean_proxy: object) -> Place:
    return partial(on_a_mesh, bus)


async def test_the_same_attempts_come_out_the_same_here_and_on_a_mesh(place: Place, policy: str) -> None:
    searches = [
        attempt(theorem, attempt_id=f"{theorem.name}-{method}-{explore}", method=method, explore=explore)
        for theorem in (SWAP, TWO, FALSE)
        for method, explore in ((Method.MCTS, 0), (Method.MCTS, 2), (Method.BEST_FIRST, 0), (Method.RANDOM, 0))
    ]
    whole = {"method": Method.WHOLE_PROOF, "simulations": 24, "samples": 7, "policy": ""}
    proofs = [
        attempt(each, every_proof=every, attempt_id=f"{each.name}-{every}", **whole)
        for each in (SWAP, TWO, FALSE)
        for every in (False, True)
    ]
    found: list[dict[str, object]] = []
    for playing in (here, place):
        async with playing(policy) as attempts, asyncio.timeout(120):
            results = [each async for each in attempts.results(searches)]
        async with playing(policy.partition("+")[2]) as attempts, asyncio.timeout(120):
            results += [each async for each in attempts.results(proofs)]
        found.append({each.attempt_id: told(each) for each in results})
    assert found[0] == found[1] and len(found[0]) == len(searches) + len(proofs)
