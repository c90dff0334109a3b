"""Spans of the requests of traced attempts, in OpenTelemetry's form (`Attempt.traced` says which attempts are traced).

    prover, learner     `Trace` makes a span of each thing that an attempt waits for. A span has the node that answered,
                        and how long the request waited and ran there, as the reply's headers say
    every node          sends its spans as telemetry four times a second (`common.life.pulse`), and to `[node] otlp`
    learner             writes those of all nodes into the run's folder (`write`), which `read` reads

A trace id follows from the attempt's id, so that no node has to tell another one. Each node's spans have the times of
its own clock.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
import structlog

from common.files import NOT_JSON, NewLines
from common.life import metrics
from common.life.logging import LinesFile, kept_files
from common.machine import own_host, own_version
from common.output.visible import as_json
from common.protocol.messages import Heartbeat, LogRecord, Span, Spans
from common.protocol.subjects import telemetry
from common.watch.logs import LOGS
from common.watch.nodes import NodeHistory

if TYPE_CHECKING:
    import aiohttp

    from common.bus import Bus

log = structlog.get_logger("spans")

FILE = "spans.jsonl"
"""In the run directory. Each line is an ExportTraceServiceRequest of OTLP as JSON, as the OpenTelemetry Collector's
file exporter writes and its receiver reads: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding."""

MOST_SPANS = 2_000
"""Spans of one attempt at one node. Further ones are counted (`left_out`)."""

QUEUE = 10_000
"""Most spans that wait to be sent: those of some attempts, while the broker is away."""

ATTEMPT, PLAY = "attempt", "play"

_lost = metrics.counter("spans_lost", "Spans that were neither sent nor exported: the queue was full")


def sampled(attempt_id: str, share: float) -> bool:
    """Whether an attempt is among this share of all attempts. The same id always gets the same answer."""
    return int.from_bytes(hashlib.blake2b(attempt_id.encode(), digest_size=8).digest()) < share * 2**64


def trace_id(attempt_id: str) -> str:
    """The attempt's trace: 32 hexadecimal digits."""
    return hashlib.blake2b(attempt_id.encode(), digest_size=16).hexdigest()


def root_id(attempt_id: str) -> str:
    """The span of the whole attempt, under which all nodes put theirs: 16 hexadecimal digits."""
    return hashlib.blake2b(b"root " + attempt_id.encode(), digest_size=8).hexdigest()


class SpanQueue:
    """A node's spans that are not sent yet. The oldest go if there are too many."""

    def __init__(self) -> None:
        self._spans: deque[Span] = deque()

    def add(self, span: Span) -> None:
        if len(self._spans) >= QUEUE:
            self._spans.popleft()
            _lost.inc()
        self._spans.append(span)

    def take(self, limit: int) -> list[Span]:
        """Remove and return the oldest ones."""
        return [self._spans.popleft() for _ in range(min(limit, len(self._spans)))]


class Trace:
    """The spans that one node makes of an attempt."""

    def __init__(self, attempt_id: str, add: Callable[[Span], None]) -> None:
        self.attempt_id = attempt_id
        self.left_out = 0
        self._add = add
        self._made = 0
        self._offset = time.time() - time.perf_counter()

    def span(self, name: str, began: float, ended: float, **more: Any) -> None:
        """A span between two times of `time.perf_counter`. `more`: further fields of Span."""
        if self._made >= MOST_SPANS and name != PLAY:
            self.left_out += 1
            return
        self._made += 1
        more = {"id": secrets.token_hex(8), "parent": root_id(self.attempt_id)} | more
        start = began + self._offset
        self._add(Span(attempt=self.attempt_id, name=name, start=start, seconds=max(0.0, ended - began), **more))


def around(attempt_id: str, created: float, recorded: float, parts: Mapping[str, float]) -> Iterator[Span]:
    """The span of a whole attempt, and those of what was before and after it was played, from its parts in seconds."""
    root = root_id(attempt_id)
    yield Span(attempt=attempt_id, id=root, name=ATTEMPT, start=created, seconds=max(0.0, recorded - created))
    queued = created + parts["dispatch"]
    stored = recorded - parts["store"]
    for name, start in (("dispatch", created), ("queue", queued), ("store", stored)):
        yield Span(attempt_id, secrets.token_hex(8), name, start, parts[name], parent=root)


