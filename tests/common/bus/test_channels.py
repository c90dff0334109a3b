"""Every channel of the table, over a real broker: what its readers make of bad messages, of a message that comes twice,
and of messages that come in another order. A new channel is tested without a line here.
"""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import nats
import pytest
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from pytest import Subtests

from broker.streams import run_spec
from common.bus import Bus, BusSettings, DigestMismatch, Lease, NotThere, RemoteFailure, Signer, names
from common.bus.connection import MALFORMED, _OrderedClient
from common.files import file_digest
from common.protocol.attempts import Purpose
from common.protocol.messages import SCHEMA_VERSION, Failure, FailureKind, Heartbeat, Message, decode, encode
from common.protocol.subjects import CHANNELS, DURABLE_CLIENTS, SIGNED, Channel, Delivery, channel_name
from tests.broker.keyed import covers
from tests.hostile import HOSTILE, harmless
from tests.message_values import example_of, named
from tests.waiting import answered, eventually


def subjects_of(channel: Channel) -> list[str]:
    """The subjects or keys of a channel: all of them where there are few, else one of a node of role `x`."""
    purposes = (Purpose.INTERACTIVE, Purpose.EVAL) if "<owner>" in channel.name else tuple(Purpose)
    few: dict[str, Sequence[str]] = {"<purpose>": purposes, "<durable client>": DURABLE_CLIENTS}
    few |= {part: (named("learner" if ".learner." in channel.name else "x"),) for part in ("<id>", "<node id>")}
    parts = [few.get(part, ("x",)) if part.startswith("<") else (part,) for part in channel.name.split(".")]
    return [".".join(chosen) for chosen in itertools.product(*parts)]


EACH = [(channel, subject) for channel in CHANNELS for subject in subjects_of(channel)]


def bad(channel: Channel) -> list[tuple[FailureKind, bytes]]:
    """Payloads that are no message of a channel, with the kind of their fault."""
    right = encode(example_of(channel.carries[0]))
    plain = msgpack.unpackb(right)
    other_type = msgpack.packb(plain | {"type": HOSTILE})
    malformed = (b"", b"not msgpack at all", right[:-1], b"\x91" * 5_000, other_type)
    return [
        *((FailureKind.MALFORMED, payload) for payload in malformed),
        (FailureKind.VERSION, msgpack.packb(plain | {"v": SCHEMA_VERSION + 1})),
        (FailureKind.OVERSIZED, b"x" * 600_000),
    ]


def payloads(channel: Channel) -> list[bytes]:
    return [payload for _, payload in bad(channel)]


def counted() -> dict[str, float]:
    return {kind: MALFORMED.labels(kind)._value.get() for kind in ("malformed", "version", "oversized")}


def more(before: dict[str, float], faults: list[tuple[FailureKind, bytes]]) -> dict[str, float]:
    """The counts after each of these was counted."""
    return {kind: number + sum(fault == kind for fault, _ in faults) for kind, number in before.items()}


OTHER: dict[type, Callable[[Any], Any]] = {
    str: lambda text: text + "2",
    int: lambda number: number + 1,
    float: lambda number: number + 1.0,
    tuple: lambda _: ("x",),
}


def two(channel: Channel) -> tuple[Message, Message]:
    """Two different messages of a channel; those that name their sender name this process."""
    first = example_of(channel.carries[0])
    if hasattr(first, "node_id") and hasattr(first, "role"):
        first = msgspec.structs.replace(first, node_id=named("x"))
    values = {field.name: getattr(first, field.name) for field in msgspec.structs.fields(type(first))}
    values = {name: value for name, value in values.items() if name not in ("node_id", "role")}
    name = next(name for kind in OTHER for name, value in values.items() if type(value) is kind and name != "v")
    return first, msgspec.structs.replace(first, **{name: OTHER[type(values[name])](values[name])})


@pytest.fixture
async def foreign(broker: BusSettings) -> AsyncIterator[Client]:
    """A foreign client that sends arbitrary payloads."""
    client = _OrderedClient()
    await client.connect(broker.url)
    yield client
    await client.close()


@dataclass(frozen=True)
class Reading:
    """What a check of one subject works with."""

    bus: Bus
    foreign: Client
    folder: Path
    channel: Channel
    subject: str

    async def send(self, *payloads: bytes) -> None:
        """Publish as any program with the broker's password can."""
        for payload in payloads:
            await self.foreign.publish(f"{self.bus.run}.{self.subject}", payload)
        await self.foreign.flush()

    async def store(self, *payloads: bytes, key: str = "") -> None:
        """The same into a stream, which confirms it; with a key, into a bucket."""
        for payload in payloads:
            await self.foreign.jetstream().publish(f"$KV.{key}" if key else f"{self.bus.run}.{self.subject}", payload)


