"""The HTTP server of a node, with `/metrics` and `/healthz`."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from common.life.metrics import Metrics

if TYPE_CHECKING:
    from aiohttp import web


class Endpoints:
    """Serves a node's metrics (Prometheus' text) and health (JSON; status 503 while something is wrong).

    On loopback no web page from elsewhere may read them, under whichever name. On another address any name is right:
    Prometheus uses what its configuration says, and every program of the network may read them anyway.
    """

    def __init__(self, metrics: Metrics, health: Callable[[], dict[str, Any]]) -> None:
        self._metrics = metrics
        self._health = health
        self._runner: web.AppRunner | None = None
        self._address: tuple[str, int] = ("", 0)

    async def start(self, host: str, port: int) -> None:
        """Listen; 0 takes a free port. Raises OSError (port in use, no such address)."""
        from aiohttp import web

        from common.life.hosts import LOOPBACK, Hosts

        hosts = Hosts(host, otherwise="let the node listen on another address than loopback ([node] host)")

        @web.middleware
        async def guarded(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            problem = hosts.problem(request, any_host=host not in LOOPBACK)
            return web.Response(status=403, text=problem) if problem else await handler(request)

        application = web.Application(middlewares=[guarded])
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/healthz", self._show_health)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        self._address = self._runner.addresses[0][:2]

    async def metrics_url(self, broker: str) -> str:
        """The address of `/metrics` for programs on other machines. `broker`: the host of the broker."""
        host, port = self._address
        return f"http://{in_url(await address_for_others(host, broker))}:{port}/metrics"

    async def stop(self) -> None:
        """Close the port."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _show_metrics(self, _: web.Request) -> web.Response:
        from aiohttp import web

        return web.Response(body=self._metrics.render(), content_type="text/plain")

    async def _show_health(self, _: web.Request) -> web.Response:
        from aiohttp import web

        health = self._health()
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


def in_url(host: str) -> str:
    """A host as it stands in a URL: IPv6 in brackets."""
    return f"[{host}]" if ":" in host else host
