"""A program with the mesh's password that answers requests for verdicts, for tests of what it cannot do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from nats.aio.msg import Msg

from common.bus.connection import _OrderedClient
from common.protocol.messages import Message, encode
from common.protocol.subjects import LEAN_VERIFY
from common.settings import BusSettings

Reply = tuple[Message, dict[str, str]]
"""A reply and its headers."""


@asynccontextmanager
async def forging(broker: BusSettings, run_name: str, *replies: Reply) -> AsyncIterator[asyncio.Event]:
    """Answers each request for a verdict with all of these, at once. The event is set after the first request."""
    client, answered = _OrderedClient(), asyncio.Event()
    await client.connect(broker.url)

    async def answer(request: Msg) -> None:
        for reply, headers in replies:
            await client.publish(request.reply, encode(reply), headers=headers or None)
        await client.flush()
        answered.set()

    await client.subscribe(f"{run_name}.{LEAN_VERIFY}", cb=answer)  # without a queue group: it hears all of them
    await client.flush()
    yield answered
    await client.close()
