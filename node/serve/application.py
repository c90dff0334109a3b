"""The HTTP application of `proofmesh serve`: Kimina Lean Server's API over a `SnippetService`, and LeanCopilot's for
editors (`node.serve.suggestions`).

The results of snippets, timeouts included, are in the body of a response with status 200. Other statuses are errors of
the request:

    400  the body is not UTF-8; 422 it is not a message of the API; 413 it is too long, or has too many snippets
    401  the key is missing or wrong; 404 no such address, or no model of that name; 405 wrong method
    403  a web page asks, or the name in `Host` is not ours (`common.life.serving`); 415 the body is not sent as JSON
    429  too many snippets wait, of all clients or of this one: retry after the seconds in `Retry-After`
    502  a suggesting model failed

The messages are typed structs. Field names are the API's.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import structlog
from aiohttp import web

from common.life.hosts import unread_type
from common.life.metrics import CONTENT_TYPE, Metrics
from common.life.serving import Access
from common.limits import LONGEST
from common.output.command import Exit, UserError
from node.lean.snippets.snippet import (
    SORRY_WARNING,
    Diagnostics,
    NoAnswer,
    QueueFull,
    Snippet,
    SnippetResult,
    SnippetService,
    Verdict,
    failed,
)
from node.serve.suggestions import EncodeBody, GenerateBody, NoModel, Suggestions

T = TypeVar("T")

Seconds = Annotated[float, msgspec.Meta(ge=0, le=LONGEST)]
Infotree = Literal["full", "tactics", "original", "substantive"]

DEFAULT_CHECK_SECONDS = 30
DEFAULT_VERIFY_SECONDS = 300
"""Default time limits of a snippet, as in the original server."""


# --- what clients send ----------------------------------------------------------------------------------------------


class TooMany(Exception):
    """The body has more snippets than a request may have. Not a ValueError, which msgspec would take for its own."""


_most: ContextVar[float] = ContextVar("most", default=math.inf)
"""Snippets that the body that is being decoded may still have."""


class _Counted(msgspec.Struct):
    """A snippet. Decoding ends with the first one too many, so that a long body cannot fill the memory."""

    def __post_init__(self) -> None:
        if (left := _most.get() - 1) < 0:
            raise TooMany
        _most.set(left)


class SnippetBody(_Counted):
    id: str
    code: str
    against: str = ""
    """Our addition: the theorems that it must prove, as a statement or as Lean text with `sorry` for proofs."""


class CheckBody(msgspec.Struct):
    """`POST /api/check`."""

    snippets: list[SnippetBody]
    timeout: Seconds = DEFAULT_CHECK_SECONDS
    debug: bool = False
    reuse: bool = True
    infotree: Infotree | None = None
    allow_own_syntax: bool = False
    """Our addition: also accept theorems that depend on syntax, attributes, variables or code of their snippet."""

    def checked(self) -> CheckBody:
        """This body. Raises BadBody if it has no snippets, or two with the same id."""
        if not self.snippets:
            raise BadBody("`snippets` must be non empty", ["body", "snippets"])
        if len({snippet.id for snippet in self.snippets}) < len(self.snippets):
            raise BadBody("`snippets` must have unique ids", ["body", "snippets"])
        return self

    def limited(self, longest: float) -> list[Snippet]:
        """The snippets, with a time limit of at most `longest` seconds."""
        seconds, tree = min(self.timeout, longest), self.infotree or ""
        return [
            Snippet(each.code, seconds, tree, not self.reuse, each.against, self.allow_own_syntax)
            for each in self.snippets
        ]


class CodeBody(_Counted):
    custom_id: str | int
    proof: str | None = None
    code: str | None = None
    against: str = ""


class VerifyBody(msgspec.Struct):
    """`POST /verify` and `POST /one_pass_verify_batch`."""

    codes: list[CodeBody]
    timeout: Seconds = DEFAULT_VERIFY_SECONDS
    infotree_type: Infotree | None = None
    disable_cache: bool = False
    allow_own_syntax: bool = False

    def limited(self, longest: float) -> list[Snippet]:
        """The snippets, with a time limit of at most `longest` seconds. Raises BadBody if one has no text."""
        snippets = []
        for number, each in enumerate(self.codes):
            text = each.proof if each.proof is not None else each.code
            if text is None:
                problem = f"snippet {each.custom_id!r} has neither `proof` nor `code`: send one of them"
                raise BadBody(problem, ["body", "codes", str(number)])
            seconds, tree = min(self.timeout, longest), self.infotree_type or ""
            snippets.append(Snippet(text, seconds, tree, self.disable_cache, each.against, self.allow_own_syntax))
        return snippets


class BadBody(ValueError):
    """The body is not a message of the API. The text says what is wrong, and `place` says where."""

    def __init__(self, problem: str, place: list[str], status: int = 422) -> None:
        super().__init__(problem)
        self.place = place
        self.status = status


def decode(body: bytes, kind: type[T], most: int = 0) -> T:
    """Parse a body of at most `most` snippets. Raises BadBody."""
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadBody(f"the body is not UTF-8: {error.reason} at byte {error.start}", ["body"], 400) from error
    token = _most.set(most)
    try:
        return msgspec.json.decode(body, type=kind)
    except TooMany as error:
        problem = f"the request has more than {most} snippets: send them in several requests"
        raise BadBody(problem, ["body"], 413) from error
    except msgspec.ValidationError as error:
        raise BadBody(str(error), ["body"]) from error
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise BadBody(f"the body is not JSON: {error}", ["body"]) from error
    finally:
        _most.reset(token)


# --- what we answer -------------------------------------------------------------------------------------------------


class CheckResult(msgspec.Struct, omit_defaults=True):
    """One result of `/api/check`."""

    id: str
    time: float | msgspec.UnsetType = msgspec.UNSET
    error: str | None = None
    response: dict[str, Any] | None = None
    diagnostics: Diagnostics | None = None
    verdict: Verdict | None = None


class VerifyResult(msgspec.Struct, omit_defaults=True):
    """One result of the older addresses. The time is a field of the response."""

    custom_id: str
    error: str | None = None
    response: dict[str, Any] | None = None
    verdict: Verdict | None = None


class Results(msgspec.Struct):
    results: list[CheckResult] | list[VerifyResult]


class Problem(msgspec.Struct):
    """The error of a request. As in other servers of this API, `detail` is a text, or a list for errors of the body."""

    detail: Any


def check_result(snippet: SnippetBody, result: SnippetResult, *, debug: bool) -> CheckResult:
    """A result in the form of `/api/check`."""
    return CheckResult(
        id=snippet.id,
        time=round(result.seconds, 6),
        error=result.error or None,
        response=result.response,
        diagnostics=result.diagnostics if debug else None,
        verdict=result.verdict,
    )


def verify_result(code: CodeBody, result: SnippetResult) -> VerifyResult:
    """A result in the form of the older addresses."""
    response = None if result.response is None else result.response | {"time": round(result.seconds, 6)}
    return VerifyResult(str(code.custom_id), result.error or None, response, result.verdict)


encode = msgspec.json.Encoder().encode


# --- the application --------------------------------------------------------------------------------------------------

log = structlog.get_logger("serve")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
CLIENT_RETRY_SECONDS = 1.0
"""Seconds after which a client whose share of the queue is used up may retry."""

S = TypeVar("S", bound=CheckBody | VerifyBody)


class Application:
    """The handlers of the API, with the service and its metrics."""

    def __init__(
        self,
        service: SnippetService,
        metrics: Metrics,
        *,
        access: Access,
        max_body: int,
        max_snippets: int,
        client_most: int,
        longest: float,
        suggestions: Suggestions | None = None,
    ) -> None:
        """`access`: who may ask. `max_body`, `max_snippets`: most bytes and snippets of a request. `client_most`: while
        more snippets of a client wait or run, its requests are refused. `longest`: longest time limit of a snippet in
        seconds, whatever its request asks for. `suggestions`: the models for editors; None: there are none."""
        self._suggestions = suggestions or Suggestions({}, {})
        self._service = service
        self._metrics = metrics
        self._access = access
        self._max_snippets = max_snippets
        self._client_most = client_most
        self._of_client: Counter[str] = Counter()
        self._max_body = max_body
        self._longest = longest
        self._requests = metrics.counter("serve_requests", "Requests answered", ["path", "status"])
        self._snippets = metrics.counter("serve_snippets", "Snippets answered", ["status"])
        self._verdicts = metrics.counter("serve_verdicts", "Verdicts on snippets", ["accepted"])
        self._seconds = metrics.histogram("serve_snippet_seconds", "Time of a snippet in Lean, waiting excluded")
        self._waiting = metrics.gauge("serve_waiting", "Snippets that wait for a worker")
        self._waiting.set_function(lambda: service.waiting)
        self._cancelled = metrics.counter("serve_cancelled", "Requests whose client left before the answer")

    def application(self) -> web.Application:
        """The aiohttp application. Its cleanup stops the service.

        Run it with `handler_cancellation=True`. Otherwise the snippets of a client that disconnects keep their workers.
        """
        app = web.Application(middlewares=[self._outermost], client_max_size=self._max_body)
        for path in ("/api/check", "/api/check/"):
            app.router.add_post(path, self._check)
        for path in ("/verify", "/verify/", "/one_pass_verify_batch", "/one_pass_verify_batch/"):
            app.router.add_post(path, self._verify)
        app.router.add_post("/generate", self._generate)
        app.router.add_post("/encode", self._encode)
        for path in ("/", "/health", "/health/"):
            app.router.add_get(path, self._health)
        app.router.add_get("/metrics", self._show_metrics)
        app.cleanup_ctx.append(self._life)
        return app

    async def _life(self, _: web.Application) -> AsyncIterator[None]:
        yield
        await self._service.stop()

    # --- around every request ---------------------------------------------------------------------------------------

    @web.middleware
    async def _outermost(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the key, count the request, and turn exceptions into error responses."""
        try:
            response = self._refusal(request) or await handler(request)
        except BadBody as error:
            detail = [{"type": "value_error", "loc": error.place, "msg": str(error)}]
            response = _problem(error.status, detail if error.status == 422 else str(error))
        except NoModel as error:
            response = _problem(404, error.args[0])
        except UserError as error:  # a state that cannot be advised on, or a model that failed
            response = _problem(422 if error.exit_code == Exit.UNUSABLE else 502, str(error))
        except QueueFull as error:
            retry = {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
            response = _problem(429, f"No available REPLs: {error}", retry)
        except web.HTTPRequestEntityTooLarge:
            response = _problem(
                413, f"the request is longer than {self._max_body} bytes; send fewer snippets at a time"
            )
        except web.HTTPException as error:
            response = _problem(error.status, error.reason)
        except asyncio.CancelledError:
            self._cancelled.inc()
            raise
        resource = request.match_info.route.resource
        self._requests.labels(resource.canonical if resource else "other", response.status).inc()
        return response

    def _refusal(self, request: web.Request) -> web.Response | None:
        """The response to a request that is refused by its headers: a web page's, one without the right key, or one
        whose body is not sent as JSON. None for all others."""
        if (refusal := self._access.refusal(request)) is not None:
            # The API's own words for a key.
            key = "Invalid API key" if "Authorization" in request.headers else "Missing API key"
            return _problem(refusal.status, key if refusal.status == 401 else refusal.reason, refusal.headers)
        problem = unread_type(request)
        return _problem(415, problem) if problem else None

    # --- addresses --------------------------------------------------------------------------------------------------

    async def _check(self, request: web.Request) -> web.Response:
        body = decode(await request.read(), CheckBody, self._max_snippets).checked()
        results = await self._run(body.limited(self._longest), request.remote or "")
        pairs = zip(body.snippets, results, strict=True)
        return _json(Results([check_result(each, result, debug=body.debug) for each, result in pairs]))

    async def _verify(self, request: web.Request) -> web.Response:
        body = decode(await request.read(), VerifyBody, self._max_snippets)
        results = await self._run(body.limited(self._longest), request.remote or "")
        pairs = zip(body.codes, results, strict=True)
        return _json(Results([verify_result(each, result) for each, result in pairs]))

    async def _generate(self, request: web.Request) -> web.Response:
        return _json(await self._suggestions.generate(decode(await request.read(), GenerateBody)))

    async def _encode(self, request: web.Request) -> web.Response:
        return _json(await self._suggestions.encode(decode(await request.read(), EncodeBody)))

    async def _health(self, _: web.Request) -> web.Response:
        return _json({"status": "ok"})

    async def _show_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})

    async def _run(self, snippets: Sequence[Snippet], client: str) -> list[SnippetResult]:
        """Check the snippets of a client. Returns all results in order. Cancelling it cancels all checks. Raises
        QueueFull."""
        self._service.admit()
        if self._of_client[client] > self._client_most:
            raise QueueFull(CLIENT_RETRY_SECONDS)
        self._of_client[client] += len(snippets)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(snippet)) for snippet in snippets]
            return [task.result() for task in tasks]
        finally:
            self._of_client[client] -= len(snippets)
            self._of_client += Counter()  # drops clients without snippets

    async def _one(self, snippet: Snippet) -> SnippetResult:
        try:
            result = await self._service.check(snippet)
        except NoAnswer as error:
            result = failed(0.0, str(error))
        self._snippets.labels(status(result)).inc()
        self._verdicts.labels("yes" if result.verdict.accepted else "no").inc()
        self._seconds.observe(result.seconds)
        return result


def status(result: SnippetResult) -> str:
    """The status of a result, by the rules and names of Kimina's client."""
    if result.error:
        return "timeout_error" if "timed out" in result.error else "server_error"
    response = result.response or {}
    if "message" in response:
        return "repl_error"
    messages = response.get("messages", [])
    if any(item["severity"] == "error" for item in messages):
        return "lean_error"
    sorry = response.get("sorries") or any(SORRY_WARNING in item["data"] for item in messages)
    return "sorry" if sorry else "valid"


def _json(answer: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    body = encode(answer)
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


def _problem(status: int, detail: Any, headers: dict[str, str] | None = None) -> web.Response:
    return _json(Problem(detail), status, headers)
