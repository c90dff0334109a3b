"""Creates, updates and removes a run's streams, consumers and buckets on the broker. Their list and sizes are in
`broker.streams`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nats.errors import Error as NatsError
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import APIError, NotFoundError

from common.bus.errors import NoRoom, NotThere, StreamConflict, Unanswered

_EXISTS_DIFFERENTLY = 10058
"""The server's error code for `stream name already in use with a different configuration`."""


@dataclass(frozen=True)
class StreamSpec:
    """A work queue. Sizes in bytes, times in seconds."""

    name: str
    subjects: tuple[str, ...]
    max_bytes: int
    max_message_bytes: int
    duplicate_window: float


@dataclass(frozen=True)
class HistorySpec:
    """A stream with the newest messages of some `publish` subjects, for readers that start later. Old messages are
    dropped."""

    name: str
    subjects: tuple[str, ...]
    max_messages: int
    max_bytes: int
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


@dataclass(frozen=True)
class BucketSpec:
    """A key-value bucket that keeps the last value of each key."""

    name: str
    max_bytes: int
    max_value_bytes: int
    ttl: float = 0.0
    """Seconds until a key expires; 0: never."""


@dataclass(frozen=True)
class ObjectStoreSpec:
    """An object store."""

    name: str
    max_bytes: int
    """Size at the start. Nodes that store objects let it grow (`grow_object_store`); it never shrinks."""


@dataclass(frozen=True)
class RunSpec:
    """All streams, consumers, buckets and object stores of a run."""

    streams: tuple[StreamSpec, ...] = ()
    histories: tuple[HistorySpec, ...] = ()
    consumers: tuple[ConsumerSpec, ...] = ()
    buckets: tuple[BucketSpec, ...] = ()
    objects: tuple[ObjectStoreSpec, ...] = field(default=())


def _work_queue(spec: StreamSpec) -> StreamConfig:
    return StreamConfig(
        name=spec.name,
        subjects=list(spec.subjects),
        retention=RetentionPolicy.WORK_QUEUE,
        storage=StorageType.FILE,
        # A full stream refuses new messages, which stay in the sender's outbox. Dropping old ones would lose attempts.
        discard=DiscardPolicy.NEW,
        max_bytes=spec.max_bytes,
        max_msg_size=spec.max_message_bytes,
        duplicate_window=spec.duplicate_window,
        allow_direct=True,
    )


def _history(spec: HistorySpec) -> StreamConfig:
    return StreamConfig(
        name=spec.name,
        subjects=list(spec.subjects),
        storage=StorageType.FILE,
        discard=DiscardPolicy.OLD,
        max_msgs=spec.max_messages,
        max_bytes=spec.max_bytes,
        max_age=spec.seconds,
        no_ack=not spec.confirmed,
        allow_direct=True,
    )


def _bucket(spec: BucketSpec) -> StreamConfig:
    """A key-value bucket is a stream of this form (ADR-8 of the NATS architecture)."""
    return StreamConfig(
        name=f"KV_{spec.name}",
        subjects=[f"$KV.{spec.name}.>"],
        # On disk even if entries expire within seconds: a killed server forgets memory streams themselves, not only
        # their messages.
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_msgs_per_subject=1,
        max_bytes=spec.max_bytes,
        max_msg_size=spec.max_value_bytes,
        max_age=spec.ttl,
        duplicate_window=min(120.0, spec.ttl) if spec.ttl else 120.0,
        allow_direct=True,
        allow_rollup_hdrs=True,
        deny_delete=True,
    )


def _object_store(spec: ObjectStoreSpec) -> StreamConfig:
    """An object store is a stream of this form (ADR-20 of the NATS architecture)."""
    return StreamConfig(
        name=f"OBJ_{spec.name}",
        subjects=[f"$O.{spec.name}.C.>", f"$O.{spec.name}.M.>"],
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_bytes=spec.max_bytes,
        allow_direct=True,
        allow_rollup_hdrs=True,
    )


def _consumer(spec: ConsumerSpec) -> ConsumerConfig:
    return ConsumerConfig(
        durable_name=spec.name,
        name=spec.name,
        filter_subject=spec.subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=spec.ack_wait,
        # No limit: the node that gets an attempt for the n-th time records it as poisoned. With a limit here, the
        # broker would stop delivering it, and its outcome would never be recorded.
        max_deliver=-1,
        max_ack_pending=spec.max_ack_pending,
        max_waiting=spec.max_waiting,
    )


async def ensure(jetstream: Any, spec: RunSpec) -> None:
    """Create missing streams, and update existing ones to these limits. Raises StreamConflict, Unanswered."""
    configs = [*map(_work_queue, spec.streams), *map(_history, spec.histories), *map(_bucket, spec.buckets)]
    for config in configs:
        await _ensure_stream(jetstream, config)
    for store in spec.objects:
        await _ensure_stream(jetstream, _object_store(store), shrink=False)
    for consumer in spec.consumers:
        try:
            await jetstream.add_consumer(consumer.stream, _consumer(consumer))
        except APIError as error:
            raise StreamConflict(f"consumer {consumer.name} of {consumer.stream}: {error.description}") from error
        except NatsError as error:
            raise Unanswered(f"consumer {consumer.name} of {consumer.stream}: {error}") from error


async def grow_object_store(jetstream: Any, name: str, max_bytes: int) -> None:
    """Let an object store hold at least `max_bytes` bytes.

    Raises NotThere, NoRoom (with the broker's message), Unanswered.
    """
    try:
        current = (await jetstream.stream_info(f"OBJ_{name}")).config
        if 0 <= current.max_bytes < max_bytes:
            await jetstream.update_stream(current.evolve(max_bytes=max_bytes))
    except NotFoundError as error:
        raise NotThere(f"no object store {name}; has the broker created this run's streams?") from error
    except APIError as error:
        raise NoRoom(f"object store {name} cannot hold {max_bytes / 2**20:.0f} MiB: {error.description}") from error
    except NatsError as error:
        raise Unanswered(f"object store {name}: {error}") from error


async def _ensure_stream(jetstream: Any, config: StreamConfig, *, shrink: bool = True) -> None:
    """Create a stream or update it to this configuration. `shrink`: also to a smaller size; the server then deletes
    messages beyond it."""
    try:
        await jetstream.add_stream(config)
    except APIError as error:
        if error.err_code != _EXISTS_DIFFERENTLY:
            raise StreamConflict(f"stream {config.name}: {error.description}") from error
        if not shrink:
            current = (await jetstream.stream_info(config.name)).config
            config = config.evolve(max_bytes=max(current.max_bytes, config.max_bytes or 0))
        await _update_stream(jetstream, config)
    except NatsError as error:
        raise Unanswered(f"stream {config.name}: {error}") from error


async def _update_stream(jetstream: Any, config: StreamConfig) -> None:
    try:
        await jetstream.update_stream(config)
    except APIError as error:
        raise StreamConflict(
            f"stream {config.name} exists with settings that cannot be changed to those of this run "
            f"({error.description}); use another run name, or remove the run's streams from the broker"
        ) from error


async def remove(jetstream: Any, spec: RunSpec) -> None:
    """Delete a run's streams and buckets with their content."""
    names = [
        *(stream.name for stream in spec.streams),
        *(history.name for history in spec.histories),
        *(f"KV_{bucket.name}" for bucket in spec.buckets),
        *(f"OBJ_{store.name}" for store in spec.objects),
    ]
    for name in names:
        try:
            await jetstream.delete_stream(name)
        except NotFoundError:
            continue
