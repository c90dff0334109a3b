"""A node for `test_node.py`, run as a program: `python node_program.py KIND URL RUN`."""

import asyncio
import sys
import time
from itertools import count

from common.life.node import NodeContext, NodeSettings, run_node
from common.protocol.messages import PauseAcknowledged, PauseRequest
from common.settings import BusSettings
from common.watch.spans import Trace


async def serve(ctx: NodeContext) -> None:
    """Serve, report, and drain: requests that run when the signal arrives are answered."""

    async def handler(request: PauseRequest) -> PauseAcknowledged:
        ctx.log.info("at work", epoch=request.epoch)
        await asyncio.sleep(request.seconds)
        return PauseAcknowledged(epoch=request.epoch, node_id=ctx.id)

    served = await ctx.bus.serve("ctl.test", PauseRequest, handler, queue="q", limit=4)
    ctx.report(searches=3)
    ctx.state = "phase-one"
    ctx.metrics.counter("test_things", "Things").inc(7)
    await ctx.stopping.wait()
    await served.drain(10)


async def tell(ctx: NodeContext) -> None:
    """Log and make spans, and write down each number just before."""
    trace = Trace("a-1", ctx.spans.add)
    for number in count():
        print(number, time.time(), flush=True)
        ctx.log.info(f"number {number}")
        trace.span(f"number {number}", 0.0, 0.0)
        await asyncio.sleep(0.01)


async def ignore(ctx: NodeContext) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    kind, url, run = sys.argv[1:]
    main = {"serve": serve, "ignore": ignore, "tell": tell}[kind]
    sys.exit(run_node("tester", NodeSettings(run=run, bus=BusSettings(url=url)), main, capacity={"searches": 8}))