# --- OpenTelemetry's form ---------------------------------------------------------------------------------------------


def as_otlp(role: str, node_id: str, spans: Iterable[Span]) -> dict[str, Any]:
    """An ExportTraceServiceRequest with spans of a node."""
    about = {"service.name": f"proofmesh-{role}", "service.instance.id": node_id, "service.version": own_version()}
    scope = {"scope": {"name": "proofmesh"}, "spans": [_span(each) for each in spans]}
    return {"resourceSpans": [{"resource": {"attributes": _attributes(about)}, "scopeSpans": [scope]}]}


def _span(span: Span) -> dict[str, Any]:
    values: dict[str, Any] = {"proofmesh.attempt": span.attempt}
    for name in ("node", "requests", "waited", "ran", "left_out"):
        if value := getattr(span, name):
            values[f"proofmesh.{name}"] = value
    return {
        "traceId": trace_id(span.attempt),
        "spanId": span.id,
        **({"parentSpanId": span.parent} if span.parent else {}),
        "name": span.name,
        "kind": 3 if span.requests else 1,  # client, internal
        "startTimeUnixNano": str(int(span.start * 1e9)),
        "endTimeUnixNano": str(int((span.start + span.seconds) * 1e9)),
        "attributes": _attributes(values),
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}


# --- the file of a run ------------------------------------------------------------------------------------------------


def write(file: LinesFile, message: Spans) -> None:
    """Append spans that a node has sent."""
    file.write(msgspec.json.encode(as_otlp(message.role, message.node_id, message.spans)).decode())


def read(folder: Path, attempt_id: str) -> list[Span]:
    """The spans of an attempt in a run directory, by their start."""
    wanted, found = trace_id(attempt_id), []
    for line in (
        line for file in kept_files(folder / FILE) for line in NewLines(file).read() if wanted.encode() in line
    ):
        try:
            requests = msgspec.json.decode(line)["resourceSpans"]
            spans = [span for each in requests for scope in each["scopeSpans"] for span in scope["spans"]]
            found += [_read(span, attempt_id) for span in spans if span["traceId"] == wanted]
        except (*NOT_JSON, KeyError, TypeError, ValueError):  # a line that is torn or of another program
            continue
    return sorted(found, key=lambda span: span.start)


RECENT_BYTES = 3 * 512 * 1024
"""How far back the file is read for the latest spans."""


def recent(folder: Path, seconds: float) -> list[tuple[str, Span]]:
    """The spans in a run directory that ended in these last seconds before the latest end, each with the node that made
    it. Of a busy run only those of the file's end."""
    found = []
    for line in NewLines(folder / FILE, RECENT_BYTES).read():
        try:
            for each in msgspec.json.decode(line)["resourceSpans"]:
                about = {name["key"]: name["value"] for name in each["resource"]["attributes"]}
                node = str(about["service.instance.id"]["stringValue"])
                found += [(node, _read(span, "")) for scope in each["scopeSpans"] for span in scope["spans"]]
        except (*NOT_JSON, KeyError, TypeError, ValueError):
            continue
    end = max((span.start + span.seconds for _, span in found), default=0.0)
    return [(node, span) for node, span in found if span.start + span.seconds >= end - seconds]


def _read(span: dict[str, Any], attempt_id: str) -> Span:
    values = {each["key"].removeprefix("proofmesh."): next(iter(each["value"].values())) for each in span["attributes"]}
    began, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
    return Span(
        attempt=attempt_id,
        id=span["spanId"],
        name=span["name"],
        start=began / 1e9,
        seconds=(ended - began) / 1e9,
        parent=span.get("parentSpanId", ""),
        node=str(values.get("node", "")),
        requests=int(values.get("requests", 0)),
        waited=float(values.get("waited", 0.0)),
        ran=float(values.get("ran", 0.0)),
        left_out=int(values.get("left_out", 0)),
    )


# ----------------------------------------------------------------------------------------------------------------------
# The run's folder: what nodes send as telemetry, spans of all, and logs of those on other machines.