async def nonsense(asked: Msg) -> None:
    await asked.respond(b"\xc1")


async def requests(at: Reading) -> None:
    """A request gets one answer each time that it comes, and a bad one the kind of its fault."""
    (kind,), reply, heard = at.channel.carries, at.channel.replies[0], []

    async def handler(request: Message) -> Message:
        heard.append(request)
        return example_of(reply)

    # 1. A node serves the subject, as the table says.
    signer = Signer.of_file(at.folder / "key.pem") if at.subject in SIGNED else None
    if signer is not None:
        await at.bus.list_verifiers([signer.public])
    group = at.channel.queue_group or None
    served = await at.bus.serve(at.subject, kind, handler, queue=group, limit=9, signer=signer)
    # 2. Bad requests reach no handler, and their senders are told why.
    before = counted()
    for fault, payload in bad(at.channel):
        answer = await at.foreign.request(f"{at.bus.run}.{at.subject}", payload, timeout=10)
        failure = decode(answer.data, Failure)
        assert failure.kind is fault and at.subject in failure.reason
        assert harmless(failure.reason) and "\n" not in failure.reason
    assert (counted(), heard) == (more(before, bad(at.channel)), [])
    # 3. A request that comes twice is answered twice, whatever came before it.
    first, second = two(at.channel)
    for request in (second, first, first):
        assert await at.bus.request(at.subject, request, reply, timeout=10) == example_of(reply)
    assert heard == [second, first, first]
    await served.unsubscribe()
    # 4. An answer that cannot be read is a failure. Without the signature that it needs it is no answer at all, which
    #    tests/common/bus/test_signing.py tests.
    if signer is None:
        answering = await at.foreign.subscribe(f"{at.bus.run}.{at.subject}", cb=nonsense)
        await at.foreign.flush()
        with pytest.raises(RemoteFailure) as failed:
            await at.bus.request_patiently(at.subject, first, reply, timeout=10, deadline=10)
        assert failed.value.kind is FailureKind.MALFORMED
        await answering.unsubscribe()


async def subscribers(at: Reading) -> None:
    """Subscribers pass over bad messages, and hear the others as they were sent."""
    heard: list[Message] = []
    await at.bus.subscribe(at.subject, at.channel.carries, lambda _, message: heard.append(message))
    before, (first, second) = counted(), two(at.channel)
    await at.send(*payloads(at.channel))
    for message in (second, first, first):
        await at.bus.publish(at.subject, message)
    await eventually(lambda: heard == [second, first, first])
    # The bad ones come over another connection, perhaps later.
    await eventually(lambda: counted() == more(before, bad(at.channel)))


async def histories(at: Reading) -> None:
    """So do they, and so do readers that come later."""
    await subscribers(at)
    first, second = two(at.channel)
    if at.subject.startswith("theorem.result."):
        return  # who comes later looks them up by their attempts: tests/broker/test_keys.py

    # The stream has the points and the proofs of all nodes.
    await answered(
        lambda: at.bus.history(at.channel.carries),
        lambda found: [each for each in found if type(each) is type(first)] == [second, first, first],
    )


async def work_queues(at: Reading) -> None:
    """Work is delivered once, and what cannot be read is terminated."""
    specs, subject = run_spec(at.bus.run).consumers, f"{at.bus.run}.{at.subject}"
    (consumer,) = (spec.name for spec in specs if covers(spec.subject, subject))
    before, (first, second) = counted(), two(at.channel)
    *small, large = payloads(at.channel)
    # 1. The broker itself refuses what is over the stream's limit, and drops a second copy.
    await at.store(*small)
    with pytest.raises(nats.js.errors.APIError):
        await at.store(large)
    for message, name in ((first, "1"), (second, "2"), (first, "1")):
        await at.bus.publish_durable(at.subject, message, message_id=f"{at.subject} {name}")
    # 2. The others come once each. What is handed back comes again, behind the rest, and says so.
    leases = await leased(at, consumer, 2)
    assert [lease.message for lease in leases] == [first, second]
    await leases[0].hand_back()
    await leases[1].ack()
    (again,) = await leased(at, consumer, 1)
    assert (again.message, again.deliveries, again.sequence) == (first, 2, leases[0].sequence)
    await again.ack()

    # 3. Nothing is left, and each bad one was counted once.
    for left in (at.bus.backlog, at.bus.leased):
        await answered(left, lambda counts: counts[consumer] == 0)
    assert counted() == more(before, bad(at.channel)[:-1])


async def leased(at: Reading, consumer: str, count: int) -> list[Lease[Any]]:
    found: list[Lease[Any]] = []
    while len(found) < count:
        found += await at.bus.lease(consumer, at.channel.carries, limit=20, wait=10)
    return found


