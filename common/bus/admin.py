"""Creates, updates, looks at and removes a run's streams, consumers and buckets on the broker. Their list and sizes are
in `broker.streams`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from common.bus import names
from common.bus.asking import BusError, NoRoom, NotThere, StreamConflict, Unanswered
from common.bus.connection import Replies
from common.bus.stored import api

_LIMITS = {"max_bytes", "max_msgs", "max_msg_size", "duplicate_window", "max_ack_pending", "max_waiting", "max_batch"}
"""Settings of a stream or consumer that are kept if they are larger than needed; -1 is no limit."""

_PER_SUBJECT = "max_msgs_per_subject"
"""The same, but that -1 is not kept: streams of older versions have it."""


@dataclass(frozen=True)
class StreamSpec:
    """A work queue. Sizes in bytes, times in seconds."""

    name: str
    subjects: tuple[str, ...]
    max_bytes: int
    """Size at the start, which the broker reserves on its disk. A stream grows when it fills (`grow`)."""
    most_bytes: int
    """Size to which it may grow."""
    max_message_bytes: int
    duplicate_window: float
    most_waiting: int = 0
    """Most messages on each subject; 0: no limit."""


@dataclass(frozen=True)
class HistorySpec:
    """A stream with the newest messages of some `publish` subjects, for readers that start later. Old messages are
    dropped."""

    name: str
    subjects: tuple[str, ...]
    max_messages: int
    max_bytes: int
    most_bytes: int
    seconds: float = 0.0
    """Seconds until a message is dropped; 0: never."""
    confirmed: bool = False
    """Whether senders wait until a message is stored."""


@dataclass(frozen=True)
class ConsumerSpec:
    """A durable pull consumer of a work queue."""

    name: str
    stream: str
    subject: str
    ack_wait: float
    max_ack_pending: int
    max_waiting: int
    max_batch: int
    """Most messages of one request."""


@dataclass(frozen=True)
class BucketSpec:
    """A key-value bucket that keeps the last value of each key."""

    name: str
    max_bytes: int
    most_bytes: int
    max_value_bytes: int
    ttl: float = 0.0
    """Seconds until a key expires; 0: never."""


@dataclass(frozen=True)
class ObjectStoreSpec:
    """An object store."""

    name: str
    max_bytes: int
    """Size at the start. Nodes that store objects let it grow (`grow`); it never shrinks."""


@dataclass(frozen=True)
class RunSpec:
    """All streams, consumers, buckets and object stores of a run."""

    streams: tuple[StreamSpec, ...] = ()
    histories: tuple[HistorySpec, ...] = ()
    consumers: tuple[ConsumerSpec, ...] = ()
    buckets: tuple[BucketSpec, ...] = ()
    objects: tuple[ObjectStoreSpec, ...] = field(default=())

    def most_bytes(self) -> dict[str, int]:
        """The sizes to which streams may grow, by name. Object stores are left out: nodes that store objects let them
        grow."""
        return (
            {stream.name: stream.most_bytes for stream in self.streams}
            | {history.name: history.most_bytes for history in self.histories}
            | {f"KV_{bucket.name}": bucket.most_bytes for bucket in self.buckets}
        )


def _work_queue(spec: StreamSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": "workqueue",
        "storage": "file",
        # A full stream refuses new messages, which stay in the sender's outbox. Dropping old ones would lose attempts.
        "discard": "new",
        "max_bytes": spec.max_bytes,
        "max_msg_size": spec.max_message_bytes,
        "duplicate_window": _nanoseconds(spec.duplicate_window),
        "allow_direct": True,
        **({"max_msgs_per_subject": spec.most_waiting, "discard_new_per_subject": True} if spec.most_waiting else {}),
    }


def _history(spec: HistorySpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "subjects": list(spec.subjects),
        "retention": "limits",
        "storage": "file",
        "discard": "old",
        "max_msgs": spec.max_messages,
        "max_bytes": spec.max_bytes,
        "max_age": _nanoseconds(spec.seconds),
        "no_ack": not spec.confirmed,
        "allow_direct": True,
    }


def _bucket(spec: BucketSpec) -> dict[str, Any]:
    """A key-value bucket is a stream of this form (ADR-8 of the NATS architecture), but without rollups."""
    return {
        "name": f"KV_{spec.name}",
        "subjects": [f"$KV.{spec.name}.>"],
        "retention": "limits",
        # On disk even if entries expire within seconds: a killed server forgets memory streams themselves, not only
        # their messages.
        "storage": "file",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "max_bytes": spec.max_bytes,
        "max_msg_size": spec.max_value_bytes,
        "max_age": _nanoseconds(spec.ttl),
        "duplicate_window": _nanoseconds(min(120.0, spec.ttl) if spec.ttl else 120.0),
        "allow_direct": True,
        # One message of a node with a rollup header could remove the entries of all others.
        "allow_rollup_hdrs": False,
        "deny_delete": True,
    }


def _object_store(spec: ObjectStoreSpec) -> dict[str, Any]:
    """An object store is a stream of this form (ADR-20 of the NATS architecture)."""
    return {
        "name": f"OBJ_{spec.name}",
        "subjects": [f"$O.{spec.name}.C.>", f"$O.{spec.name}.M.>"],
        "retention": "limits",
        "storage": "file",
        "discard": "new",
        "max_bytes": spec.max_bytes,
        "allow_direct": True,
        "allow_rollup_hdrs": True,
    }


def _consumer(spec: ConsumerSpec) -> dict[str, Any]:
    return {
        "durable_name": spec.name,
        "name": spec.name,
        "filter_subject": spec.subject,
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_wait": _nanoseconds(spec.ack_wait),
        # No limit: the node that gets an attempt for the n-th time records it as poisoned. With a limit here, the
        # broker would stop delivering it, and its outcome would never be recorded.
        "max_deliver": -1,
        "max_ack_pending": spec.max_ack_pending,
        "max_waiting": spec.max_waiting,
        "max_batch": spec.max_batch,
    }


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1e9)


@dataclass(frozen=True)
class StreamState:
    """What a stream holds now."""

    name: str
    bytes: int
    max_bytes: int
    """-1: no limit."""
    messages: int
    last: str
    """Time of its latest message, as the broker writes it (ISO 8601, UTC); empty if it never had one."""

    @property
    def share(self) -> float:
        """The share of its size that is in use."""
        return self.bytes / self.max_bytes if self.max_bytes > 0 else 0.0


def raised(current: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of an existing stream or consumer, raised to what a run needs.

    Larger limits stay, and so does everything that the run does not ask for, such as replicas and placement: an
    operator has set it. Expiry of entries and leases follows the run, because its nodes renew them in time for it.
    """
    result = dict(current)
    for key, value in wanted.items():
        present = current.get(key)
        if key == _PER_SUBJECT and present is not None:
            result[key] = max(present, value)
        elif key not in _LIMITS or present is None or -1 < present < value:
            result[key] = value
    if result.get("max_age"):  # the broker refuses a longer window
        result["duplicate_window"] = min(result.get("duplicate_window", 0), result["max_age"])
    return result


