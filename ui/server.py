"""Serves the monitor with aiohttp: its pages, what they ask for (`ui.views`), and a stream of changes. Pages load
nothing from other machines.

A page reads its data with GET /api/run/NAME/VIEW. It hears what has changed from /events?run=NAME (server-sent events),
one small message a second, and asks again for what it shows. So there is one way for a run that goes on, for one that
is over, and for a page that opens late; and a page that does not keep up misses nothing.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import importlib.util
import mimetypes
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from aiohttp import web

from common.life.serving import Access
from common.output.command import UserError
from common.settings import WebSettings
from ui.control import HEADER, Control, Question, Submission
from ui.runs import NotHere, Run, Runs
from ui.views import BadQuery, View, all_views, asked, decoded
from ui.views.listing import Listing, ListQuery

Body = TypeVar("Body", Question, Submission)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

STATIC = Path(__file__).parent / "static"

TICK = 1.0
"""Seconds between messages to a page: as often as nodes send heartbeats."""

COMPRESSED = 1024
"""Answers with at least so many bytes are compressed."""

MOST_PAGES = 200
"""Most pages that are open at once; further ones get 503."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Referrer-Policy": "no-referrer",
}
"""The page may load content from this server only."""


class Monitor:
    """Serves runs to any number of pages."""

    def __init__(self, runs: Runs, access: Access | None = None, control: Control | None = None) -> None:
        """`access`: who may open the pages; None: everybody on this machine. `control`: acts on the watched mesh; None:
        the pages are for reading only."""
        self.runs = runs
        self.control = control
        self._access = access or Access(WebSettings())
        self._views = all_views()
        self._listing = Listing(runs)
        self._files = _Files()
        self._ticks: dict[str, tuple[float, bytes]] = {}
        self._pages: set[asyncio.Event] = set()

    def close(self) -> None:
        """End every page's stream, so that the server can stop."""
        for closing in self._pages:
            closing.set()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[_headers, self._from_here])
        app.router.add_get("/", self._first)
        for path in ("/runs", "/run/{name}", "/run/{name}/{page:[\\s\\S]*}"):
            app.router.add_get(path, self._index)
        app.router.add_get("/static/{file:.+}", self._static)
        app.router.add_get("/chart.js", self._chart)
        app.router.add_get("/events", self._events)
        app.router.add_get("/api/state", self._state)
        app.router.add_get("/api/runs", self._list)
        app.router.add_get("/api/run/{name}/{view}", self._view)
        if self.control is not None:
            app.router.add_post("/api/control/ask", self._ask)
            app.router.add_post("/api/control/submit", self._submit)
            app.router.add_get("/api/control/submitted", self._submitted)
        return app

    @web.middleware
    async def _from_here(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse requests that a page from elsewhere has made, and those of strangers."""
        refusal = self._access.refusal(request)
        if (refusal is None or refusal.status == 401) and (entry := self._access.entry(request)) is not None:
            return entry
        if refusal is not None:
            return web.Response(status=refusal.status, text=refusal.reason + "\n", headers=refusal.headers)
        try:
            return await handler(request)
        except UserError as error:
            return _json({"error": str(error)}, status=404 if isinstance(error, NotHere) else 400)

    # --- pages --------------------------------------------------------------------------------------------------------

    async def _first(self, _: web.Request) -> web.StreamResponse:
        watched = self.runs.watched
        where = "/runs" if watched is None else f"/run/{watched.name}/overview"
        return web.Response(status=302, headers={"Location": where, "Cache-Control": "no-store"})

    async def _index(self, request: web.Request) -> web.StreamResponse:
        return self._files.response(request, STATIC / "index.html")

    async def _static(self, request: web.Request) -> web.StreamResponse:
        try:
            path = (STATIC / request.match_info["file"]).resolve()
            found = STATIC.resolve() in path.parents and path.is_file()
        except (OSError, ValueError):  # a name that no file can have
            found = False
        if not found:
            raise web.HTTPNotFound
        return self._files.response(request, path)

    async def _chart(self, request: web.Request) -> web.StreamResponse:
        return self._files.response(request, chart_script())

    # --- data ---------------------------------------------------------------------------------------------------------

    async def _state(self, _: web.Request) -> web.StreamResponse:
        """The watched run in short, for programs: GET /api/state."""
        watched = self.runs.watched
        if watched is None:
            return _json({"run": None, "runs": await asyncio.to_thread(self.runs.names)})
        return _json(self._tick_content(watched))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        query = decoded(ListQuery, dict(request.query))
        return _json(await asyncio.to_thread(self._listing.answer, query))

    async def _view(self, request: web.Request) -> web.StreamResponse:
        view = self._views.get(request.match_info["view"])
        if view is None:
            return _json({"error": f"no view {request.match_info['view']}; there are: {', '.join(self._views)}"}, 404)
        run = await asyncio.to_thread(self.runs.get, request.match_info["name"])
        body = await asyncio.to_thread(_answered, view, run, dict(request.query))
        return _compressed(web.Response(body=body, content_type="application/json"), len(body))

    async def _ask(self, request: web.Request) -> web.StreamResponse:
        assert self.control is not None
        return _json(await self.control.ask(await _body(request, Question)))

    async def _submit(self, request: web.Request) -> web.StreamResponse:
        assert self.control is not None
        return _json(self.control.submit(await _body(request, Submission)))

    async def _submitted(self, _: web.Request) -> web.StreamResponse:
        assert self.control is not None
        return _json(list(self.control.submitted.values())[::-1])

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if len(self._pages) >= MOST_PAGES:
            raise web.HTTPServiceUnavailable(text="too many pages are open\n")
        run = await asyncio.to_thread(self.runs.get, request.query.get("run", ""))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **HEADERS})
        await response.prepare(request)
        closing = asyncio.Event()
        self._pages.add(closing)
        try:
            while not closing.is_set():
                await response.write(b"event: tick\ndata: " + await self._tick(run) + b"\n\n")
                try:
                    await asyncio.wait_for(closing.wait(), TICK)
                except TimeoutError:
                    continue
        except ConnectionError:
            return response  # the reader closed the page
        finally:
            self._pages.discard(closing)
        return response

    async def _tick(self, run: Run) -> bytes:
        """What all pages of a run hear; made once for all of them."""
        made, content = self._ticks.get(run.name, (0.0, b""))
        if time.monotonic() - made > TICK / 2:
            found = await asyncio.to_thread(self._tick_content, run)
            made, content = time.monotonic(), encode(found)
            self._ticks[run.name] = (made, content)
        return content

    def _tick_content(self, run: Run) -> dict[str, Any]:
        mesh = run.mesh
        found: dict[str, Any] = {
            "run": run.name,
            "kind": run.kind,
            "time": time.time(),
            "live": mesh is not None,
            "connected": run.connected,
            "finished": run.summary() is not None,
            "files": run.folder is not None,
            "control": self.control is not None and run is self.runs.watched,
            "versions": run.versions(),
        }
        if mesh is not None:
            learner = mesh.learner()
            alive = sum(1 for node in mesh.views() if node.gone_since is None)
            found |= {
                "phase": learner.state if learner is not None else "",
                "left": learner.values.get("budget_left_s") if learner is not None else None,
                "alive": alive,
                "sick": len(run.sick()),
                "totals": mesh.totals(),
                "rates": mesh.rates(),
            }
        return found


async def _body(request: web.Request, kind: type[Body]) -> Body:
    """The body of a request that acts. Raises BadQuery."""
    if HEADER not in request.headers:
        raise BadQuery(f"a request that acts has the header {HEADER}, whatever its value")
    try:
        return msgspec.json.decode(await request.read(), type=kind)
    except msgspec.MsgspecError as error:
        raise BadQuery(f"{error}") from error


def _answered(view: View, run: Run, parameters: dict[str, str]) -> bytes:
    return encode(view.answer(run, asked(view, parameters)))


class _File(NamedTuple):
    """A file of the page as it is sent."""

    changed: int
    etag: str
    kind: str
    body: bytes
    zipped: bytes


class _Files:
    """The files of the page, compressed once."""

    def __init__(self) -> None:
        self._files: dict[Path, _File] = {}

    def response(self, request: web.Request, path: Path) -> web.Response:
        changed = path.stat().st_mtime_ns
        file = self._files.get(path)
        if file is None or file.changed != changed:
            body = path.read_bytes()
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            etag = hashlib.blake2b(body, digest_size=8).hexdigest()
            file = self._files[path] = _File(changed, etag, kind, body, gzip.compress(body, 9))
        headers = {"ETag": f'"{file.etag}"', "Vary": "Accept-Encoding"}
        if f'"{file.etag}"' in request.headers.get("If-None-Match", ""):
            return web.Response(status=304, headers=headers)
        zipped = "gzip" in request.headers.get("Accept-Encoding", "")
        if zipped:
            headers["Content-Encoding"] = "gzip"
        charset = "utf-8" if file.kind.startswith("text/") else None
        return web.Response(
            body=file.zipped if zipped else file.body, content_type=file.kind, charset=charset, headers=headers
        )


def chart_script() -> Path:
    """The Chart.js that the installed package `chartkick` carries."""
    spec = importlib.util.find_spec("chartkick")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the package `chartkick` is not installed; run the set-up again (`just setup`)")
    return Path(spec.origin).parent / "django" / "static" / "chartkick" / "Chart.bundle.js"


@web.middleware
async def _headers(request: web.Request, handler: Handler) -> web.StreamResponse:
    response = await handler(request)
    if not response.prepared:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
    return response


def _json(content: object, status: int = 200) -> web.Response:
    body = encode(content)
    return _compressed(web.Response(status=status, body=body, content_type="application/json"), len(body))


def _compressed(response: web.Response, size: int) -> web.Response:
    if size >= COMPRESSED:
        response.enable_compression()
    return response


encode = msgspec.json.Encoder().encode
"""Encodes everything that pages and programs get. A number that is not finite becomes null; Python's own `json` would
write `NaN`, which no browser can read."""
