"""A node for `test_node.py`, run as a program: `python node_program.py KIND URL RUN [PORT]`."""

from __future__ import annotations

import asyncio
import sys
import time

from common.life.node import NodeContext, NodeFailure, NodeSettings, run_node
from common.protocol.messages import PauseAcknowledged, PauseRequest
from common.settings import BusSettings

KIND, URL, RUN = sys.argv[1:4]
PORT = int(sys.argv[4]) if len(sys.argv) > 4 else 0


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


async def crash(ctx: NodeContext) -> None:
    raise ZeroDivisionError("main is broken")


async def crash_beside(ctx: NodeContext) -> None:
    async def broken() -> None:
        raise ZeroDivisionError("a task is broken")

    ctx.spawn(broken(), "broken")
    await ctx.stopping.wait()


async def fail(ctx: NodeContext) -> None:
    raise NodeFailure("no checkpoint in runs/x; start with warm-start")


async def leave(ctx: NodeContext) -> None:
    raise SystemExit("port 5 is in use; choose another")


async def done(ctx: NodeContext) -> None:
    ctx.log.info("nothing to do")


async def sick(ctx: NodeContext) -> None:
    ctx.health("pool", "no Lean worker starts")
    await ctx.stopping.wait()


async def ignore(ctx: NodeContext) -> None:
    await asyncio.Event().wait()


async def block(ctx: NodeContext) -> None:
    time.sleep(1.2)  # noqa: ASYNC251 - what the lag gauge is for
    await ctx.stopping.wait()


if __name__ == "__main__":
    settings = NodeSettings(run=RUN, bus=BusSettings(url=URL), metrics_port=PORT)
    sys.exit(run_node("tester", settings, globals()[KIND], capacity={"searches": 8}))
