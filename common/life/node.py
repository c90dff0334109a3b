"""Runs a node of any role: connects to the broker, registers, runs the role's main function, drains on SIGTERM."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from common.life.context import NodeContext
from common.life.metrics import CONTENT_TYPE, Metrics
from common.life.waiting import unless_stopped, wait_first
from common.machine import in_url
from common.output.command import Exit
from common.output.visible import say
from common.protocol.subjects import BadRunName, check_run_name
from common.settings import BusSettings, LifeSettings, NodeSettings, token_of

if TYPE_CHECKING:
    from aiohttp import web

    from common.life.logging import Forwarder


__all__ = ["NodeContext", "NodeFailure", "NodeSettings", "live", "run_node"]

Main = Callable[[NodeContext], Awaitable[None]]
Around = Callable[[NodeContext], AbstractAsyncContextManager[BusSettings | None]]

DRAIN_SECONDS = 60.0
"""Seconds for `main` to return after a stop signal: a Lean candidate may take 10 s, a verification longer. After that
`main` is cancelled, and the exit code is 1."""

FAREWELL_SECONDS = 2.0
"""Most seconds to leave the registry and send the last log records. The broker may be gone."""


class NodeFailure(Exception):
    """The node cannot go on, for a reason that the user can fix. It is logged without a traceback.

    `exit_code`: 2 for a wrong configuration, 1 for everything else.
    """

    def __init__(self, reason: str, exit_code: int = 1) -> None:
        super().__init__(reason)
        self.exit_code = exit_code


def run_node(
    role: str,
    settings: NodeSettings,
    main: Main,
    *,
    capacity: dict[str, int] | None = None,
    around: Around | None = None,
    key_role: str = "",
) -> int:
    """Run a node until its work is done or it is stopped. Returns the exit code: 0 done or drained, 1 failed, 2 invalid
    settings.

    `main(ctx)` starts when the node is connected. It returns when its work is done, or when it has drained after
    `ctx.stopping` was set (SIGTERM, SIGINT). A second signal ends the process at once. The context manager
    `around(ctx)` is entered before connecting and left after disconnecting; it may yield the broker's address.
    `key_role`: the role of the key that it shows to the broker, if that is not `role`.
    """
    try:
        check_run_name(settings.run)
        _check_level(settings.log_level)
    except (BadRunName, ValueError) as error:
        say(f"{role}: {error}", file=sys.stderr)
        return 2
    with asyncio.Runner(loop_factory=_loop_factory(settings)) as runner:
        return runner.run(_life(role, settings, main, capacity, around, key_role))


def _check_level(level: str) -> None:
    from common.life.logging import LEVELS

    if level not in LEVELS:
        raise ValueError(f"unknown log level {level!r}; use one of {', '.join(LEVELS)}")


def _loop_factory(settings: NodeSettings) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if not settings.uvloop:
        return None
    import uvloop

    return uvloop.new_event_loop


async def _life(
    role: str,
    settings: NodeSettings,
    main: Main,
    capacity: dict[str, int] | None,
    around: Around | None,
    key_role: str,
) -> int:
    from common.life import logging

    ctx = NodeContext(role, settings, capacity, key_role)
    forwarder = logging.Forwarder(role, ctx.id)
    file = Path(settings.log_dir) / f"{ctx.id}.log" if settings.log_dir else None
    logging.configure(
        settings.log_level, file=file, json_lines=settings.log_json, forwarder=forwarder, bound={"node": ctx.id}
    )
    _handle_signals(ctx)
    return await live(ctx, main, forwarder, around)


async def live(ctx: NodeContext, main: Main, forwarder: Forwarder, around: Around | None = None) -> int:
    """A node's life without what belongs to its process (logs, signals): connect, announce, work, leave. Returns the
    exit code of `run_node`.

    It ends when `main(ctx)` has returned, which `ctx.stopping` asks for. `around` is as in `run_node`.
    """
    try:
        async with AsyncExitStack() as stack:
            endpoints = await stack.enter_async_context(_endpoints(ctx))
            address = await stack.enter_async_context(around(ctx)) if around else None
            if await _connect(ctx, address or ctx.settings.bus):
                stack.push_async_callback(ctx.bus.close)
                ctx.metrics_url = await endpoints.metrics_url(ctx.bus.broker_host)
                await _work(ctx, main, forwarder)
    except Exception as error:
        _log_failure(ctx, error)
        return int(Exit.UNUSABLE if getattr(error, "exit_code", 0) == Exit.UNUSABLE else Exit.FAILED)
    code = (Exit.DRAINED if ctx.drained else 0) if ctx.crash is None else getattr(ctx.crash, "exit_code", 1)
    ctx.log.info("node left", exit_code=code)
    return code


def _log_failure(ctx: NodeContext, error: Exception) -> None:
    """Log why the node ends, with a traceback only for unexpected errors."""
    from common.bus import BusError

    if isinstance(error, (NodeFailure, BusError)):
        ctx.log.error("node ends", reason=str(error))
    else:
        ctx.log.error("node crashed", exc_info=error)


def _handle_signals(ctx: NodeContext) -> None:
    from common.watch import diagnosis

    def on_signal(number: signal.Signals) -> None:
        if ctx.stopping.is_set():
            say(f"{ctx.role}: second {number.name}, ending at once", file=sys.stderr)
            os._exit(1)
        ctx.log.info("draining", signal=number.name)
        ctx.stopping.set()
        ctx.changed.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal, number)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, diagnosis.toggle_debug, ctx)


@asynccontextmanager
async def _endpoints(ctx: NodeContext) -> AsyncIterator[Endpoints]:
    from common.life.serving import CannotServe

    endpoints = Endpoints(ctx.metrics, ctx.healthz, ctx.settings)
    try:
        await endpoints.start()
    except CannotServe as error:
        raise NodeFailure(f"/metrics: {error}", error.exit_code) from error
    try:
        yield endpoints
    finally:
        await endpoints.stop()


async def _connect(ctx: NodeContext, settings: BusSettings) -> bool:
    """Connect to the broker. False if the node was stopped meanwhile. Raises BusUnavailable."""
    from common.bus import Bus

    ctx.health("broker", f"not connected to {settings.url} yet")
    run, wait = ctx.settings.run, ctx.settings.broker_wait
    connecting = Bus.connect(settings, run=run, name=ctx.id, role=ctx.key_role, wait=wait)
    bus = await unless_stopped(connecting, ctx.stopping)
    if bus is None:
        return False
    ctx.bus = bus
    ctx.settings = replace(ctx.settings, bus=settings)
    ctx.health("broker", None)
    return True


async def _work(ctx: NodeContext, main: Main, forwarder: Forwarder) -> None:
    from common.life import pulse
    from common.watch import diagnosis

    # 1. What every node does beside its work.
    await diagnosis.listen(ctx)
    background_tasks = [
        ctx.spawn(pulse.measure_lag(ctx), "loop lag"),
        ctx.spawn(pulse.beat(ctx), "heartbeat"),
        ctx.spawn(pulse.stay_registered(ctx), "registry"),
        ctx.spawn(pulse.forward_logs(ctx, forwarder), "logs"),
        ctx.spawn(pulse.forward_spans(ctx), "spans"),
    ]
    ctx.log.info("node runs", run=ctx.settings.run, broker=ctx.settings.bus.url, metrics=ctx.metrics_url)
    ctx.state = "running"
    try:
        # 2. The work.
        await _run_main(ctx, main)
    except Exception as error:
        _log_failure(ctx, error)  # here, because the log still reaches the monitor
        ctx.crash = ctx.crash or error
    finally:
        # 3. The end: tasks first, then the farewell, so that nothing registers the node again.
        for task in background_tasks:
            task.cancel()
        await ctx.cancel_tasks()
        await _farewell(ctx, forwarder)


async def _run_main(ctx: NodeContext, main: Main) -> None:
    """Run main to its end. After `stopping` is set, it has at most DRAIN_SECONDS. Its exception ends the node."""
    work = asyncio.create_task(_guarded(ctx, main), name=f"{ctx.role} main")
    try:
        await wait_first(work, ctx.stopping)
        if not work.done():
            await asyncio.wait({work}, timeout=DRAIN_SECONDS)
        if not work.done():
            raise NodeFailure(f"not drained after {DRAIN_SECONDS:g} s; its leases expire and go to other nodes")
        work.result()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        ctx.stopping.set()


async def _guarded(ctx: NodeContext, main: Main) -> None:
    """Run main, and turn SystemExit into NodeFailure, since SystemExit in a task would stop the event loop."""
    try:
        await main(ctx)
    except SystemExit as error:
        if error.code:
            raise NodeFailure(str(error.code)) from error


async def _farewell(ctx: NodeContext, forwarder: Forwarder) -> None:
    from common.bus import BusError
    from common.life import pulse
    from common.life.logging import tell_left_out

    try:
        tell_left_out(at_once=True)
        async with asyncio.timeout(FAREWELL_SECONDS):
            await pulse.send_logs(ctx, forwarder)
            await pulse.send_spans(ctx, lambda message: None)
            await pulse.send_heartbeat(ctx)  # with the counts since the last one
            await ctx.bus.unregister(ctx.role, ctx.id)
    except (TimeoutError, BusError):
        ctx.log.info("broker not reached while leaving; this node's registry entry expires")


# --- the HTTP server of a node, with `/metrics` and `/healthz` --------------------------------------------------------


class Endpoints:
    """Serves a node's metrics (Prometheus' text) and health (JSON; status 503 while something is wrong).

    Who has no token, where one is needed, still learns from `/healthz` whether the node is well: probes of container
    systems send none.
    """

    def __init__(self, metrics: Metrics, health: Callable[[], dict[str, Any]], settings: LifeSettings) -> None:
        self._metrics = metrics
        self._health = health
        self._settings = settings
        self._open = AsyncExitStack()
        self.address: tuple[str, int] = ("", 0)
        """Host and port; empty before the start."""

    async def start(self) -> None:
        """Listen. Raises CannotServe."""
        from aiohttp import web

        from common.life.serving import Access, CannotServe, is_open, served

        settings = self._settings
        token = token_of(settings.token)
        if is_open(settings, token):
            raise CannotServe(
                f"[node] host = {settings.host}: everybody on the network could read it; set [node] token (or "
                "PROOFMESH_TOKEN) or [node] client_ca, or listen on 127.0.0.1",
                Exit.UNUSABLE,
            )
        access = Access(settings, token)

        @web.middleware
        async def guarded(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            refusal = access.refusal(request)
            if refusal is None:
                return await handler(request)
            if refusal.status == 401 and request.path == "/healthz":
                return self._show_health({"status": self._health()["status"]})
            return web.Response(status=refusal.status, text=refusal.reason + "\n", headers=refusal.headers)

        async def show_metrics(_: web.Request) -> web.Response:
            return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})

        async def show_health(_: web.Request) -> web.Response:
            return self._show_health(self._health())

        application = web.Application(middlewares=[guarded])
        application.router.add_get("/metrics", show_metrics)
        application.router.add_get("/healthz", show_health)
        serving = served(application, settings, settings.metrics_port, port_setting="--node.metrics-port")
        runner = await self._open.enter_async_context(serving)
        self.address = runner.addresses[0][:2]

    async def metrics_url(self, broker: str) -> str:
        """The address of `/metrics` for programs on other machines. `broker`: the host of the broker."""
        from common.life.serving import scheme

        host, port = self.address
        return f"{scheme(self._settings)}://{in_url(await address_for_others(host, broker))}:{port}/metrics"

    async def stop(self) -> None:
        """Close the port."""
        await self._open.aclose()

    def _show_health(self, health: dict[str, Any]) -> web.Response:
        from aiohttp import web

        status = 200 if health["status"] == "ok" else 503
        return web.Response(body=msgspec.json.encode(health), status=status, content_type="application/json")


async def address_for_others(bound: str, broker: str) -> str:
    """The address at which others reach a server that listens on the address `bound`.

    If that means all addresses: this machine's address towards the broker. If the broker is on this machine, too, or if
    there is no way to it: the machine's name.
    """
    listens = ipaddress.ip_address(bound)
    if not listens.is_unspecified:
        return bound
    family = socket.AF_INET if listens.version == 4 else socket.AF_INET6
    own = await own_address(broker, family)
    return socket.gethostname() if not own or ipaddress.ip_address(own).is_loopback else own


async def own_address(host: str, family: socket.AddressFamily) -> str:
    """This machine's address on the way to a host; empty if there is no way. Nothing is sent."""
    try:
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            asyncio.DatagramProtocol, remote_addr=(host, 9), family=family
        )
    except OSError:
        return ""
    address: str = transport.get_extra_info("sockname")[0]
    transport.close()
    return address.partition("%")[0]
