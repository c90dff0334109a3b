"""Who may do what on a run's subjects and streams, derived from the table of channels (`common.protocol.subjects`).

A role may publish what it sends and subscribe to what it reads, under the run's name, and ask the broker for what it
stores of that. Only the admin creates, changes and deletes streams. Replies come to inboxes that begin with the role,
which no other role hears. The broker enforces this for nodes with keys (`broker.keys`).
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from common.bus import names
from common.protocol.subjects import CHANNELS, EVERY_NODE, OWNER, PURPOSES, Channel, Delivery


class Role(enum.StrEnum):
    """Whose key it is."""

    ADMIN = "admin"
    """The broker node and the operator: everything in the run."""
    LEARNER = "learner"
    STP = "stp"
    """Self-play, `proofmesh stp run`."""
    INFERENCE = "inference"
    PROVER = "prover"
    LEAN_PROXY = "lean-proxy"
    """A lean-proxy that runs tactics."""
    VERIFIER = "verifier"
    """A lean-proxy that also signs verdicts."""
    CLIENT = "client"
    """People and programs that ask for proofs, evaluations and checks: own attempts, own results."""
    UI = "ui"
    """The monitor."""
    VIEWER = "viewer"
    """`status`, `doctor` and other commands that only look."""


@dataclass(frozen=True)
class Rights:
    """What a key may do."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    """`SUBJECT GROUP`: only as a member of the queue group, so that one node cannot copy the requests of all."""
    answers: bool
    """Whether it may reply to each message that it gets, once."""


_NAMES = {
    Role.LEARNER: ("learner", EVERY_NODE),
    Role.STP: ("stp",),
    Role.INFERENCE: ("inference", EVERY_NODE),
    Role.PROVER: ("prover", EVERY_NODE),
    Role.LEAN_PROXY: ("lean-proxy", EVERY_NODE),
    Role.VERIFIER: ("lean-proxy", "verifier", EVERY_NODE),
    Role.CLIENT: ("eval --url", "prove --url", "serve --url"),
    Role.UI: ("ui", EVERY_NODE),
    Role.VIEWER: ("status", "demo"),
}
"""The names in the table of channels of what a role is."""

_ROLE_OF_NODE = {Role.VERIFIER: "lean-proxy"}
"""The role that a node tells others, where it is not that of its key."""

_DURABLE = (Role.LEARNER, Role.STP)
"""Roles that are clients of their own name, with a queue for their results."""

_NO_REGISTRY = (Role.PROVER,)
"""Roles that do not read the registry though the table says so. The broker sends what it has stored to any inbox that a
request names, in whatever role that inbox is; a role that both writes and reads a store could so send what it likes to
whomever it likes. A prover reads the registry only to say early that nobody serves a model."""

_COUNTS_QUEUES = (Role.LEARNER, Role.STP, Role.CLIENT, Role.UI, Role.VIEWER)
"""Roles that look how many messages wait, to notice lost ones."""


def rights(role: Role, run: str, owner: str = OWNER) -> Rights:
    """The rights of a key. `owner`: the name of a client's key."""
    inbox = f"_INBOX.{role}.>"
    if role is Role.ADMIN:
        return Rights((">",), (">",), answers=False)
    publish: list[str] = []
    subscribe = [inbox]
    for channel in CHANNELS:
        if set(channel.senders) & set(_NAMES[role]):
            publish += _sends(channel, role, run, owner)
        if set(channel.readers) & set(_NAMES[role]):
            asks, hears = _reads(channel, role, run, owner)
            publish += asks
            subscribe += hears
    publish += _looks(role, run)
    served = any(channel.replies and set(channel.readers) & set(_NAMES[role]) for channel in CHANNELS)
    return Rights(tuple(dict.fromkeys(publish)), tuple(dict.fromkeys(subscribe)), served)


def _filled(channel: Channel, role: Role, owner: str, *, sends: bool) -> str:
    """The channel's name with the parts that the role does not choose; `*` for the others."""
    own = {}
    if sends:
        own["<role>"] = _ROLE_OF_NODE.get(role, str(role))
    if role is Role.CLIENT:
        own["<owner>"] = owner
    if role in _DURABLE:
        own["<durable client>"] = str(role)
    return ".".join(own.get(part, "*") if part.startswith("<") else part for part in channel.name.split("."))


