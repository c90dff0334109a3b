"""Generates `docs/protocol.md`: every subject, stream, bucket and message of a run."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import typing
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from broker import streams
from common import attempts, messages, protocol
from common.bus import ACK_WAIT, NODE_TTL, BucketSpec, HistorySpec, errors, names
from common.protocol import CHANNELS, Channel, Delivery
from scripts.docs import fields

RUN = "<run>"

INTRODUCTION = """\
# Protocol

All nodes exchange [msgpack](https://msgpack.org) messages over NATS. This page lists every subject, stream, bucket and
message. `common/protocol.py` has the table of senders and readers, `common/subjects.py` the names of subjects,
`common/messages.py`, `common/attempts.py` and `common/model_messages.py` the messages, and `broker/streams.py` the
storage limits.

- **Names.** Every subject begins with the run's name and a dot, and every stream and bucket with the run's name and a
  hyphen: `demo.tactic.request`, `demo-results`. One broker serves several runs. A run's name has 1 to 40 lower-case
  letters, digits and inner hyphens.
- **Messages.** A message is a msgpack map with the key `type` (the name of the message), the key `v` (the schema
  version, now {version}) and its fields. Optional fields may be missing. Any msgpack library can read a message.
- **Size.** A message has at most {size} KiB. Larger results are split into parts (`ResultPart`); weights go through the
  object store.
- **Malformed messages** and messages of an unknown schema version are counted (`proofmesh_bus_malformed_total`),
  logged once per sender and subject, and answered with a `Failure` where a reply is expected. They never stop a node.
- **Requests.** Every request may also get the reply `Busy` (retry later, at the same node or another) or `Failure` (a
  retry does not help). A node that gets no reply sends the request again, so answering a request twice is harmless.
"""


def page() -> str:
    """The page as Markdown."""
    head = INTRODUCTION.format(version=messages.SCHEMA_VERSION, size=messages.MAX_MESSAGE_BYTES // 1024)
    parts = [
        head,
        "## Subjects\n",
        _table(channel for channel in CHANNELS if _is_subject(channel)),
        *_notes(channel for channel in CHANNELS if _is_subject(channel)),
        "## Streams, buckets and object stores\n",
        _stored(),
        "Keys and objects in them:\n",
        _table(channel for channel in CHANNELS if not _is_subject(channel)),
        *_notes(channel for channel in CHANNELS if not _is_subject(channel)),
        "## Delivery\n",
        _members(Delivery),
        f"A lease on an attempt or a result lasts {ACK_WAIT:g} seconds unless its reader renews it. An entry in the "
        f"registry lasts {NODE_TTL:g} seconds. A message that is published again with the same id within "
        f"{streams.DUPLICATE_WINDOW:g} seconds is stored once.\n",
        "## Messages\n",
        *(_section(kind) for kind in protocol.all_messages()),
        "## Parts of messages\n",
        *(_section(kind) for kind in _parts()),
        "## Errors of the bus\n",
        "Exceptions of `common.bus` in a node. All are subclasses of `BusError`.\n",
        _errors(),
    ]
    return "\n".join(parts).rstrip() + "\n"


def _is_subject(channel: Channel) -> bool:
    return channel.delivery not in (Delivery.STATE, Delivery.REGISTRY, Delivery.OBJECT)


def _table(channels: Iterable[Channel]) -> str:
    lines = ["| name | delivery | carries | reply | from | to | stored in |", "|---|---|---|---|---|---|---|"]
    for each in channels:
        delivery = each.delivery + (f" (queue group `{each.queue_group}`)" if each.queue_group else "")
        columns = (
            f"`{each.name}`",
            delivery,
            _linked(each.carries) or "a file",
            _linked(each.replies),
            ", ".join(each.senders),
            ", ".join(each.readers),
            fields.code(each.stored_in),
        )
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def _notes(channels: Iterable[Channel]) -> Iterator[str]:
    for each in channels:
        if each.notes:
            yield f"- `{each.name}`: {each.notes}"
    yield ""


def _linked(kinds: Iterable[type]) -> str:
    return ", ".join(f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in kinds)


def _stored() -> str:
    spec = streams.run_spec("RUN")
    lines = ["| name | kind | subjects | limits |", "|---|---|---|---|"]
    for stream in spec.streams:
        limits = f"{_mib(stream.max_bytes)}; if it is full, writers wait"
        lines.append(_row(stream.name, "stream, work queue", stream.subjects, limits))
    for history in spec.histories:
        lines.append(_row(history.name, "stream, newest messages", history.subjects, _history_limits(history)))
    for bucket in spec.buckets:
        lines.append(_row(bucket.name, "key-value bucket", (), _bucket_limits(bucket)))
    for store in spec.objects:
        limits = f"{_mib(store.max_bytes)} at the start; the learner lets it grow"
        lines.append(_row(store.name, "object store", (), limits))
    consumers = ", ".join(f"`{name}`" for name in names.CONSUMERS)
    return "\n".join(lines) + f"\n\nConsumers: {consumers}. Leases at once: {streams.MAX_ACK_PENDING} each.\n"


def _row(name: str, kind: str, subjects: Iterable[str], limits: str) -> str:
    listed = ", ".join(f"`{subject.replace('RUN', RUN, 1)}`" for subject in subjects)
    return f"| `{name.replace('RUN', RUN, 1)}` | {kind} | {listed} | {limits} |"


def _mib(size: int) -> str:
    return f"{size // streams.MIB} MiB"


def _history_limits(spec: HistorySpec) -> str:
    return f"{spec.max_messages} messages, {_mib(spec.max_bytes)}; the oldest are dropped"


def _bucket_limits(spec: BucketSpec) -> str:
    return _mib(spec.max_bytes) + (f"; entries expire after {spec.ttl:g} s" if spec.ttl else "")


def _section(kind: type) -> str:
    lines = [f"### {kind.__name__}\n", fields.doc(kind) + "\n" if fields.doc(kind) else ""]
    if issubclass(kind, enum.Enum):
        return "\n".join([*lines, _members(kind)])
    rows = fields.fields(kind)
    if rows:
        lines += ["| field | type | default | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{row.name}` | {fields.code(row.annotation)} | {fields.code(row.default)} | {fields.cell(row.doc)} |"
            for row in rows
        ]
    lines.append(f"\nDefined in `{kind.__module__.replace('.', '/')}.py`.\n")
    return "\n".join(lines)


def _members(kind: type[enum.Enum]) -> str:
    docs = {row.name: row.doc for row in fields.fields(kind)}
    lines = ["| value | meaning |", "|---|---|"]
    lines += [f"| `{member.value}` | {fields.cell(docs.get(member.name, ''))} |" for member in kind]
    return "\n".join(lines) + "\n"


def _parts() -> list[type]:
    """Structs and enumerations that messages contain, sorted by name."""
    classes: set[type] = set()
    open_classes: list[type] = list(protocol.all_messages())
    while open_classes:
        for part in _classes_in(typing.get_type_hints(open_classes.pop())):
            if part not in classes and not issubclass(part, messages.Message):
                classes.add(part)
                if not issubclass(part, enum.Enum):
                    open_classes.append(part)
    # Some fields of type `str` hold values of these enumerations.
    classes |= {attempts.Method, attempts.Purpose, messages.FailureKind}
    return sorted(classes, key=lambda part: part.__name__)


def _classes_in(hints: Any) -> Iterator[type]:
    """The project's own classes in annotations, at any depth."""
    pending = list(hints.values())
    while pending:
        hint = pending.pop()
        pending += typing.get_args(hint)
        if isinstance(hint, type) and (issubclass(hint, (msgspec.Struct, enum.Enum)) or dataclasses.is_dataclass(hint)):
            yield hint


def _errors() -> str:
    classes = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.BusError)]
    lines = ["| error | meaning |", "|---|---|"]
    lines += [f"| `{kind.__name__}` | {fields.cell(fields.doc(kind))} |" for kind in classes]
    return "\n".join(lines) + "\n"