ELSEWHERE = "elsewhere.log"
"""Logs of the nodes on other machines. Those of this machine's nodes are beside it, one file for each (`up`)."""


async def keep_telemetry(bus: Bus, folder: Path) -> None:
    """Write spans, logs and heartbeats into a run's folder from now on. Raises OSError if it is not writable."""
    kept = LinesFile(folder / FILE)
    nodes = NodeHistory(folder)
    elsewhere = LinesFile(folder / LOGS / ELSEWHERE)

    def hear_log(_: str, record: LogRecord) -> None:
        if not record.node_id.startswith(f"{record.role}-{own_host()}-"):
            elsewhere.write(line_of(record))

    await bus.subscribe(telemetry("*", "*", "spans"), Spans, lambda _, message: write(kept, message))
    await bus.subscribe(telemetry("*", "*", "log"), LogRecord, hear_log)
    await bus.subscribe(telemetry("*", "*", "heartbeat"), Heartbeat, lambda _, heartbeat: nodes.hear(heartbeat))


def line_of(record: LogRecord) -> str:
    """A record as a line of a log."""
    at = datetime.fromtimestamp(record.time, UTC).isoformat().replace("+00:00", "Z")
    known = {"time": record.time, "timestamp": at, "level": record.level, "event": record.event}
    return as_json(record.fields | known | {"node": record.node_id, "role": record.role})


# ----------------------------------------------------------------------------------------------------------------------
# An OpenTelemetry collector: OTLP over HTTP, as JSON, which needs no package beside aiohttp.

Export = Callable[[Spans], None]
"""Takes spans, and returns at once."""

WAITING = 100
"""Most messages that wait for the collector: some seconds of a busy node. Further ones are lost."""

TRY_SECONDS = (0.5, 2.0, 8.0)
"""Pauses before a message is sent again."""

TIMEOUT_SECONDS = 10.0

AGAIN = frozenset({429, 502, 503, 504})
"""Statuses after which a client sends again, by the specification of OTLP."""

_not_taken = metrics.counter("otlp_lost_spans", "Spans that the OpenTelemetry collector did not take")


@asynccontextmanager
async def exporting(url: str) -> AsyncIterator[Export]:
    """An exporter for as long as the block lasts; without a URL it drops what it gets, because nobody wants it."""
    if not url:
        yield lambda message: None
        return
    waiting: asyncio.Queue[Spans] = asyncio.Queue(WAITING)

    def export(message: Spans) -> None:
        if waiting.full():
            _not_taken.inc(len(message.spans))
        else:
            waiting.put_nowait(message)

    sending = asyncio.create_task(_send(f"{url.rstrip('/')}/v1/traces", waiting), name="otlp")
    try:
        yield export
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


async def _send(url: str, waiting: asyncio.Queue[Spans]) -> None:
    import aiohttp

    well = True
    timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
    async with aiohttp.ClientSession(timeout=timeout, headers=_headers()) as session:
        while True:
            message = await waiting.get()
            body = as_otlp(message.role, message.node_id, message.spans)
            problem = await _sent(session, url, body)
            if problem:
                _not_taken.inc(len(message.spans))
            if problem and well:
                log.warning("the OpenTelemetry collector takes no spans", url=url, reason=problem)
            elif not problem and not well:
                log.info("the OpenTelemetry collector takes spans again", url=url)
            well = not problem


async def _sent(session: aiohttp.ClientSession, url: str, body: dict[str, object]) -> str:
    """Send a body, again after errors that may pass. Returns the problem; empty: none."""
    import aiohttp

    problem = ""
    for pause in (*TRY_SECONDS, 0.0):
        try:
            async with session.post(url, json=body) as response:
                if response.ok:
                    return ""
                problem = f"status {response.status}"
                if response.status not in AGAIN:
                    return problem
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            problem = f"{type(error).__name__}: {error}"
        await asyncio.sleep(pause)
    return problem


def _headers() -> dict[str, str]:
    """What OTEL_EXPORTER_OTLP_HEADERS says, as NAME=VALUE,NAME=VALUE with %-escapes."""
    pairs = (pair.partition("=") for pair in os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(","))
    return {name.strip(): unquote(value.strip()) for name, equals, value in pairs if equals and name.strip()}