async def states(at: Reading) -> None:
    """State that cannot be read is no value and no change."""
    (kind,), (first, second) = at.channel.carries, two(at.channel)
    await at.bus.put_state(at.subject, first)
    seen: list[Message | None] = []
    await at.bus.watch_state(at.subject, kind, seen.append)
    # A watch may pass over a value that is replaced before it was delivered, so each is waited for.
    for number, value in enumerate((first, second, first), start=2):
        await at.bus.put_state(at.subject, value)
        await eventually(lambda number=number: len(seen) == number)  # type: ignore[misc]
    before = sum(counted().values())
    for number, payload in enumerate(payloads(at.channel)[1:3], start=1):
        await at.store(payload, key=f"{names.state_bucket(at.bus.run)}.{at.subject}")
        assert await at.bus.get_state(at.subject, kind) is None
        await eventually(lambda number=number: sum(counted().values()) - before == 2 * number)  # type: ignore[misc]
    assert seen == [first, first, second, first]


async def registries(at: Reading) -> None:
    """A node is there once, with its last entry; an entry that cannot be read is left out."""
    role, _, name = at.subject.partition(".")
    last = msgspec.structs.replace(example_of(at.channel.carries[0]), role=role, node_id=name, state="running")
    for state in ("starting", "running", "running"):
        await at.bus.register(msgspec.structs.replace(last, state=state))
    for number, payload in enumerate(payloads(at.channel)[1:-1]):
        await at.store(payload, key=f"{names.nodes_bucket(at.bus.run)}.bad-{number}")
    # An entry under another role than it says does not count.
    await at.store(encode(last), key=f"{names.nodes_bucket(at.bus.run)}.other.{name}")
    assert await at.bus.nodes() == [last]


async def objects(at: Reading) -> None:
    """The last file of a name is there, until it is deleted; one that is not what its digest says does not appear."""
    one, two, got = (at.folder / name for name in ("one", "two", "got"))
    for file in (one, two):
        file.write_text(file.name)
        await at.bus.put_object(at.subject, file)
    got.write_text("old")
    with pytest.raises(DigestMismatch, match=f"not {file_digest(one)[:4]}"):
        await at.bus.get_object(at.subject, got, digest=file_digest(one))
    assert got.read_text() == "old" and {file.name for file in at.folder.iterdir()} == {"one", "two", "got"}
    await at.bus.get_object(at.subject, got, digest=file_digest(two))
    assert got.read_text() == "two"
    for _ in range(2):
        await at.bus.delete_object(at.subject)
    with pytest.raises(NotThere):
        await at.bus.get_object(at.subject, got, digest=file_digest(two))


CHECKS: dict[Delivery, Callable[[Reading], Awaitable[None]]] = {
    Delivery.REQUEST: requests,
    Delivery.REQUEST_ALL: requests,
    Delivery.PUBLISH: subscribers,
    Delivery.HISTORY: histories,
    Delivery.WORK_QUEUE: work_queues,
    Delivery.STATE: states,
    Delivery.REGISTRY: registries,
    Delivery.OBJECT: objects,
}


@pytest.mark.parametrize("delivery", Delivery)
async def test_readers_refuse_what_is_bad_and_take_what_comes_twice_or_late_as_the_page_says(
    bus: Bus, foreign: Client, tmp_path: Path, subtests: Subtests, delivery: Delivery
) -> None:
    subjects = [(channel, subject) for channel, subject in EACH if channel.delivery is delivery]
    assert subjects
    for channel, subject in subjects:
        with subtests.test(subject):
            await CHECKS[delivery](Reading(bus, foreign, tmp_path, channel, subject))


def test_the_subjects_of_the_table_are_those_of_its_channels() -> None:
    named = [pair for pair in EACH if pair[0].delivery not in (Delivery.REGISTRY, Delivery.OBJECT)]
    assert [channel_name(subject) for _, subject in named] == [channel.name for channel, _ in named]


async def test_a_sender_of_bad_messages_is_logged_once(bus: Bus, foreign: Client) -> None:
    before = sum(counted().values())
    await bus.subscribe("telemetry.>", Heartbeat, lambda _, message: None)
    with structlog.testing.capture_logs() as logs:
        for _ in range(50):
            await foreign.publish(f"{bus.run}.telemetry.prover.noisy.heartbeat", b"\xc1")
        await foreign.flush()
        await eventually(lambda: sum(counted().values()) == before + 50)
    said = [entry["subject"] for entry in logs if entry["event"] == "bad message"]
    assert said == [f"{bus.run}.telemetry.prover.noisy.heartbeat"]
