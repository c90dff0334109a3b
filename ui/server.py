"""Serves the page and its event stream (server-sent events) with aiohttp. The page loads nothing from other machines.

Each open page has a bounded queue. A page that does not keep up (a sleeping laptop) is disconnected, reconnects
automatically and gets the history again, so it never slows the monitor down.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from common.life.serving import Access
from common.protocol.messages import LogRecord, Point
from common.settings import WebSettings
from ui.mesh_state import LOGS_SHOWN, MeshState, evaluation_of, evaluation_shown
from ui.run_files import Change as RunChange, RunFiles
from ui.training_runs import Change, TrainingRuns

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

STATIC = Path(__file__).parent / "static"
QUEUE_LIMIT = 2000
"""Most events that wait for one page: some minutes of a busy mesh."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}
"""The page may load content from this server only; plotly needs inline styles."""


class Monitor:
    """Serves `state` to any number of pages; `publish` sends them an event."""

    def __init__(
        self,
        state: MeshState,
        run: str,
        training: TrainingRuns | None = None,
        *,
        mesh: bool = True,
        files: RunFiles | None = None,
        access: Access | None = None,
    ) -> None:
        """`mesh`: whether a mesh is watched. If not, the page shows the run from `files`, and training runs. `access`:
        who may open the page; None: everybody on this machine."""
        self._access = access or Access(WebSettings())
        self.state = state
        self.run = run
        self.training = training
        self.mesh = mesh
        self.files = files
        self.connected = False
        """Whether the broker is connected, if a mesh is watched."""
        self._pages: set[asyncio.Queue[str | None]] = set()

    def publish(self, kind: str, data: Any) -> None:
        """Send an event to every open page; a page whose queue is full must reconnect."""
        text = _event(kind, data)
        for page in list(self._pages):
            try:
                page.put_nowait(text)
            except asyncio.QueueFull:
                self._pages.discard(page)
                _close(page)

    def train(self, changes: Sequence[Change]) -> None:
        """Add changes of the training runs, and send them to the pages."""
        if self.training is not None:
            self.training.take(changes)
        for change in changes:
            self.publish("training", change.shown())

    def take(self, change: RunChange) -> None:
        """Add new content of the run's files, and send it to the pages."""
        for evaluation in change.evaluations:  # before the points, which have no labels
            self.evaluated(evaluation_shown(evaluation))
        for point in change.points:
            self.point(point)
        for proof in change.proofs:
            if self.state.see_proof(proof):
                self.publish("proof", msgspec.to_builtins(proof))
        if change.summary is not None:
            self.publish("summary", change.summary)
        for record in change.logs[-LOGS_SHOWN:]:
            self.log(record)

    def point(self, point: Point) -> None:
        """Add a point of a curve, and send it to the pages if it is new."""
        evaluation = evaluation_of(point)
        count = len(self.state.evaluations)
        if self.state.see_point(point):
            self.publish("point", msgspec.to_builtins(point))
            if evaluation is not None and len(self.state.evaluations) != count:
                self.publish("evaluation", evaluation)

    def log(self, record: LogRecord) -> None:
        """Add a log record, and send it to the pages."""
        self.state.see_log(record)
        self.publish("log", msgspec.to_builtins(record))

    def evaluated(self, evaluation: dict[str, Any]) -> None:
        """Add an evaluation, and send it to the pages if it is new."""
        if self.state.see_evaluation(evaluation):
            self.publish("evaluation", evaluation)

    def overview(self, now: float) -> dict[str, Any]:
        """The page's data that changes every second."""
        more = {"broker": self.connected} if self.mesh else {}
        return self.state.overview(now) | more | ({} if self.files is None else {"files": self.files.shown()})

    def history(self) -> dict[str, Any]:
        """The data that a page needs when it opens."""
        training = [] if self.training is None else self.training.shown()
        data = {"run": self.run, "mesh": self.mesh, "training": training, **self.state.history()}
        return data if self.files is None else data | {"files": self.files.shown(), "summary": self.files.summary}

    def close(self) -> None:
        """End every page's stream, so that the server can stop."""
        for page in self._pages:
            _close(page)
        self._pages.clear()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_headers, self._from_here])
        app.router.add_get("/", self._index)
        app.router.add_get("/events", self._events)
        app.router.add_get("/api/state", self._state)
        app.router.add_get("/plotly.js", self._plotly)
        app.router.add_static("/static", STATIC)
        return app

    @web.middleware
    async def _from_here(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests that a page from elsewhere has made, and those of strangers."""
        refusal = self._access.refusal(request)
        if (refusal is None or refusal.status == 401) and (entry := self._access.entry(request)) is not None:
            return entry
        if refusal is not None:
            return web.Response(status=refusal.status, text=refusal.reason + "\n", headers=refusal.headers)
        return await handler(request)

    async def _index(self, _: web.Request) -> web.StreamResponse:
        return web.FileResponse(STATIC / "index.html")

    async def _plotly(self, _: web.Request) -> web.StreamResponse:
        return web.FileResponse(plotly_script(), headers={"Cache-Control": "max-age=86400"})

    async def _state(self, _: web.Request) -> web.StreamResponse:
        """The data of the page as JSON, for programs: GET /api/state."""
        return web.Response(
            body=_encode({**self.overview(time.time()), **self.history()}), content_type="application/json"
        )

    async def _events(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **HEADERS})
        await response.prepare(request)
        page: asyncio.Queue[str | None] = asyncio.Queue(QUEUE_LIMIT)
        self._pages.add(page)
        try:
            await response.write(_event("history", self.history()).encode())
            await response.write(_event("overview", self.overview(time.time())).encode())
            while (text := await page.get()) is not None:
                await response.write(text.encode())
        except ConnectionError:
            return response  # the reader closed the page
        finally:
            self._pages.discard(page)
        return response


def plotly_script() -> Path:
    """The plotly.js that the installed `plotly` package carries (importing the package would take a second)."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package `plotly` is not installed; run the set-up again (`just setup`)")
    return Path(spec.origin).parent / "package_data" / "plotly.min.js"


@web.middleware
async def _headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    if not response.prepared:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {_encode(data).decode()}\n\n"


_encode = msgspec.json.Encoder().encode
"""Encodes everything that pages and programs get. A number that is not finite becomes null; Python's own `json` would
write `NaN`, which no browser can read."""


def _close(page: asyncio.Queue[str | None]) -> None:
    """Put the end mark into the queue, in place of an event if the queue is full."""
    with contextlib.suppress(asyncio.QueueEmpty):
        if page.full():
            page.get_nowait()
    page.put_nowait(None)
