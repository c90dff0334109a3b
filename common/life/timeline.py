"""Which attempt the running task works for, and where the attempt's time goes.

    prover      `attempting(id)`: binds the attempt to the task and the tasks that it starts, so each log record and
                each request says which attempt it is for; `doing("lean")` around what is waited for
    bus         sends the attempt's id in a header of each request (`request_headers`). The server of a request binds it
                (`serve`), and replies with how long the request waited and ran (`Served.headers`)
    handler     says by `ran(seconds)` how long the work itself took. Without it, all of the handler's time counts

Expansions overlap, so their times add up to more than the attempt's. `Timeline` gives each moment away once: in equal
shares to all that is in flight then, or to the attempt itself if nothing is.
"""

from __future__ import annotations

import contextvars
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from common.watch.spans import Trace

ATTEMPT_HEADER = "Proofmesh-Attempt"
"""Of a request: the id of the attempt that it is for."""

TIME_HEADER = "Proofmesh-Spent"
"""Of a reply: seconds that the request waited at the node, and that it ran."""

NODE_HEADER = "Proofmesh-Node"
"""Of a reply: the node's id."""

LONGEST_ID = 200
"""Most characters of an attempt's id in a header. What a request says is not checked otherwise."""


class Doing:
    """Something that an attempt waits for, perhaps with several requests, one after another or at once."""

    def __init__(self, kind: str, began: float, shared: float) -> None:
        self.kind, self.began, self.shared = kind, began, shared
        self.requests = 0
        self._ran = self._bus = 0.0
        self.waited = 0.0
        """At the nodes that replied."""
        self.node = ""
        """The node of the last reply."""

    def answered(self, seconds: float, headers: Mapping[str, str] | None) -> float | None:
        """Note a reply that came `seconds` after its request. Returns how many of them request and reply were under
        way; None if the reply does not say how long the node had it."""
        spent = _spent(headers)
        if spent is None:
            return None
        self._ran += spent[1]
        self.waited += spent[0]
        self.node = (headers or {}).get(NODE_HEADER, "")[:LONGEST_ID]
        self._bus += (bus := max(0.0, seconds - sum(spent)))
        return bus

    @property
    def ran(self) -> float:
        """Seconds of work at the nodes that replied."""
        return self._ran

    def split(self, seconds: float) -> dict[str, float]:
        """Shares of these seconds by part; their sum is 1.

        What neither ran nor was on its way is a wait: in a node's queue, for a retry after Busy, for a lost reply.
        Work without a request is done in this process: it ran.
        """
        if not self.requests:
            return {f"{self.kind}_run": 1.0}
        wait = max(0.0, seconds - self._ran - self._bus)
        total = self._ran + self._bus + wait
        if not total:
            return {f"{self.kind}_wait": 1.0}
        return {f"{self.kind}_wait": wait / total, f"{self.kind}_run": self._ran / total, "bus": self._bus / total}


