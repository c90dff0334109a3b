"""The HTTP server of a node, with `/metrics` and `/healthz`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from common.metrics import Metrics

if TYPE_CHECKING:
    from aiohttp import web


class Endpoints:
    """Serves a node's metrics (Prometheus' text) and health (JSON; status 503 while something is wrong)."""

    def __init__(self, metrics: Metrics, health: Callable[[], dict[str, Any]]) -> None:
        self._metrics = metrics
        self._health = health
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self, host: str, port: int) -> None:
        """Listen; 0 takes a free port. Raises OSError (port in use, no such address)."""
        from aiohttp import web

        application = web.Application()
        application.router.add_get("/metrics", self._show_metrics)
        application.router.add_get("/healthz", self._show_health)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError:
            await self.stop()
            raise
        address = self._runner.addresses[0]
        self.url = f"http://{address[0]}:{address[1]}"

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
