"""Starts the broker as a node: runs nats-server, and keeps the streams of its run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from broker.settings import BrokerSettings
from common.life.node import NodeContext, NodeFailure, NodeSettings, run_node
from common.life.waiting import wait_first
from common.settings import BusSettings


def main(settings: BrokerSettings, node: NodeSettings) -> int:
    """Run a nats-server until it is stopped, or only keep a run's streams on another one; returns the exit code."""
    from broker.errors import BrokerError
    from broker.launcher import Server

    server = Server(settings, node.bus.credentials())

    @asynccontextmanager
    async def around(ctx: NodeContext) -> AsyncIterator[BusSettings]:
        try:
            await server.start()
        except BrokerError as error:
            raise NodeFailure(str(error)) from error
        try:
            yield server.bus
        finally:
            await server.stop()

    async def serve(ctx: NodeContext) -> None:
        from broker import streams
        from broker.watch import watch

        await streams.ensure(ctx.bus)
        if keys := ctx.settings.bus.verifier_keys():
            await ctx.bus.list_verifiers(keys)
        ctx.log.info("streams are ready", run=ctx.settings.run)
        ctx.spawn(watch(ctx, server if settings.server else None), "limits")
        if not settings.server:
            await ctx.stopping.wait()
            return
        ended = ctx.spawn(server.wait(), "nats-server")
        await wait_first(ended, ctx.stopping)
        if not ctx.stopping.is_set():
            raise NodeFailure(f"nats-server ended with code {ended.result()}; its log ends:\n{server.last_words()}")

    return run_node("broker", node, serve, around=around if settings.server else None)
