"""Starts the broker as a node: runs nats-server, and keeps the streams of its run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from broker.settings import BrokerSettings
from common.life.node import NodeContext, NodeFailure, NodeSettings, run_node
from common.life.waiting import wait_first
from common.output.command import UserError, refuse
from common.settings import BusSettings

if TYPE_CHECKING:
    from broker.launcher import Server


def main(settings: BrokerSettings, node: NodeSettings) -> int:
    """Run a nats-server until it is stopped, or only keep a run's streams on another one; returns the exit code."""
    from broker import keys
    from broker.launcher import Server

    if not settings.server:
        return run_node("broker", node, lambda ctx: serve(ctx, None))
    if keys.wanted(settings, node.bus.credentials()):
        try:
            keys.make(settings.store, node.run)
        except UserError as error:
            return refuse("proofmesh broker", error)
    if settings.certificate and not node.bus.ca:
        return refuse("proofmesh broker", "[broker] certificate: set [bus] ca, too: by it nodes know the certificate")
    server = Server(settings, node.bus.credentials())
    return run_node("broker", node, lambda ctx: serve(ctx, server), around=lambda _: running(server, node.bus))


@asynccontextmanager
async def running(server: Server, bus: BusSettings) -> AsyncIterator[BusSettings]:
    """Run a nats-server, and yield how to reach it: its address, and what `bus` says besides. Raises NodeFailure if it
    does not start."""
    from broker.errors import BrokerError

    try:
        await server.start()
    except BrokerError as error:
        raise NodeFailure(str(error)) from error
    try:
        own = server.bus
        yield replace(bus, url=own.url, user=own.user, password=own.password, key=own.key, invite="")
    finally:
        await server.stop()


async def serve(ctx: NodeContext, server: Server | None) -> None:
    """Make the run's streams, and keep them until the node is stopped. Raises NodeFailure if `server` ends, the
    nats-server of this node."""
    from broker import streams
    from broker.watch import list_verifiers, watch

    # 1. What the run's nodes wait for.
    await streams.ensure(ctx.bus)
    await list_verifiers(ctx)
    ctx.log.info("streams are ready", run=ctx.settings.run)
    # 2. Streams that fill up are seen before they refuse writes.
    ctx.spawn(watch(ctx, server), "limits")
    if server is None:
        await ctx.stopping.wait()
        return
    # 3. Without its server a node has no use: it fails with the server's own last words.
    ended = ctx.spawn(server.wait(), "nats-server")
    await wait_first(ended, ctx.stopping)
    if not ctx.stopping.is_set():
        raise NodeFailure(f"nats-server ended with code {ended.result()}; its log ends:\n{server.last_words()}")
