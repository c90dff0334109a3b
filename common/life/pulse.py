"""Background tasks of every node: heartbeat, registry entry, log forwarding, event-loop lag."""

from __future__ import annotations

import asyncio
import time

from common.bus import NODE_TTL, BusError
from common.life.context import NodeContext
from common.life.logging import Forwarder, tell_left_out
from common.life.metrics import gauge, gpu_values, histogram
from common.protocol import subjects
from common.protocol.messages import Spans
from common.watch.diagnosis import Watchdog
from common.watch.spans import Export, exporting

HEARTBEAT_SECONDS = 1.0
LAG_PROBE_SECONDS = 0.1
LAG_WARNING_SECONDS = 1.0
"""An event loop that is blocked for this long misses heartbeats: the blocking work should run in a thread."""

LOG_SECONDS = 0.25
LOG_BATCH = 200
"""Most records sent at once: 800 per second, so that a node that logs in a loop does not overload the broker."""

_lag = gauge("loop_lag_max_seconds", "Longest delay of the event loop in the last second")
_lags = histogram("loop_lag_seconds", "Delays of the event loop, probed ten times a second")


async def measure_lag(ctx: NodeContext) -> None:
    """Measure how much later than requested the event loop wakes from sleep: the time that it was blocked."""
    worst, window = 0.0, time.monotonic() + HEARTBEAT_SECONDS
    with Watchdog(ctx.log).watching() as watchdog:
        while True:
            start = time.monotonic()
            await asyncio.sleep(LAG_PROBE_SECONDS)
            now = time.monotonic()
            watchdog.alive()
            lag = max(0.0, now - start - LAG_PROBE_SECONDS)
            _lags.observe(lag)
            worst = max(worst, lag)
            if lag > LAG_WARNING_SECONDS:
                ctx.log.warning("event loop was blocked", seconds=round(lag, 2))
            if now >= window:
                _lag.set(worst)
                ctx.report(loop_lag_ms=round(worst * 1000, 2))
                worst, window = 0.0, now + HEARTBEAT_SECONDS


class Process:
    """What this process takes of its machine."""

    def __init__(self) -> None:
        import psutil

        self._process = psutil.Process()
        self._spent, self._asked = time.process_time(), time.monotonic()

    def values(self) -> dict[str, float]:
        """For a heartbeat: `cpu_share`, the processor time per second since the last call (1 is one core), and
        `memory_mb`, its resident memory. Without those of its children, such as Lean."""
        spent, now = time.process_time(), time.monotonic()
        share = (spent - self._spent) / max(now - self._asked, 1e-3)
        self._spent, self._asked = spent, now
        return {"cpu_share": round(share, 3), "memory_mb": round(self._process.memory_info().rss / 1e6, 1)}


async def beat(ctx: NodeContext) -> None:
    """Send a heartbeat every second, and watch the connection."""
    process = Process()
    while True:
        ctx.report(**process.values(), **gpu_values(ctx.metrics))
        ctx.health("broker", None if ctx.bus.connected else "the broker is away; reconnecting")
        troubles = [f"{what}: {reason}" for what, reason in ctx.bus.troubles.items()]
        ctx.health("queues", "; ".join(troubles) or None)
        if ctx.bus.given_up.is_set():
            ctx.fail(ConnectionError("the connection to the broker was closed for good; restart this node"))
        await send_heartbeat(ctx)
        await asyncio.sleep(HEARTBEAT_SECONDS)


async def send_heartbeat(ctx: NodeContext) -> None:
    """Send one heartbeat, if the broker is connected."""
    if ctx.bus.connected:
        await ctx.bus.publish(subjects.telemetry(ctx.role, ctx.id, "heartbeat"), ctx.heartbeat())


async def stay_registered(ctx: NodeContext) -> None:
    """Renew the registry entry three times within its time-to-live, and at once when the state has changed."""
    failures = 0
    while True:
        # Cleared before the state is read: a change in between is seen by the wait below.
        ctx.changed.clear()
        pause = NODE_TTL / 3
        try:
            await ctx.bus.register(ctx.info())
            ctx.health("registry", None)
            failures = 0
        except BusError as error:
            pause = 1.0
            failures += 1
            if ctx.bus.connected and failures > 1:  # at the start of a mesh, the streams come a moment later
                ctx.health("registry", f"not registered: {error}; has the broker created this run's streams?")
                ctx.changed.clear()
        try:
            async with asyncio.timeout(pause):
                await ctx.changed.wait()
        except TimeoutError:
            continue


async def forward_logs(ctx: NodeContext, forwarder: Forwarder) -> None:
    """Send queued log records as telemetry."""
    while True:
        tell_left_out()
        await send_logs(ctx, forwarder)
        await asyncio.sleep(LOG_SECONDS)


async def send_logs(ctx: NodeContext, forwarder: Forwarder) -> None:
    """Send the oldest queued records, at most LOG_BATCH."""
    if not ctx.bus.connected:
        return
    subject = subjects.telemetry(ctx.role, ctx.id, "log")
    for record in forwarder.take(LOG_BATCH):
        await ctx.bus.publish(subject, record)


async def forward_spans(ctx: NodeContext) -> None:
    """Send spans as telemetry, and to [node] otlp."""
    async with exporting(ctx.settings.otlp) as export:
        while True:
            await send_spans(ctx, export)
            await asyncio.sleep(LOG_SECONDS)


async def send_spans(ctx: NodeContext, export: Export) -> None:
    """Send the oldest spans, at most LOG_BATCH; while the broker is away, they wait."""
    if ctx.bus.connected and (spans := ctx.spans.take(LOG_BATCH)):
        message = Spans(node_id=ctx.id, role=ctx.role, time=time.time(), spans=tuple(spans))
        await ctx.bus.publish(subjects.telemetry(ctx.role, ctx.id, "spans"), message)
        export(message)