class Timeline:
    """Where the time of one attempt goes. Times are seconds of `clock`."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._last = clock()
        self._shared = 0.0
        """What something that was in flight since the start would have got so far."""
        self._alone = 0.0
        """Time with nothing in flight."""
        self._parts: defaultdict[str, float] = defaultdict(float)
        self._open: set[Doing] = set()
        self.began = self._last
        self.trace: Trace | None = None
        """Makes spans of what the attempt waits for."""

    def begin(self, kind: str) -> Doing:
        """Something is in flight from now on."""
        now = self._advance()
        doing = Doing(kind, now, self._shared)
        self._open.add(doing)
        return doing

    def end(self, doing: Doing) -> None:
        """It is over: its share of the time is known."""
        now = self._advance()
        self._open.discard(doing)
        for part, fraction in doing.split(now - doing.began).items():
            self._parts[part] += fraction * (self._shared - doing.shared)
        if self.trace is not None:
            more = {"node": doing.node, "requests": doing.requests, "waited": doing.waited, "ran": doing.ran}
            self.trace.span(doing.kind, doing.began, now, **more)

    def parts(self, alone: str) -> dict[str, float]:
        """Seconds by part, `KIND_wait`, `KIND_run`, `bus`, and `alone`: with nothing in flight. Their sum is the time
        since the start. Ends what is still in flight."""
        for doing in list(self._open):
            self.end(doing)
        self._advance()
        return {**self._parts, alone: self._alone}

    def _advance(self) -> float:
        now = self._clock()
        if self._open:
            self._shared += (now - self._last) / len(self._open)
        else:
            self._alone += now - self._last
        self._last = now
        return now


_attempt: ContextVar[str] = ContextVar("attempt", default="")
_timeline: ContextVar[Timeline | None] = ContextVar("timeline", default=None)
_doing: ContextVar[Doing | None] = ContextVar("doing", default=None)
_served: ContextVar[Served | None] = ContextVar("served", default=None)


@contextmanager
def attempting(attempt_id: str) -> Iterator[Timeline]:
    """Bind an attempt to this task, and to the tasks that it starts meanwhile, with a new timeline."""
    timeline = Timeline()
    tokens = _attempt.set(attempt_id), _timeline.set(timeline)
    try:
        with structlog.contextvars.bound_contextvars(attempt=attempt_id):
            yield timeline
    finally:
        _attempt.reset(tokens[0])
        _timeline.reset(tokens[1])


def doing(kind: str) -> AbstractContextManager[None]:
    """The attempt of this task, if there is one, waits for this kind of work inside the block."""
    timeline = _timeline.get()
    return nullcontext() if timeline is None else _InFlight(timeline, kind)


class _InFlight:
    """A class, because it is entered for each request: a generator takes twice the time."""

    __slots__ = ("_doing", "_timeline", "_token")

    def __init__(self, timeline: Timeline, kind: str) -> None:
        self._timeline, self._doing = timeline, timeline.begin(kind)

    def __enter__(self) -> None:
        self._token = _doing.set(self._doing)

    def __exit__(self, *_: object) -> None:
        _doing.reset(self._token)
        self._timeline.end(self._doing)


def unbound() -> contextvars.Context:
    """A context for tasks that outlive the attempt that starts them, such as a Lean process."""

    def unbind() -> None:
        structlog.contextvars.unbind_contextvars("attempt")
        _attempt.set("")
        _timeline.set(None)
        _doing.set(None)
        _served.set(None)

    context = contextvars.copy_context()
    context.run(unbind)
    return context


# --- headers of requests and replies ----------------------------------------------------------------------------------


def request_headers() -> dict[str, str] | None:
    """The headers of a request of this task; None if it works for no attempt."""
    attempt_id = _attempt.get()
    return {ATTEMPT_HEADER: attempt_id} if attempt_id else None


def requesting() -> Doing | None:
    """What the request is for that this task sends now; its `answered` takes the reply."""
    if (doing := _doing.get()) is not None:
        doing.requests += 1
    return doing


class Served:
    """A request while it is served."""

    def __init__(self, attempt_id: str) -> None:
        self._for_attempt = bool(attempt_id)
        self.ran: float | None = None
        """Seconds that the work took, if the handler has said so."""

    def waited(self, seconds: float) -> float | None:
        """How many of the seconds since its arrival the request has waited; None if its handler does not say."""
        return None if self.ran is None else max(0.0, seconds - self.ran)

    def headers(self, seconds: float, node: str) -> dict[str, str] | None:
        """The headers of the reply, `seconds` after the request's arrival. None: it is for no attempt, and nobody wants
        to know its time."""
        if not self._for_attempt:
            return None
        ran = seconds if self.ran is None else min(seconds, self.ran)
        return {TIME_HEADER: f"{seconds - ran:.6f} {ran:.6f}", NODE_HEADER: node}


def serve(headers: Mapping[str, str] | None) -> Served:
    """Bind the attempt of a request, if it is for one, to the task that serves it."""
    attempt_id = (headers or {}).get(ATTEMPT_HEADER, "")[:LONGEST_ID]
    if attempt_id:
        structlog.contextvars.bind_contextvars(attempt=attempt_id)
    served = Served(attempt_id)
    _served.set(served)
    return served


def ran(seconds: float) -> None:
    """Of the request that this task serves, this is the time that the work took; it has waited the rest."""
    if (served := _served.get()) is not None:
        served.ran = seconds


def _spent(headers: Mapping[str, str] | None) -> tuple[float, float] | None:
    """Seconds waited and ran, as a reply says; None if it does not, or not in numbers that make sense."""
    try:
        waited, ran = map(float, (headers or {}).get(TIME_HEADER, "").split(" "))
    except ValueError:
        return None
    return (waited, ran) if 0 <= waited < 1e9 and 0 <= ran < 1e9 else None