def configurations(spec: RunSpec) -> dict[str, dict[str, Any]]:
    """The wanted configurations of all streams by name, as the broker's JSON."""
    configs = [
        *map(_work_queue, spec.streams),
        *map(_history, spec.histories),
        *map(_bucket, spec.buckets),
        *map(_object_store, spec.objects),
    ]
    return {config["name"]: config for config in configs}


async def ensure(replies: Replies, spec: RunSpec) -> list[str]:
    """Create missing streams and consumers, and raise existing ones to these limits; nothing is lowered. Returns the
    names of the created streams, and of consumers that were created for streams that were there.

    Raises StreamConflict, Unanswered.
    """
    created = []
    for name, wanted in configurations(spec).items():
        if await _ensure_stream(replies, name, wanted):
            created.append(name)
    for consumer in spec.consumers:
        if await _ensure_consumer(replies, consumer) and consumer.stream not in created:
            created.append(f"the consumer {consumer.name}")
    return created


async def _ensure_stream(replies: Replies, name: str, wanted: dict[str, Any]) -> bool:
    """Create a stream or raise it. Returns whether it was created."""
    try:
        current = (await api(replies, f"STREAM.INFO.{name}"))["config"]
    except NotThere:
        await _create_stream(replies, name, wanted)
        return True
    config = raised(current, wanted)
    if config != current:
        try:
            await api(replies, f"STREAM.UPDATE.{name}", config)
        except Unanswered:
            raise
        except BusError as error:
            raise StreamConflict(
                f"stream {name} exists with settings that cannot be changed to those of this run ({error}); use "
                "another run name, or remove the run's streams from the broker (`proofmesh runs remove`)"
            ) from error
    return False


