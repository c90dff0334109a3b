"""Who may do what on a run's subjects and streams, derived from the table of channels (`common.protocol.subjects`).

A role may publish what it sends and subscribe to what it reads, under the run's name, and ask the broker for what it
stores of that. Only the admin creates, changes and deletes streams. Replies come to inboxes that begin with the role
and the key, which no other key hears. The broker enforces this for nodes with keys (`broker.keys`).

Permissions alone do not suffice. NATS checks on which subject a request is published, not where its reply goes, and it
obeys a reply that goes to `$JS.API.STREAM.DELETE.<stream>`. So streams are in an account of their own, and the keys of
most roles in others, to which NATS brings from there what is listed here and nothing else:

    RUN                 the streams; the broker node, learners, self-play
    RUN.workers         provers, inference nodes, lean-proxies, verifiers
    RUN.ui, RUN.viewer  monitors, commands that only look
    RUN.client.OWNER    people and programs that ask for attempts
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from common.bus import names
from common.protocol.subjects import CHANNELS, EVERY_NODE, OWNER, Channel, Delivery


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
class Use:
    """A subject that a key publishes to, or hears, and the account that answers or publishes there."""

    subject: str
    account: str
    many: bool = False
    """Whether a request may have several replies."""
    slow: bool = False
    """Whether its reply may take as long as Lean works on it. The broker remembers a request until then."""
    stream: bool = False
    """Whether it is heard."""


@dataclass(frozen=True)
class Rights:
    """What a key may do."""

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    """`SUBJECT GROUP`: only as a member of the queue group, so that one node cannot copy the requests of all."""
    answers: bool
    """Whether it may reply to each message that it gets, once."""
    imports: tuple[Use, ...] = ()
    """What it takes for that from other accounts."""


@dataclass(frozen=True)
class _Hear:
    """A subject to subscribe to."""

    subject: str
    group: str = ""
    imports: tuple[Use, ...] = ()


def has_streams(role: Role) -> bool:
    """Whether keys of a role are in the account with the run's streams."""
    return role in (Role.ADMIN, Role.LEARNER, Role.STP)


def account_of(role: Role, run: str, owner: str = OWNER) -> str:
    """The account of a key."""
    if has_streams(role):
        return run
    match role:
        case Role.PROVER | Role.INFERENCE | Role.LEAN_PROXY | Role.VERIFIER:
            return f"{run}.workers"
        case Role.CLIENT:
            return f"{run}.client.{owner}"
        case _:
            return f"{run}.{role}"


_API, _API_ELSEWHERE = "$JS.API.", "broker.api."

_ABOUT = tuple(f"{_API}{call}" for call in ("STREAM.INFO.", "STREAM.LIST", "STREAM.NAMES", "CONSUMER.INFO."))
"""Calls that nats-server answers itself, for the account of who asks, unless another account imports them under another
name. All others are heard by the stream or the consumer that they name."""


def elsewhere(subject: str) -> str:
    """The name of a call of the broker in accounts that have no streams."""
    return _API_ELSEWHERE + subject.removeprefix(_API) if subject.startswith(_ABOUT) else subject


def inbox(role: str, key: str = "") -> str:
    """The beginning of the inboxes of nodes with a key (its public key); empty: without one."""
    return f"_INBOX.{role}.{key[1:17]}" if key else f"_INBOX.{role}"


_NAMES = {
    Role.ADMIN: ("broker", "diagnose", EVERY_NODE),
    Role.LEARNER: ("learner", EVERY_NODE),
    Role.STP: ("stp",),
    Role.INFERENCE: ("inference", EVERY_NODE),
    Role.PROVER: ("prover", EVERY_NODE),
    Role.LEAN_PROXY: ("lean-proxy", EVERY_NODE),
    Role.VERIFIER: ("lean-proxy", "verifier", EVERY_NODE),
    Role.CLIENT: ("eval --url", "prove --url", "serve --url", "suggest --url"),
    Role.UI: ("ui", EVERY_NODE),
    Role.VIEWER: ("status", "demo"),
}
"""The names in the table of channels of what a role is."""

