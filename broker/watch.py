"""Watches limits that could silently slow down a mesh: leases, backlog, slow consumers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp

from broker.streams import MAX_ACK_PENDING
from common.bus import BusError, names
from common.logging import keep_small
from common.metrics import Followed, counter, gauge
from common.node import NodeContext

EVERY_SECONDS = 5.0
ALARM_SHARE = 0.8
"""Warn when this share of a consumer's possible leases is in use: beyond the limit, provers wait in vain."""

_backlog = gauge("backlog", "Messages that nobody has taken yet", ["consumer"])
_leased = gauge("leased", "Messages taken and not yet acknowledged", ["consumer"])
_slow = Followed(counter("server_slow_consumers", "Connections that nats-server dropped because they did not read"))
_connections = gauge("server_connections", "Connections to nats-server")


async def watch(ctx: NodeContext, monitor_url: str, log_file: Path) -> None:
    """Every few seconds, read the queues and the server's statistics into metrics, heartbeat and log, and truncate the
    server's log if it is large."""
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=EVERY_SECONDS)) as session:
        while True:
            try:
                await _look_at_queues(ctx)
                await _look_at_server(ctx, session, monitor_url)
            except (BusError, aiohttp.ClientError, TimeoutError) as error:
                ctx.log.warning("limits not seen", error=str(error))
            await asyncio.to_thread(keep_small, log_file)
            await asyncio.sleep(EVERY_SECONDS)


async def _look_at_queues(ctx: NodeContext) -> None:
    backlog, leased = await ctx.bus.backlog(), await ctx.bus.leased()
    for consumer, number in backlog.items():
        _backlog.labels(consumer).set(number)
    for consumer, number in leased.items():
        _leased.labels(consumer).set(number)
        if number > ALARM_SHARE * MAX_ACK_PENDING:
            ctx.log.warning("nearly all leases are out", consumer=consumer, leased=number, limit=MAX_ACK_PENDING)
    results = sum(number for name, number in backlog.items() if name.startswith(names.RESULTS_PREFIX))
    ctx.report(attempts_waiting=sum(backlog.values()) - results, results_waiting=results, leased=sum(leased.values()))


async def _look_at_server(ctx: NodeContext, session: aiohttp.ClientSession, monitor_url: str) -> None:
    async with session.get(f"{monitor_url}/varz") as answer:
        numbers = await answer.json(content_type=None)
    _slow.follow(numbers["slow_consumers"])
    _connections.set(numbers["connections"])
    ctx.report(connections=numbers["connections"], slow_consumers=numbers["slow_consumers"])
