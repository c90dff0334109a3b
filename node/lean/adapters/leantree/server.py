"""Serves LeanTree's HTTP protocol over our workers.

Answers have LeanTree's form. The result of a tactic or a theorem has status 200, with `value` or `error`. A status of
400 or above, also with `error`, is an error of the request or of this server:

    400  the body is not a message of the protocol, or Lean refuses a command
    403  a web page asks, or the name in `Host` is not ours (`common.life.serving`); 415 the body is not sent as JSON
    404  no such address, process or state; 405 wrong method; 413 the body is too long
    503  no worker was free: retry after the seconds in `Retry-After`; says nothing about the tactic
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

import psutil
import stamina
import structlog
from aiohttp import web

from common.lean import Outcome, OutcomeKind, Step, Theorem
from common.life.hosts import unread_type
from common.life.serving import Access
from common.protocol.messages import Busy, Failure, FailureKind, LeanRunReply, LeanRunRequest
from common.settings import WebSettings
from node.lean.adapters.leantree.protocol import (
    BadBody,
    BranchAnswer,
    CommandBody,
    ErrorAnswer,
    GetProcess,
    ProcessAnswer,
    ProofFromSorry,
    SourceBody,
    TacticAnswer,
    TheoremAnswer,
    TryTactic,
    decode,
    encode,
)
from node.lean.adapters.leantree.sessions import (
    BadTheorem,
    Session,
    Sessions,
    State,
    UnknownProcess,
    UnknownState,
    imports,
    joined,
    read_theorem,
)
from node.lean.adapters.repl.protocol import CommandPosition, ReplMessage, severity_name
from node.lean.backend import BackendFull
from node.lean.process.child import Ending
from node.lean.requests import Requests
from node.lean.text.goals import from_state
from node.lean.worker.document import Frame, LeanDocument
from node.lean.worker.plan import BatchPlan
from node.lean.worker.pool import Pool
from node.lean.worker.process import Diagnostic, WorkerEnded
from node.lean.worker.reading import DocumentReading
from node.lean.worker.runner import BadHeader

TRIES = 2
"""Attempts before a crash counts. After a first crash the text runs again, because something else may have killed the
process."""


class TextPlan(BatchPlan):
    """Elaborates `header` followed by `text`, and keeps the messages about the text."""

    def __init__(self, header: str, text: str = "", *, skip: int = 0) -> None:
        """`skip`: if there is no text, the number of lines of the header whose messages are dropped."""
        super().__init__(Theorem("text", "", "True", header), (), {})
        self.text = text
        self.messages: list[ReplMessage] | None = None
        """Lean's messages; None if Lean did not finish the text."""
        self.ending: Ending | None = None
        """Why Lean did not finish the text."""
        self.reason = ""
        self._lines_before = skip
        self._tries = 0

    @property
    def errors(self) -> list[str]:
        return [message.data for message in self.messages or () if message.severity == "error"]

    @property
    def sorries(self) -> bool:
        """True when a declaration uses `sorry`."""
        return any("declaration uses" in message.data and "sorry" in message.data for message in self.messages or ())

    def document(self, frame: Frame) -> LeanDocument | None:
        """The only document; None after its report."""
        if self.messages is not None or self.ending is not None:
            return None
        before = frame.opening()
        if self.text:
            self._lines_before = before.count("\n")
        return LeanDocument(before + self.text + "\n", ())

    def take(self, reading: DocumentReading) -> None:
        """Keep the messages about the text."""
        places = [message for message in reading.messages if message.range.start.line >= self._lines_before]
        self.messages = [_repl_message(item, self._lines_before) for item in places]

    def ended(self, ending: Ending, reason: str, suspect: int | None, *, stuck: bool, parser_error: str = "") -> None:
        """Record that the process ended. After a first crash the text runs once more; otherwise this is the result."""
        self._tries += 1
        if ending is not Ending.DIED or self._tries >= TRIES:
            self.ending, self.reason = ending, reason


def _repl_message(item: Diagnostic, lines_before: int) -> ReplMessage:
    whole = item.full_range or item.range
    return ReplMessage(
        severity_name(item),
        item.message,
        CommandPosition(whole.start.line - lines_before + 1, whole.start.character),
        CommandPosition(whole.end.line - lines_before + 1, whole.end.character),
    )


# --- the server -------------------------------------------------------------------------------------------------------

log = structlog.get_logger("leantree-server")

T = TypeVar("T")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Clock = Callable[[], float]

MAX_BODY = 2**20
"""Most bytes of a request, a theorem or a file to check. This is far more than Lean elaborates in reasonable time."""

MAX_WAIT_SECONDS = 600.0
"""Longest wait of `/process/get`, whatever the client asks for: twice the wait of LeanTree's clients."""

