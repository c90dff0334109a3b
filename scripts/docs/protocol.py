"""Generates `docs/protocol.md`: every subject, stream, bucket and message of a run."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from broker import streams
from common.bus import ACK_WAIT, NODE_TTL, BucketSpec, HistorySpec, StreamSpec, asking, names
from common.bus.signing import FINGERPRINT
from common.protocol import attempts, messages
from common.protocol.subjects import CHANNELS, Channel, Delivery, all_messages
from node.prover.settings import ProverSettings
from scripts.docs import fields

RUN = "<run>"

INTRODUCTION = """\
# Protocol

All nodes exchange [msgpack](https://msgpack.org) messages over NATS. This page lists every subject, stream, bucket and
message. `common/protocol/subjects.py` has the names of subjects and the table of senders and readers,
`common/protocol/messages.py` and `common/protocol/attempts.py` the messages, `broker/streams.py` the storage limits.

- **Names.** Every subject begins with the run's name and a dot, and every stream and bucket with the run's name and a
  hyphen: `demo.tactic.request`, `demo-results`. One broker serves several runs. A run's name has 1 to 40 lower-case
  letters, digits and inner hyphens.
- **Messages.** A message is a msgpack map with the key `type` (the name of the message), the key `v` (the schema
  version, now {version}) and its fields. Fields with a default may be missing. Any msgpack library can read a message.
- **Size.** A message has at most {size} KiB. Larger results are split into parts (`ResultPart`); weights go through the
  object store.
- **Malformed messages** and messages of an unknown schema version are counted (`proofmesh_bus_malformed_total`),
  logged once per sender and subject, and answered with a `Failure` where a reply is expected. They never stop a node.
- **Requests.** Every request may also get the reply `Busy` (retry later, at the same node or another) or `Failure` (a
  retry does not help). A node that gets no reply sends the request again, so answering a request twice is harmless.

## A program in any language

A program joins a mesh with two libraries, one for NATS and one for msgpack; a third one checks signatures. It needs the
address of the broker and the name of the run. It does not have to register: the registry only shows nodes to each other
and to people. If it does, it signs its entry (*Names of nodes*, below).

- **The envelope.** Every message has `type` and `v`. Send `v` with the version that your program was written for. The
  version increases when a field changes its meaning or a required field is added. A node answers another version with a
  `Failure` of kind `version`, and your program should refuse another version, too.
- **Fields.** New fields with a default may come without a new version. So ignore the fields that you do not know, and
  take the default for those that are missing. An unknown field in your message is ignored as well.
- **Types.** The tables below use these names: `bool`, `int` (64 bits), `float` (a msgpack float or integer), `str`
  (UTF-8), `bytes` (binary), `nil`, `array[T]`, `map[K, V]`, alternatives with `|`, literal values in quotes. Other
  names are parts of messages on this page: maps of their fields, or strings of an enumeration. Bounds follow the type.
  Defaults are written as in JSON; `{{}}` is a map of defaults.
- **`Busy`.** The node's queue is full, or it is paused. Send the same request again after `retry_after` seconds, and
  wait longer after every repetition: half as long again, up to {longest:g} s, is what our nodes do. A queue group may
  have several nodes, and another one may take the repeated request.
- **`Failure`.** The same request would fail again, except with the kind `unknown-weights`: another node may have them,
  or this one soon, so our nodes ask again for a minute. `kind` says why ([FailureKind](#failurekind)), `reason` is for
  people.
- **No reply.** NATS reports at once if nobody serves a subject ("no responders"): a node may be starting, so try again.
  A request whose node is lost gets no reply at all: send it again after a time limit. No request has a limit of its own
  beyond its fields (`timeout`, `seconds`), because it may wait in a queue first. Our nodes repeat a `lean.verify`
  request after {timeout:g} s, and give up after {patience:g} s.
- **Announcements.** The state keys `weights`, `model` and `pause`, and the requests to pause, count only with the
  signature of a learner if the reader knows the learners' keys. Signed are the text "proofmesh 1", the subject
  (`$KV.demo-state.weights`), the SHA-256 digest of the header `Proofmesh-Time` (microseconds since 1970, in decimal),
  and that of the message, joined by zero bytes. An announcement with an earlier time than one that was seen is ignored.
- **Names of nodes.** A node signs its entry in the registry and its telemetry, and readers ignore what is not
  signed. It makes an Ed25519 key when it starts. Its name is its role, a hyphen, any letters, digits and hyphens,
  and at the end a hyphen and the first {fingerprint} hex digits of the SHA-256 digest of the public key (32 bytes):
  so nobody else can speak under it. Headers and signature are as for announcements, over the subject as it is
  published: `$KV.demo-nodes.ROLE.NAME`, `demo.telemetry.ROLE.NAME.heartbeat`. Role and name are the same in the
  message. Times grow from message to message; one that was seen on its subject before does not count again.
- **Signatures.** A verdict (`lean.verify`) counts only with the signature of a verifier, because everybody with the
  broker's password can reply. The header `Proofmesh-Key` has the verifier's public key, `Proofmesh-Signature` an
  Ed25519 signature, both in base64. Signed are the text "proofmesh 1", the subject, the SHA-256 digest of the request
  and that of the reply, with a zero byte between them. Take the key from the operator, not from the reply.
- **Attempts.** A request may say in the header `Proofmesh-Attempt` which attempt it is for. The node's log records then
  carry it, and the reply has the header `Proofmesh-Spent`: the seconds that the request waited at the node and the
  seconds that it ran, with a space between them.
- **Work queues.** Attempts and results are stored in streams and read with JetStream's pull consumers. Acknowledge a
  message when its work is done, and renew the lease of a long one with JetStream's "in progress". Without either, it
  goes to another reader after {lease:g} s. Publish with the header `Nats-Msg-Id`: a repetition is then stored once.
- **Telemetry.** Subscribe to `<run>.telemetry.>` for everything that the monitor shows. Nothing has to be sent.

This program has two proofs verified, one of them wrong. It uses nothing of proofmesh's own code.

```python
{example}```

Its output on a mesh (`pip install nats-py msgpack cryptography`, `proofmesh up FILE`, the verifier's key from
`proofmesh status`, then `python docs/examples/mesh_client.py nats://127.0.0.1:4222 demo KEY`):

```text
accepted | exact fun h => ⟨h.2, h.1⟩ | []
refused | exact fun h => h | []
```
"""

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "mesh_client.py"


def page() -> str:
    """The page as Markdown."""
    # 1. The introduction, with the code's own numbers.
    head = INTRODUCTION.format(
        version=messages.SCHEMA_VERSION,
        size=messages.MAX_MESSAGE_BYTES // 1024,
        longest=asking.LONGEST,
        fingerprint=FINGERPRINT,
        lease=ACK_WAIT,
        timeout=ProverSettings().verify_timeout,
        patience=ProverSettings().verify_patience,
        example=EXAMPLE.read_text(encoding="utf-8"),
    )
    # 2. Sections in the order of the page.
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
        *(_section(kind) for kind in all_messages()),
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
        limits = f"{_growing(stream)}; if it is full, writers wait"
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


def _growing(spec: StreamSpec | HistorySpec | BucketSpec) -> str:
    return f"{_mib(spec.max_bytes)}, grows to {_mib(spec.most_bytes)}"


def _history_limits(spec: HistorySpec) -> str:
    messages_kept = f"{spec.max_messages} messages, " if spec.max_messages > 0 else ""
    age = f"{spec.seconds / 60:g} minutes, " if spec.seconds else ""
    return f"{messages_kept}{age}{_growing(spec)}; the oldest are dropped"


def _bucket_limits(spec: BucketSpec) -> str:
    return _growing(spec) + (f"; entries expire after {spec.ttl:g} s" if spec.ttl else "")


def _section(kind: type) -> str:
    lines = [f"### {kind.__name__}\n", fields.doc(kind) + "\n" if fields.doc(kind) else ""]
    if issubclass(kind, enum.Enum):
        return "\n".join([*lines, _members(kind)])
    hints, defaults = typing.get_type_hints(kind, include_extras=True), _defaults(kind)
    rows = []
    for row in fields.fields(kind):
        default = fields.code(defaults.get(row.name, ""))
        rows.append(f"| `{row.name}` | {_type(hints[row.name])} | {default} | {fields.cell(row.doc)} |")
    if not issubclass(kind, messages.Message) and getattr(kind, "__struct_config__", None):
        tag = kind.__struct_config__.tag  # type: ignore[attr-defined]
        rows[:0] = [f"| `type` | `{tag!r}` |  | Which kind of struct this is. |"] if tag else []
    if rows:
        lines += ["| field | type | default | meaning |", "|---|---|---|---|", *rows]
    lines.append(f"\nDefined in `{kind.__module__.replace('.', '/')}.py`.\n")
    return "\n".join(lines)


def _defaults(kind: type) -> dict[str, str]:
    """The defaults of a class's fields as JSON, with `nil` for None, and `{}` for a struct that has only defaults."""
    found: Any = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else msgspec.structs.fields(kind)
    none = (dataclasses.MISSING, msgspec.NODEFAULT)
    texts = {}
    for field in found:
        if field.default in none and field.default_factory in none:
            continue
        default = field.default_factory() if field.default in none else field.default
        is_struct = isinstance(default, msgspec.Struct) or dataclasses.is_dataclass(default)
        text = "{}" if is_struct and default == type(default)() else msgspec.json.encode(default).decode()
        texts[field.name] = "nil" if text == "null" else text
    return texts


def _type(hint: Any) -> str:
    """The type of a field on the wire, for a cell of a table: in code, then its bounds."""
    return ", ".join([fields.code(_wire_type(hint)), *_bounds(hint)])


def _wire_type(hint: Any) -> str:
    """The type of a field in the page's own names, which are valid Python expressions."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        return _wire_type(arguments[0])
    if origin is typing.Literal:
        return " | ".join(map(repr, arguments))
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(_wire_type, arguments))
    if origin is tuple and arguments[1:] == (...,):
        return f"array[{_wire_type(arguments[0])}]"
    if origin is dict:
        return f"map[{', '.join(map(_wire_type, arguments))}]"
    if hint is type(None):
        return "nil"
    if isinstance(hint, type) and origin is None:
        return hint.__name__
    raise TypeError(f"{hint} has no name on the page of the protocol")


def _bounds(hint: Any) -> Iterator[str]:
    """The bounds in an annotation: of numbers, and of the lengths of texts and arrays."""
    if typing.get_origin(hint) is typing.Annotated:
        meta = hint.__metadata__[0]
        limits = (("", ">=", "ge"), ("", ">", "gt"), ("", "<=", "le"), ("", "<", "lt"))
        lengths = (("length ", ">=", "min_length"), ("length ", "<=", "max_length"))
        for what, sign, name in (*limits, *lengths):
            bound = getattr(meta, name)
            if bound is not None:
                # `typing` keeps one annotation for equal bounds: whether it has 0 or 0.0 depends on who was first.
                yield f"{what}{sign} {int(bound) if bound == int(bound) else bound}"
    for part in typing.get_args(hint):
        yield from _bounds(part)


def _members(kind: type[enum.Enum]) -> str:
    docs = {row.name: row.doc for row in fields.fields(kind)}
    lines = ["| value | meaning |", "|---|---|"]
    lines += [f"| `{member.value}` | {fields.cell(docs.get(member.name, ''))} |" for member in kind]
    return "\n".join(lines) + "\n"


def _parts() -> list[type]:
    """Structs and enumerations that messages contain, sorted by name."""
    classes: set[type] = set()
    open_classes: list[type] = list(all_messages())
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
    classes = [kind for _, kind in inspect.getmembers(asking, inspect.isclass) if issubclass(kind, asking.BusError)]
    lines = ["| error | meaning |", "|---|---|"]
    lines += [f"| `{kind.__name__}` | {fields.cell(fields.doc(kind))} |" for kind in classes]
    return "\n".join(lines) + "\n"
