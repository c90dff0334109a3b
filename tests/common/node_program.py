"""A node for `test_node.py`, run as a program: `python node_program.py KIND URL RUN`."""

from __future__ import annotations

import asyncio
import sys

from common.life.node import NodeContext, NodeSettings, run_node
from common.protocol.messages import PauseAcknowledged, PauseRequest
from common.settings import BusSettings


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


async def ignore(ctx: NodeContext) -> None:
    await asyncio.Event().wait()


if __name__ == "__main__":
    kind, url, run = sys.argv[1:]
    main = {"serve": serve, "ignore": ignore}[kind]
    sys.exit(run_node("tester", NodeSettings(run=run, bus=BusSettings(url=url)), main, capacity={"searches": 8}))