LOOK_SECONDS = 1.0
"""Seconds between two checks for idle sessions."""

INACTIVE_SECONDS = 60.0
"""Seconds without use after which a session counts as inactive in the status, as in LeanTree's servers."""


TACTIC_PATIENCE, THEOREM_PATIENCE, COMMAND_PATIENCE = 20.0, 50.0, 300.0
"""Seconds for which the server itself retries a request while no worker is free, because LeanTree's clients do not
retry. They wait 30 s beyond a tactic's limit, 60 s for a theorem, 360 s for a command."""

COMMAND_SECONDS = 60.0
"""Time limit of a client's commands, after their imports are loaded."""


class NoAnswer(Exception):
    """No worker was free for the request: retry after `retry_after` seconds."""

    def __init__(self, reason: str, retry_after: float) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class LeanTreeServer:
    """The handlers of the protocol, with the workers and sessions."""

    def __init__(
        self,
        requests: Requests,
        sessions: Sessions,
        *,
        access: Access | None = None,
        patience: float = 1.0,
        clock: Clock = time.monotonic,
    ) -> None:
        """`access`: who may ask; None: programs of this machine. `patience`: factor of the times for which requests
        wait for a worker; with 0 they get 503 at once."""
        assert isinstance(requests.backend, Pool)  # commands need its workers, which elaborate whole texts
        self._access = access or Access(WebSettings())
        self._patience = patience
        self._requests = requests
        self.pool = requests.backend
        self.sessions = sessions
        self.clock = clock
        self._freed = asyncio.Condition()
        self._open: dict[int, tuple[str, float]] = {}
        """Paths and start times of open requests."""
        self._last_request = 0
        self._stopping = asyncio.Event()

    def application(self) -> web.Application:
        """The web application. Its shutdown ends requests that wait for a process."""
        app = web.Application(middlewares=[self._outermost], client_max_size=MAX_BODY)
        app.router.add_get("/status", self._status)
        app.router.add_post("/process/get", self._get_process)
        for name, handler in (
            ("return", self._return),
            ("command", self._command),
            ("is_valid_source", self._is_valid_source),
            ("proof_from_sorry", self._proof_from_sorry),
        ):
            app.router.add_post(rf"/process/{{process:\d+}}/{name}", handler)
        # Clients of both generations of LeanTree are answered. This word tells which one asks.
        for generation in ("proof", "branch"):
            prefix = rf"/process/{{process:\d+}}/{{generation:{generation}}}/{{state:\d+}}"
            app.router.add_post(f"{prefix}/try_apply_tactic", self._try_apply_tactic)
            app.router.add_post(f"{prefix}/state", self._state)
        # Requests that wait end at shutdown, before the processes do.
        app.cleanup_ctx.append(self._life)
        app.on_shutdown.append(self._shut_down)
        return app

    async def _life(self, _: web.Application) -> AsyncIterator[None]:
        self.pool.start()
        reaper = asyncio.create_task(self._reap(), name="idle sessions")
        try:
            yield
        finally:
            reaper.cancel()
            await asyncio.gather(reaper, return_exceptions=True)
            await self.pool.stop()

    async def _shut_down(self, _: web.Application) -> None:
        self._stopping.set()
        async with self._freed:
            self._freed.notify_all()

    async def _reap(self) -> None:
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self.sessions.idle_seconds))
            for number in self.sessions.expire(self.clock()):
                log.warning("closed an idle session", process=number, seconds=self.sessions.idle_seconds)
                async with self._freed:
                    self._freed.notify()

    # --- around every request ---------------------------------------------------------------------------------------

    @web.middleware
    async def _outermost(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse web pages from elsewhere, which could run Lean; record the request while it is open, and turn
        exceptions into error answers."""
        # 1. Before anything is read.
        if (refusal := self._access.refusal(request)) is not None:
            return _error(refusal.status, refusal.reason)
        if problem := unread_type(request):
            return _error(415, problem)
        # 2. LeanTree's `status` lists open requests with their age.
        self._last_request += 1
        number = self._last_request
        self._open[number] = (request.path, self.clock())
        try:
            # 3. The status tells a client what to do: 503 says that the same request may succeed later.
            return await handler(request)
        except BadBody as error:
            return _error(400, str(error))
        except (UnknownProcess, UnknownState) as error:
            return _error(404, str(error))
        except NoAnswer as error:
            headers = {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
            return _error(503, str(error), OutcomeKind.LOST, headers)
        except web.HTTPException as error:
            return _error(error.status, f"{request.method} {request.path}: {error.reason}")
        finally:
            del self._open[number]

    @contextlib.contextmanager
    def _session(self, request: web.Request) -> Any:
        """The session of a request, marked as used while the request is open. Raises UnknownProcess."""
        session = self.sessions.get(_number(request, "process"), self.clock())
        session.open_requests += 1
        try:
            yield session
        finally:
            session.open_requests -= 1
            session.used = self.clock()

    # --- processes --------------------------------------------------------------------------------------------------

    async def _status(self, _: web.Request) -> web.Response:
        now, sessions = self.clock(), self.sessions.all()
        used = len(sessions)
        # LeanTree's own fields, then ours. Nothing is ever starting: a session takes workers that already run.
        answer = {
            "status": "ready",
            "available_processes": self.sessions.most - used,
            "used_processes": used,
            "starting_processes": 0,
            "max_processes": self.sessions.most,
            "active_requests": [
                {"request_id": number, "path": path, "duration_seconds": round(now - since, 2)}
                for number, (path, since) in self._open.items()
                if path != "/status"
            ],
            "inactive_processes": sum(now - session.used > INACTIVE_SECONDS for session in sessions),
            "total_tracked_processes": used,
            "total_branches": sum(session.states for session in sessions),
            "workers": len(self.pool.processes()),
            "worker_restarts": self.pool.restarts,
            **machine_status(),
        }
        return _json(answer)

    async def _get_process(self, request: web.Request) -> web.Response:
        body = decode(await request.read(), GetProcess)
        wait = MAX_WAIT_SECONDS if body.timeout is None else min(body.timeout, MAX_WAIT_SECONDS)
        session = await self._take(wait if body.blocking else 0.0)
        return _json(ProcessAnswer(session.number if session else None))

    async def _take(self, wait: float) -> Session | None:
        """Wait for a free session. Returns None if there is none in time."""
        session: Session | None = None

        def opened_or_stopping() -> bool:
            nonlocal session
            session = None if self._stopping.is_set() else self.sessions.open(self.clock())
            return session is not None or self._stopping.is_set()

        async with self._freed:
            if not opened_or_stopping() and wait > 0:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._freed.wait_for(opened_or_stopping)
        return session

    async def _return(self, request: web.Request) -> web.Response:
        """Close a session. Idempotent, because a client that gets no answer sends the request again."""
        if not self.sessions.close(_number(request, "process")):
            return _json({"status": "ok", "already_returned": True})
        async with self._freed:
            self._freed.notify()
        return _json({"status": "ok"})

    # --- Lean -------------------------------------------------------------------------------------------------------

    async def _command(self, request: web.Request) -> web.Response:
        """Run Lean commands, which then come before all later texts of this process. The answer is like the REPL's."""
        with self._session(request) as session:
            body = decode(await request.read(), CommandBody)
            plan = TextPlan(joined(session.header, body.command), skip=len(session.header.splitlines()))
            problem = await self._patiently(COMMAND_PATIENCE, lambda: self._elaborate(plan))
            if problem:
                return _error(400, problem, OutcomeKind.ERROR)
            answer: dict[str, Any] = {"env": session.accept(body.command)}
            return _json(answer | ({"messages": plan.messages} if plan.messages else {}))

    async def _is_valid_source(self, request: web.Request) -> web.Response:
        """Answer whether Lean elaborates a text without errors, and without `sorry` in its declarations."""
        with self._session(request) as session:
            source = decode(await request.read(), SourceBody).source
            plan = TextPlan(source) if imports(source) else TextPlan(session.header, source)
            problem = await self._patiently(THEOREM_PATIENCE, lambda: self._elaborate(plan))
            return _json({"is_valid": not (problem or plan.errors or plan.sorries)})

    async def _elaborate(self, plan: TextPlan) -> str:
        """Run a plan. Returns why Lean refuses the header, or did not finish the text; else empty. Raises NoAnswer."""
        pool = self.pool
        try:
            await pool.run(plan, timeout=COMMAND_SECONDS, warm=plan.theorem.header)
        except BadHeader as error:
            return str(error)
        except BackendFull as error:
            raise NoAnswer(str(error), error.retry_after) from error
        except (WorkerEnded, OSError) as error:
            raise NoAnswer(f"Lean does not start: {error}", 1.0) from error
        return f"Lean did not finish the text ({plan.ending}): {plan.reason}" if plan.ending else ""

    async def _proof_from_sorry(self, request: web.Request) -> web.Response:
        with self._session(request) as session:
            text = decode(await request.read(), ProofFromSorry).theorem_with_sorry
            try:
                theorem = read_theorem(text, session.header)
            except BadTheorem as error:
                return _json(TheoremAnswer(error=str(error), kind=FailureKind.BAD_STATEMENT))
            reply = await self._patiently(THEOREM_PATIENCE, lambda: self._run(theorem, (), (), None))
            if isinstance(reply, Failure):
                return _json(TheoremAnswer(error=reply.reason, kind=reply.kind))
            return _json(TheoremAnswer(value=_branch(session, State(theorem, (), reply.state))))

    async def _try_apply_tactic(self, request: web.Request) -> web.Response:
        with self._session(request) as session:
            state = session.state(_number(request, "state"))
            body = decode(await request.read(), TryTactic)
            if not state.text:
                return _json(TacticAnswer(error="no goals", kind=OutcomeKind.ERROR))
            reply = await self._patiently(
                TACTIC_PATIENCE, lambda: self._run(state.theorem, state.path, (body.tactic,), body.timeout)
            )
            if isinstance(reply, Failure):
                return _json(TacticAnswer(error=reply.reason, kind=reply.kind))
            older = request.match_info["generation"] == "proof"
            return _json(_tactic_answer(session, state, body.tactic, reply.outcomes[0], older))

    async def _state(self, request: web.Request) -> web.Response:
        with self._session(request) as session:
            number = _number(request, "state")
            goals = from_state(session.state(number).text)
            return _json({"proof_state_id": number, "branch_id": number, "goals": goals, "is_solved": not goals})

    async def _patiently(self, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """Retry `ask` until it returns an answer. Raises NoAnswer if it does not in `seconds`."""
        if not self._patience:
            return await ask()
        retries = stamina.retry_context(on=_pause, attempts=None, timeout=seconds * self._patience)
        async for attempt in retries:
            with attempt:
                return await ask()
        raise AssertionError("the last attempt raises")

    async def _run(
        self, theorem: Theorem, path: tuple[Step, ...], tactics: tuple[str, ...], milliseconds: float | None
    ) -> LeanRunReply | Failure:
        """Run tactics on a state. Raises NoAnswer."""
        timeout = self._requests.longest if milliseconds is None else milliseconds / 1000
        run_request = LeanRunRequest(theorem=theorem, path=path, tactics=tactics, timeout=timeout)
        reply = await self._requests.run(run_request)
        if isinstance(reply, Busy):
            raise NoAnswer(reply.reason, reply.retry_after)
        assert isinstance(reply, LeanRunReply | Failure)
        if isinstance(reply, LeanRunReply):
            for outcome in reply.outcomes:
                if not outcome.is_tactic_outcome:
                    raise NoAnswer(outcome.message, 1.0)
        return reply


def _pause(error: Exception) -> float | bool:
    """Seconds before a retry; False for errors that a retry does not help."""
    return error.retry_after if isinstance(error, NoAnswer) else False


def _tactic_answer(session: Session, state: State, tactic: str, outcome: Outcome, older: bool) -> TacticAnswer:
    """The answer for a tactic's outcome. If no goal is left, the older generation sends a state without goals, and the
    newer one sends no state."""
    if outcome.kind is OutcomeKind.GOALS:
        steps = [Step(tactic, number, outcome.layout) for number in range(len(outcome.branches))]
        states = [
            State(state.theorem, (*state.path, step), branch.state)
            for step, branch in zip(steps, outcome.branches, strict=True)
        ]
        places = [branch.goals for branch in outcome.branches]
        return TacticAnswer(tuple(_branch(session, *pair) for pair in zip(states, places, strict=True)))
    if outcome.kind is OutcomeKind.PROVED:
        return TacticAnswer((_branch(session, State(state.theorem, (), "")),) if older else ())
    return TacticAnswer(error=outcome.message or str(outcome.kind), kind=outcome.kind)


def _branch(session: Session, state: State, positions: tuple[int, ...] | None = None) -> BranchAnswer:
    number = session.add(state)
    return BranchAnswer(tuple(from_state(state.text)), number, number, positions)


def _number(request: web.Request, name: str) -> int:
    """A number in the address. It is cut to 18 digits, because longer numbers do not exist."""
    return int(request.match_info[name][:18])


def _json(answer: Any, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    body = encode(answer)
    return web.Response(body=body, status=status, content_type="application/json", headers=headers)


def _error(status: int, message: str, kind: str | None = None, headers: dict[str, str] | None = None) -> web.Response:
    return _json(ErrorAnswer(message, kind), status, headers)


# --- the machine's part of the status of a LeanTree server ------------------------------------------------------------


def machine_status() -> dict[str, Any]:
    """Use of each core since the last call, in percent, and of memory, in bytes."""
    memory = psutil.virtual_memory()
    return {
        "cpu_percent_per_core": psutil.cpu_percent(percpu=True),
        "ram": {
            "total_bytes": memory.total,
            "available_bytes": memory.available,
            "used_bytes": memory.used,
            "percent": memory.percent,
        },
        "leanserver_rss_bytes": psutil.Process().memory_info().rss,
    }