def _sends(channel: Channel, role: Role, run: str, owner: str) -> Iterator[str]:
    """What the role publishes to send on a channel."""
    name = _filled(channel, role, owner, sends=True)
    match channel.delivery:
        case Delivery.STATE:
            bucket = names.state_bucket(run)
            yield f"$KV.{bucket}.{name}"
            yield f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{name}"
        case Delivery.REGISTRY:
            yield f"$KV.{names.nodes_bucket(run)}.{name}"
        case Delivery.OBJECT:
            bucket = names.weights_bucket(run)
            yield f"$O.{bucket}.C.*"
            yield f"$O.{bucket}.M.*"
            yield f"$JS.API.STREAM.INFO.OBJ_{bucket}"
            yield f"$JS.API.STREAM.PURGE.OBJ_{bucket}"
            yield f"$JS.API.STREAM.MSG.GET.OBJ_{bucket}"
        case _:
            yield f"{run}.{name}"


def _reads(channel: Channel, role: Role, run: str, owner: str) -> tuple[list[str], list[str]]:
    """What the role publishes and subscribes to, to read a channel."""
    name = _filled(channel, role, owner, sends=False)
    subject = f"{run}.{name}"
    match channel.delivery:
        case Delivery.WORK_QUEUE:
            return list(_takes(channel, role, run)), []
        case Delivery.REQUEST | Delivery.REQUEST_ALL:
            return [], [f"{subject} {channel.queue_group}".strip()]
        case Delivery.HISTORY if channel.stored_in == "<run>-answers":
            return list(_follows(names.answers_stream(run), subject)), []
        case Delivery.HISTORY:
            return [f"$JS.API.DIRECT.GET.{names.history_stream(run)}"], [subject]
        case Delivery.STATE:
            bucket = names.state_bucket(run)
            get = f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{name}"
            follows = _follows(f"KV_{bucket}", f"$KV.{bucket}.{name}") if role is Role.INFERENCE else ()
            return [get, *follows], []  # the others look when they need it
        case Delivery.REGISTRY:
            get = f"$JS.API.DIRECT.GET.KV_{names.nodes_bucket(run)}"
            return ([] if role in _NO_REGISTRY else [get]), []
        case Delivery.OBJECT:
            bucket = names.weights_bucket(run)
            return [f"$JS.API.STREAM.MSG.GET.OBJ_{bucket}", *_follows(f"OBJ_{bucket}", f"$O.{bucket}.C.*")], []
        case _:
            return [], [subject]


def _takes(channel: Channel, role: Role, run: str) -> Iterator[str]:
    """What it takes to lease messages of a work queue."""
    if channel.stored_in == "<run>-todo":
        stream, consumers = names.todo_stream(run), [names.TODO_PREFIX + purpose for purpose in PURPOSES]
    else:
        stream, consumers = names.results_stream(run), [names.RESULTS_PREFIX + role]
    for consumer in consumers:
        yield f"$JS.API.CONSUMER.INFO.{stream}.{consumer}"
        yield f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        yield f"$JS.ACK.{stream}.{consumer}.>"


def _follows(stream: str, subject: str) -> Iterator[str]:
    """What it takes to follow one subject of a stream with a consumer of one's own. Its filter is part of the request's
    subject, so that the broker checks it."""
    yield f"$JS.API.STREAM.INFO.{stream}"
    yield f"$JS.API.CONSUMER.CREATE.{stream}.*.{subject}"
    yield f"$JS.API.CONSUMER.INFO.{stream}.*"
    yield f"$JS.FC.{stream}.>"


def _looks(role: Role, run: str) -> Iterator[str]:
    """What the table of channels does not say: questions about the streams as such."""
    if role in _COUNTS_QUEUES:
        yield f"$JS.API.CONSUMER.INFO.{names.todo_stream(run)}.*"
        yield f"$JS.API.CONSUMER.INFO.{names.results_stream(run)}.*"
    if role in _DURABLE:  # they let the store grow for their weights
        yield f"$JS.API.STREAM.UPDATE.OBJ_{names.weights_bucket(run)}"
    if role is Role.VIEWER:
        yield "$JS.API.STREAM.LIST"
        yield "$JS.API.STREAM.NAMES"
        for stream in names.streams_of(run):
            yield f"$JS.API.STREAM.INFO.{stream}"