_ROLE_OF_NODE = {Role.VERIFIER: "lean-proxy"}
"""The role that a node tells others, where it is not that of its key."""

_DURABLE = (Role.LEARNER, Role.STP)
"""Roles that are clients of their own name, with a queue for their results."""

_NO_REGISTRY = (Role.PROVER,)
"""Roles that do not read the registry though the table says so. The broker sends what it has stored to any subject of
the account that a request names; who both writes and reads a store could so send there what it likes. A prover reads
the registry only to say early that nobody serves a model."""

_FOLLOWS = (Role.INFERENCE,)
"""Roles that hear of each change of the state that they read. The others look when they need it."""

_COUNTS_QUEUES = (Role.LEARNER, Role.STP, Role.CLIENT, Role.UI, Role.VIEWER)
"""Roles that look how many messages wait, to notice lost ones."""


def rights(role: Role, run: str, owner: str = OWNER, key: str = "") -> Rights:
    """The rights of a key. `owner`: the name of a client's key. `key`: the public key; empty: any of the role."""
    # 1. What the table of channels says.
    asks: list[Use] = []
    hears = [_Hear(f"{inbox(role, key)}.>")]
    for channel in CHANNELS:
        if set(channel.senders) & set(_NAMES[role]):
            asks += _sends(channel, role, run, owner)
        if set(channel.readers) & set(_NAMES[role]):
            asks += _reads(channel, role, run, owner)
            hears += _hears(channel, role, run, owner)
    asks += (Use(f"$JS.API.{call}", run) for call in _looks(role, run))
    served = any(channel.replies and set(channel.readers) & set(_NAMES[role]) for channel in CHANNELS)
    # 2. What of that is in other accounts.
    own = account_of(role, run, owner)
    imports = [*asks, *(each for hear in hears for each in hear.imports)]
    imports = list(dict.fromkeys(each for each in imports if each.account != own))
    if role is Role.ADMIN:
        return Rights((">",), (">",), answers=False, imports=tuple(imports))
    return Rights(
        tuple(dict.fromkeys(ask.subject if ask.account == own else elsewhere(ask.subject) for ask in asks)),
        tuple(dict.fromkeys(f"{hear.subject} {hear.group}".strip() for hear in hears)),
        served,
        tuple(imports),
    )


def _told(role: Role) -> str:
    """The role that a node with this key tells others."""
    return "broker" if role is Role.ADMIN else _ROLE_OF_NODE.get(role, str(role))


def _filled(channel: Channel, role: Role, owner: str, told: str = "*") -> str:
    """The channel's name with the parts that the role does not choose, and the role that its sender tells; `*` for the
    others."""
    own = {"<role>": told}
    if role is Role.CLIENT:
        own["<owner>"] = owner
    if role in _DURABLE:
        own["<durable client>"] = str(role)
    return ".".join(own.get(part, "*") if part.startswith("<") else part for part in channel.name.split("."))