async def _create_stream(replies: Replies, name: str, wanted: dict[str, Any]) -> None:
    try:
        await api(replies, f"STREAM.CREATE.{name}", wanted)
    except Unanswered:
        raise
    except BusError as error:
        advice = ""
        if "insufficient" in str(error):
            advice = "; remove runs that are over (`proofmesh runs list`), or raise [broker] max_store_mb"
        raise StreamConflict(f"stream {name}: {error}{advice}") from error


async def _ensure_consumer(replies: Replies, spec: ConsumerSpec) -> bool:
    """Create a consumer or raise it. Returns whether it was created."""
    wanted, created = _consumer(spec), False
    try:
        current = (await api(replies, f"CONSUMER.INFO.{spec.stream}.{spec.name}"))["config"]
        config = raised(current, wanted)
    except NotThere:
        current, config, created = {}, wanted, True
    if config != current:
        body = {"stream_name": spec.stream, "config": config}
        try:
            await api(replies, f"CONSUMER.DURABLE.CREATE.{spec.stream}.{spec.name}", body)
        except Unanswered:
            raise
        except BusError as error:
            raise StreamConflict(f"consumer {spec.name} of {spec.stream}: {error}") from error
    return created


async def states(replies: Replies, wanted: Iterable[str]) -> list[StreamState]:
    """The states of those of these streams that exist. Raises BusError."""
    found = []
    for name in wanted:
        try:
            found.append(_state(await api(replies, f"STREAM.INFO.{name}")))
        except NotThere:
            continue
    return found


def _state(info: Mapping[str, Any]) -> StreamState:
    config, state = info["config"], info["state"]
    last = "" if state["last_ts"].startswith("0001-") else state["last_ts"]
    return StreamState(config["name"], state["bytes"], config["max_bytes"], state["messages"], last)


async def runs(replies: Replies) -> dict[str, list[StreamState]]:
    """The streams of all runs on the broker, by run. Streams of other programs are left out. Raises BusError."""
    found: dict[str, list[StreamState]] = {}
    total, seen = 1, 0
    while seen < total:
        page = await api(replies, "STREAM.LIST", {"offset": seen})
        infos = page.get("streams") or []
        total = page["total"] if infos else 0
        seen += len(infos)
        for info in infos:
            run = names.run_of(info["config"]["name"], info["config"].get("subjects") or ())
            if run:
                found.setdefault(run, []).append(_state(info))
    return found


async def clock_ahead(replies: Replies) -> float | None:
    """Seconds that this machine's clock is ahead of the broker's, to half of one answer's time; None if the broker has
    no stream, because it tells its time only with one. Raises BusError."""
    found = (await api(replies, "STREAM.NAMES")).get("streams") or []
    if not found:
        return None
    asked = time.time()
    info = await api(replies, f"STREAM.INFO.{found[0]}")
    here = (asked + time.time()) / 2
    return here - datetime.fromisoformat(info["ts"]).timestamp() if "ts" in info else None


async def grow(replies: Replies, name: str, max_bytes: int) -> None:
    """Let a stream hold at least `max_bytes` bytes.

    Raises NotThere, NoRoom (with the broker's message), Unanswered.
    """
    current = (await api(replies, f"STREAM.INFO.{name}"))["config"]
    config = raised(current, {"max_bytes": max_bytes})
    if config == current:
        return
    try:
        await api(replies, f"STREAM.UPDATE.{name}", config)
    except (Unanswered, NotThere):
        raise
    except BusError as error:
        raise NoRoom(f"stream {name} cannot hold {max_bytes / 2**20:.0f} MiB: {error}") from error


async def remove(replies: Replies, streams: Iterable[str]) -> None:
    """Delete streams with their content."""
    for name in streams:
        try:
            await api(replies, f"STREAM.DELETE.{name}")
        except NotThere:
            continue
