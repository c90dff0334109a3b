"""Requests at work: held for a while, asked for again, joined, given up. No broker, and a clock of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from common.protocol.messages import Busy, Message, SampleReply, SampleRequest, SampleWait, TextSample
from node.inference.models import SampleDesk
from tests.waiting import eventually


@dataclass
class Model:
    """Answers when it is let go."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0
    ended: int = 0

    async def sample(self, request: SampleRequest) -> Message:
        self.begun += 1
        try:
            await self.go.wait()
        finally:
            self.ended += 1
        return SampleReply(samples=(TextSample(request.text),))


@asynccontextmanager
async def desk(model: Model, *, limit: int = 2, hold: float = 0.01, keep: float = 60.0) -> AsyncIterator[SampleDesk]:
    made = SampleDesk(model.sample, "node-1", limit=limit, connected=lambda: True, hold=hold, keep=keep)
    try:
        yield made
    finally:
        await made.drain(0.0)


def request(number: int) -> SampleRequest:
    return SampleRequest(request_id=str(number), model="m", text=f"text {number}")


async def test_work_that_takes_long_is_fetched_later_and_done_once() -> None:
    model = Model()
    async with desk(model) as made:
        assert await made.take(request(1)) == SampleReply(at_work="node-1")
        assert await made.take(request(1)) == SampleReply(at_work="node-1")  # sent again: the answer was lost
        assert await made.wait(SampleWait(request_id="1")) == SampleReply(at_work="node-1")
        assert (model.begun, made.at_work) == (1, 1)
        model.go.set()
        await eventually(lambda: made.at_work == 0)
        for _ in range(2):
            answer = await made.wait(SampleWait(request_id="1"))
            assert isinstance(answer, SampleReply) and answer.samples[0].text == "text 1"
        assert model.begun == 1
        unknown = await made.wait(SampleWait(request_id="2"))
        assert isinstance(unknown, Busy) and unknown.reason == "not at work here"


async def test_work_that_nobody_asks_for_is_given_up() -> None:
    model = Model()
    async with desk(model, hold=0.001, keep=0.01) as made:
        await made.take(request(1))
        await eventually(lambda: model.ended == 1)
        assert made.at_work == 0 and isinstance(await made.wait(SampleWait(request_id="1")), Busy)


async def test_at_the_end_short_work_is_answered_and_long_work_sent_elsewhere() -> None:
    model = Model()
    async with desk(model, hold=60.0) as made:
        waiting = asyncio.create_task(made.take(request(1)))
        await eventually(lambda: made.at_work == 1)
        model.go.set()
        await made.drain(60.0)
        answer = await waiting
        assert isinstance(answer, SampleReply) and answer.samples
        model.go.clear()
        late = asyncio.create_task(made.take(request(2)))
        await eventually(lambda: made.at_work == 1)
        await made.drain(0.0)
        sent_away = await late
        assert isinstance(sent_away, Busy) and sent_away.reason == "the node ends"
