"""Malformed, oversized and unknown-version payloads on all kinds of subjects are answered or skipped, never fatal."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgpack
import nats
import pytest
import structlog
from nats.aio.client import Client

from common.bus import Bus, BusSettings, RemoteFailure, names
from common.bus.connection import MALFORMED
from common.lean import Theorem
from common.protocol.attempts import LEARNER, Attempt, AttemptOutcome, AttemptResult, Purpose
from common.protocol.messages import (
    SCHEMA_VERSION,
    Failure,
    FailureKind,
    Heartbeat,
    NodeInfo,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    decode,
    encode,
)
from common.protocol.subjects import result, todo
from tests.waiting import eventually

BAD = {
    "malformed": [
        b"",
        b"\xc1",
        b"not msgpack at all",
        msgpack.packb({"type": "Nonsense", "v": SCHEMA_VERSION}),
        b"\x91" * 5_000,
    ],
    "version": [msgpack.packb({"type": kind, "v": 7}) for kind in ("PauseRequest", "Attempt", "Heartbeat")],
    "oversized": [b"x" * 600_000],
}
PAYLOADS = [(kind, payload) for kind, payloads in BAD.items() for payload in payloads]


def counted() -> dict[str, float]:
    return {kind: MALFORMED.labels(kind)._value.get() for kind in BAD}


@pytest.fixture
async def foreign(broker: BusSettings) -> AsyncIterator[Client]:
    """A foreign client that sends arbitrary payloads."""
    client = await nats.connect(broker.url)
    yield client
    await client.close()


@pytest.fixture
def expected() -> dict[str, float]:
    """The expected counters if every bad payload was counted once."""
    return {kind: before + len(BAD[kind]) for kind, before in counted().items()}


async def test_requests_are_answered_with_the_kind_of_fault(
    bus: Bus, foreign: Client, expected: dict[str, float]
) -> None:
    async def handler(request: PauseRequest) -> PauseAcknowledged:
        return PauseAcknowledged(epoch=request.epoch, node_id="x")

    await bus.serve("ctl.x", PauseRequest, handler, queue="q", limit=1)
    for kind, payload in PAYLOADS:
        answer = await foreign.request(f"{bus.run}.ctl.x", payload, timeout=10)
        failure = decode(answer.data, Failure)
        assert failure.kind == kind
        assert "ctl.x" in failure.reason
    assert counted() == expected
    good = await bus.request("ctl.x", PauseRequest(epoch=4, seconds=0.0), PauseAcknowledged, timeout=10)
    assert good.epoch == 4


async def test_telemetry_is_passed_over(bus: Bus, foreign: Client, expected: dict[str, float]) -> None:
    heard: list[Heartbeat] = []
    await bus.subscribe("telemetry.>", Heartbeat, lambda _, message: heard.append(message))
    for _, payload in PAYLOADS:
        await foreign.publish(f"{bus.run}.telemetry.prover.x.heartbeat", payload)
    beat = Heartbeat(node_id="x", role="prover", time=1.0, state="running")
    await foreign.publish(f"{bus.run}.telemetry.prover.x.heartbeat", encode(beat))
    await eventually(lambda: heard == [beat])
    assert counted() == expected


@pytest.mark.parametrize(
    ("subject", "consumer", "good"),
    [
        (
            todo("train"),
            "todo-train",
            Attempt(
                attempt_id="a",
                theorem_id="t",
                theorem=Theorem("t", "", "True"),
                purpose=Purpose.TRAIN,
                simulations=1,
                seed=1,
            ),
        ),
        (
            result(LEARNER),
            "results-learner",
            AttemptResult(
                attempt_id="a", theorem_id="t", purpose=Purpose.TRAIN, prover_id="p", outcome=AttemptOutcome.FAILED
            ),
        ),
    ],
)
async def test_queued_work_is_terminated_and_the_good_comes_through(
    bus: Bus, foreign: Client, subject: str, consumer: str, good: Attempt | AttemptResult
) -> None:
    before = counted()
    jetstream = foreign.jetstream()
    # The broker itself refuses what is over the stream's limit, so that cannot get in.
    payloads = [(kind, payload) for kind, payload in PAYLOADS if kind != "oversized"]
    for _, payload in payloads:
        await jetstream.publish(f"{bus.run}.{subject}", payload)
    with pytest.raises(nats.js.errors.APIError):
        await jetstream.publish(f"{bus.run}.{subject}", BAD["oversized"][0])
    await bus.publish_durable(subject, good, message_id="a")
    leases: list[object] = []
    while not leases:
        leases = await bus.lease(consumer, type(good), limit=20, wait=10)
    assert [lease.message for lease in leases] == [good]  # type: ignore[attr-defined]
    await leases[0].ack()  # type: ignore[attr-defined]
    seen = counted()
    assert sum(seen.values()) - sum(before.values()) == len(payloads)
    assert (await bus.leased())[consumer] == 0
    assert (await bus.backlog())[consumer] == 0


async def test_state_that_cannot_be_read_is_no_value_and_no_change(bus: Bus, foreign: Client) -> None:
    bucket = names.state_bucket(bus.run)
    seen: list[PauseHold | None] = []
    await bus.watch_state("pause", PauseHold, seen.append)
    await bus.put_state("pause", PauseHold(epoch=1, seconds=1.0))
    # A watch may pass over a value that is replaced before it was delivered, so each is waited for.
    await eventually(lambda: len(seen) == 2)
    before = sum(counted().values())
    for number, payload in enumerate((b"\xc1", msgpack.packb({"type": "PauseHold", "v": 7})), start=1):
        await foreign.jetstream().publish(f"$KV.{bucket}.pause", payload)
        assert await bus.get_state("pause", PauseHold) is None
        await eventually(lambda number=number: sum(counted().values()) - before == 2 * number)
    await bus.put_state("pause", PauseHold(epoch=2, seconds=2.0))
    await eventually(lambda: len(seen) >= 3)
    assert seen == [None, PauseHold(epoch=1, seconds=1.0), PauseHold(epoch=2, seconds=2.0)]
    assert sum(counted().values()) - before == 4  # each payload read once, watched once


async def test_a_registry_entry_that_cannot_be_read_is_left_out(bus: Bus, foreign: Client) -> None:
    info = NodeInfo(node_id="good", role="prover", host="h", pid=1, version="0", started=1.0)
    await bus.register(info)
    await foreign.jetstream().publish(f"$KV.{names.nodes_bucket(bus.run)}.bad", b"\xc1")
    assert await bus.nodes() == [info]


async def test_an_answer_that_cannot_be_read_is_a_failure(bus: Bus, foreign: Client) -> None:
    async def nonsense(message: nats.aio.msg.Msg) -> None:
        await message.respond(b"\xc1")

    await foreign.subscribe(f"{bus.run}.ctl.x", cb=nonsense)
    await foreign.flush()
    with pytest.raises(RemoteFailure) as failure:
        await bus.request_patiently(
            "ctl.x", PauseRequest(epoch=1, seconds=0.0), PauseAcknowledged, timeout=10, deadline=10
        )
    assert failure.value.kind is FailureKind.MALFORMED


async def test_a_sender_of_bad_messages_is_logged_once(bus: Bus, foreign: Client) -> None:
    before = sum(counted().values())
    await bus.subscribe("telemetry.>", Heartbeat, lambda _, message: None)
    with structlog.testing.capture_logs() as logs:
        for _ in range(50):
            await foreign.publish(f"{bus.run}.telemetry.prover.noisy.heartbeat", b"\xc1")
        await foreign.flush()
        await eventually(lambda: sum(counted().values()) == before + 50)
    said = [entry for entry in logs if entry["event"] == "bad message"]
    assert len(said) == 1
    assert said[0]["subject"] == f"{bus.run}.telemetry.prover.noisy.heartbeat"