def _sends(channel: Channel, role: Role, run: str, owner: str) -> Iterator[Use]:
    """What the role publishes to send on a channel."""
    name = _filled(channel, role, owner, _told(role))
    match channel.delivery:
        case Delivery.STATE:
            bucket = names.state_bucket(run)
            yield Use(f"$KV.{bucket}.{name}", run)
            yield Use(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{name}", run)
        case Delivery.REGISTRY:
            yield Use(f"$KV.{names.nodes_bucket(run)}.{name}", run)
        case Delivery.OBJECT:
            bucket = names.weights_bucket(run)
            yield Use(f"$O.{bucket}.C.*", run)
            yield Use(f"$O.{bucket}.M.*", run)
            yield Use(f"$JS.API.STREAM.INFO.OBJ_{bucket}", run)
            yield Use(f"$JS.API.STREAM.PURGE.OBJ_{bucket}", run)
            yield Use(f"$JS.API.STREAM.MSG.GET.OBJ_{bucket}", run)
            yield Use(f"$JS.API.DIRECT.GET.OBJ_{bucket}.$O.{bucket}.M.*", run)
        case Delivery.PUBLISH | Delivery.HISTORY if channel.stored_in != "<run>-answers" and role is not Role.CLIENT:
            yield Use(f"{run}.{name}", account_of(role, run, owner))  # whoever reads it gets it from there
        case Delivery.REQUEST | Delivery.REQUEST_ALL | Delivery.PUBLISH:
            many, slow = channel.delivery is Delivery.REQUEST_ALL, channel.delivery is Delivery.REQUEST
            yield Use(f"{run}.{name}", account_of(Role.PROVER, run), many, slow)
        case _:
            yield Use(f"{run}.{name}", run)


def _reads(channel: Channel, role: Role, run: str, owner: str) -> Iterator[Use]:
    """What the role publishes to read a channel."""
    name = _filled(channel, role, owner)
    match channel.delivery:
        case Delivery.WORK_QUEUE:
            yield from _takes(role, run)
        case Delivery.HISTORY if channel.stored_in == "<run>-answers":
            yield Use(f"$JS.API.DIRECT.GET.{names.answers_stream(run)}.{run}.{name}", run)
        case Delivery.HISTORY:
            yield Use(f"$JS.API.DIRECT.GET.{names.history_stream(run)}", run, many=True)
        case Delivery.STATE:
            bucket = names.state_bucket(run)
            yield Use(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{name}", run)
            if role in _FOLLOWS:
                yield Use(f"$JS.API.STREAM.INFO.KV_{bucket}", run)
        case Delivery.REGISTRY if role not in _NO_REGISTRY:
            yield Use(f"$JS.API.DIRECT.GET.KV_{names.nodes_bucket(run)}", run, many=True)
        case Delivery.OBJECT:
            bucket = names.weights_bucket(run)
            yield Use(f"$JS.API.DIRECT.GET.OBJ_{bucket}", run, many=True)
            yield Use(f"$JS.API.DIRECT.GET.OBJ_{bucket}.$O.{bucket}.M.*", run)


def _hears(channel: Channel, role: Role, run: str, owner: str) -> Iterator[_Hear]:
    """What the role subscribes to, to read a channel."""
    prefix = run
    match channel.delivery:
        case Delivery.REQUEST | Delivery.REQUEST_ALL:
            yield _Hear(f"{run}.{_filled(channel, role, owner)}", channel.queue_group)
            return
        case Delivery.STATE if role in _FOLLOWS:
            prefix = f"$KV.{names.state_bucket(run)}"
        case Delivery.PUBLISH | Delivery.HISTORY:
            pass
        case _:
            return
    senders = [each for each in Role if set(channel.senders) & set(_NAMES[each])]
    imports = [
        Use(f"{prefix}.{_filled(channel, role, owner, _told(each))}", account_of(each, run), stream=True)
        for each in senders
        if each is not Role.CLIENT  # what clients publish is a request to the account that hears it
    ]
    yield _Hear(f"{prefix}.{_filled(channel, role, owner)}", imports=tuple(imports))


def _takes(role: Role, run: str) -> Iterator[Use]:
    """What it takes to lease messages of work queues: a durable client its results, a prover all attempts."""
    own = names.RESULTS_PREFIX + role
    todo = (names.todo_stream(run), names.asked_stream(run))
    for consumer in (own,) if role in _DURABLE else names.CONSUMERS:
        stream = names.stream_of(run, consumer)
        if role not in _DURABLE and stream not in todo:
            continue
        yield Use(f"$JS.API.CONSUMER.INFO.{stream}.{consumer}", run)
        yield Use(f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}", run, many=True)
        yield Use(f"$JS.ACK.{stream}.{consumer}.>", run)


def _looks(role: Role, run: str) -> Iterator[str]:
    """What the table of channels does not say: questions about the streams as such."""
    if role in _COUNTS_QUEUES:
        for consumer in names.CONSUMERS:
            yield f"CONSUMER.INFO.{names.stream_of(run, consumer)}.{consumer}"
    if role in _DURABLE:  # they let the store grow for their weights
        yield f"STREAM.UPDATE.OBJ_{names.weights_bucket(run)}"
    if role is Role.VIEWER:
        yield "STREAM.LIST"
        yield "STREAM.NAMES"
        for stream in names.streams_of(run):
            yield f"STREAM.INFO.{stream}"
