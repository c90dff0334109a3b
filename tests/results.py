"""Results of attempts, as a learner would take them."""

import asyncio

from common.bus import Bus
from common.protocol.attempts import AttemptResult


async def results(bus: Bus, count: int, timeout: float = 20.0) -> list[AttemptResult]:
    """The next `count` results, acknowledged."""
    found: list[AttemptResult] = []
    async with asyncio.timeout(timeout):
        while len(found) < count:
            for lease in await bus.lease("results-learner", AttemptResult, limit=count, wait=0.2):
                found.append(lease.message)
                await lease.ack()
    return found
