"""Spans of the requests of traced attempts, in OpenTelemetry's form (`Attempt.traced` says which attempts are traced).

    prover, learner     `Trace` makes a span of each thing that an attempt waits for. A span has the node that answered,
                        and how long the request waited and ran there, as the reply's headers say
    every node          sends its spans as telemetry four times a second (`common.life.pulse`), and to `[node] otlp`
    learner             writes those of all nodes into the run's folder (`write`), which `read` reads

A trace id follows from the attempt's id, so that no node has to tell another one. Each node's spans have the times of
its own clock.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from common.files import NOT_JSON, NewLines
from common.life import metrics
from common.life.logging import FILE_BACKUPS, LinesFile
from common.machine import own_version
from common.protocol.messages import Span, Spans

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
    files = [folder / FILE, *(folder / f"{FILE}.{number}" for number in range(1, FILE_BACKUPS + 1))]
    for line in (line for file in files for line in NewLines(file).read() if wanted.encode() in line):
        try:
            requests = msgspec.json.decode(line)["resourceSpans"]
            spans = [span for each in requests for scope in each["scopeSpans"] for span in scope["spans"]]
            found += [_read(span, attempt_id) for span in spans if span["traceId"] == wanted]
        except (*NOT_JSON, KeyError, TypeError, ValueError):  # a line that is torn or of another program
            continue
    return sorted(found, key=lambda span: span.start)


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
