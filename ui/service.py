"""The monitor as a node: telemetry in, one live page out."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from common.node import NodeContext, NodeSettings, run_node

from common.messages import Heartbeat, LogRecord, Message, Point, ProofFound
from ui.mesh_state import MeshState
from ui.settings import UiSettings

if TYPE_CHECKING:
    from ui.server import Monitor

TICK = 1.0
"""Seconds between overviews: as often as nodes send heartbeats."""


def main(settings: UiSettings, node: NodeSettings) -> int:
    """Run the monitor until it is told to stop; returns the exit code."""

    async def serve(ctx: NodeContext) -> None:
        await _serve(ctx, settings)

    return run_node("ui", node, serve)


async def _serve(ctx: NodeContext, settings: UiSettings) -> None:
    from aiohttp import web

    from ui.server import Monitor

    state = MeshState()
    for point in read_history(settings.history):
        state.see_point(point)
    monitor = Monitor(state, ctx.bus.run)
    runner = web.AppRunner(monitor.application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, settings.host, settings.port)
    try:
        await site.start()
    except OSError as error:
        await runner.cleanup()
        raise SystemExit(
            f"monitor: cannot listen on {settings.host}:{settings.port} ({error.strerror}); "
            "choose another port with --port or [ui] port, or 0 for a free one"
        ) from error
    ctx.log.info("monitor", url=f"http://{settings.host}:{runner.addresses[0][1]}/")
    await _listen(ctx, state, monitor)
    try:
        while not ctx.stopping.is_set():
            await _tick(ctx, state, monitor)
    finally:
        monitor.close()
        await runner.cleanup()


async def _listen(ctx: NodeContext, state: MeshState, monitor: Monitor) -> None:
    """Subscribe to telemetry; every message folds into the state and goes to the open pages."""

    def hear(_: str, message: Message) -> None:
        if isinstance(message, Heartbeat):
            state.see_heartbeat(message)
        elif isinstance(message, LogRecord):
            state.see_log(message)
            monitor.publish("log", msgspec.to_builtins(message))
        elif isinstance(message, ProofFound):
            state.see_proof(message)
            monitor.publish("proof", msgspec.to_builtins(message))
        elif isinstance(message, Point):
            state.see_point(message)
            monitor.publish("point", msgspec.to_builtins(message))

    await ctx.bus.subscribe("telemetry.>", (Heartbeat, LogRecord, ProofFound, Point), hear)


async def _tick(ctx: NodeContext, state: MeshState, monitor: Monitor) -> None:
    now = time.time()
    if ctx.bus.connected:
        state.see_registry(await ctx.bus.nodes(), now)
    state.tick(now)
    overview: dict[str, Any] = state.overview(now)
    overview["broker"] = ctx.bus.connected
    overview["speed"] = state.speeds[-1]
    monitor.publish("overview", overview)
    try:
        await asyncio.wait_for(ctx.stopping.wait(), TICK)
    except TimeoutError:
        return


def read_history(path: str) -> list[Point]:
    """Points of a metrics.jsonl file; lines that are not points (a torn last line after a kill) are passed over."""
    if not path or not Path(path).exists():
        return []
    points = []
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        try:
            fields = msgspec.json.decode(line, type=dict[str, Any])
            points.append(msgspec.convert({"type": "Point", **fields}, Point))
        except (msgspec.DecodeError, msgspec.ValidationError):
            continue
    return points
