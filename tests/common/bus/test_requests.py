import asyncio

import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.bus import Bus, BusSettings, BusyError, RemoteFailure, Unanswered, connection
from common.life.metrics import METRICS
from common.protocol.messages import Busy, Failure, Message, PauseAcknowledged, PauseHold, PauseRequest
from common.protocol.subjects import CHANNELS, NO_CHANNEL, samples_at_work
from tests.background import connected
from tests.message_values import named
from tests.waiting import eventually


def request(epoch: int = 1) -> PauseRequest:
    return PauseRequest(epoch=epoch, seconds=0.0)


async def ask(bus: Bus, subject: str, epoch: int, timeout: float = 20) -> PauseAcknowledged:
    return await bus.request(subject, request(epoch), PauseAcknowledged, timeout=timeout)


async def echo(request: PauseRequest) -> PauseAcknowledged:
    return PauseAcknowledged(epoch=request.epoch, node_id="echo")


async def test_what_nobody_serves_is_unanswered_at_once_and_what_nobody_answers_later(bus: Bus, other: Bus) -> None:
    gone = await bus.serve("ctl.gone", PauseRequest, echo, queue="q", limit=1)
    await gone.unsubscribe()
    async with asyncio.timeout(30):
        with pytest.raises(Unanswered, match="no node serves"):
            await ask(bus, "ctl.gone", 1, timeout=60)
    release = asyncio.Event()

    async def never(request: PauseRequest) -> Message:
        await release.wait()
        return await echo(request)

    await other.serve("ctl.never", PauseRequest, never, queue="q", limit=1)
    with pytest.raises(Unanswered, match=r"within 0\.1 s"):
        await ask(bus, "ctl.never", 1, timeout=0.1)
    release.set()


async def test_beyond_its_limit_a_server_answers_busy(bus: Bus, other: Bus) -> None:
    release = asyncio.Event()
    started: list[int] = []

    async def wait(request: PauseRequest) -> PauseAcknowledged:
        started.append(request.epoch)
        await release.wait()
        return await echo(request)

    await other.serve("ctl.wait", PauseRequest, wait, queue="q", limit=2)
    opened = [asyncio.create_task(ask(bus, "ctl.wait", number)) for number in range(2)]
    await eventually(lambda: len(started) == 2)
    with pytest.raises(BusyError) as busy:
        await ask(bus, "ctl.wait", 2)
    assert 0 < busy.value.retry_after <= 5
    release.set()
    assert [answer.epoch for answer in await asyncio.gather(*opened)] == [0, 1]
    assert (await ask(bus, "ctl.wait", 3)).epoch == 3


@pytest.mark.parametrize("limit", [4, 64], ids=["the server's limit", "the handler's own room"])
async def test_who_floods_a_server_leaves_half_of_it_to_others(
    bus: Bus, other: Bus, broker: BusSettings, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    third = await Bus.connect(broker, run=bus.run, name="third", wait=10)
    monkeypatch.setattr(connection, "WAITS_SECONDS", 60.0)
    slots, waiting = 4, list[asyncio.Event]()

    async def wait(request: PauseRequest) -> PauseAcknowledged:
        if sum(not each.is_set() for each in waiting) >= slots:
            raise BusyError(0.1, "queue full")
        waiting.append(asyncio.Event())
        await waiting[-1].wait()
        return await echo(request)

    def asking(who: Bus, number: int) -> asyncio.Task[PauseAcknowledged]:
        return asyncio.create_task(ask(who, "ctl.shared", number))

    # 1. Alone, the greedy one may take all.
    await other.serve("ctl.shared", PauseRequest, wait, queue="q", limit=limit, room=slots)
    flood = [asking(bus, number) for number in range(slots)]
    await eventually(lambda: len(waiting) == slots)
    with pytest.raises(BusyError, match="queue full"):
        await asking(third, 10)
    # 2. Once somebody else waits, it keeps half.
    for each in waiting[: slots // 2]:
        each.set()
    await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.gather(*flood[: slots // 2])
    with pytest.raises(BusyError, match="2 requests of this sender are at work, and others wait"):
        await asking(bus, 11)
    honest = asking(third, 12)
    await eventually(lambda: len(waiting) == slots + 1)
    # 3. Nobody waits any more.
    flood.append(asking(bus, 13))
    await eventually(lambda: len(waiting) == slots + 2)
    for each in waiting:
        each.set()
    assert (await honest).epoch == 12
    await asyncio.gather(*flood)
    await third.close()


async def test_a_patient_request_outlasts_a_busy_server(bus: Bus, other: Bus) -> None:
    refusals = 0

    async def busy_at_first(request: PauseRequest) -> Message:
        nonlocal refusals
        refusals += 1
        return Busy(retry_after=0.01) if refusals <= 3 else await echo(request)

    await other.serve("ctl.busy", PauseRequest, busy_at_first, queue="q", limit=4)
    answer = await bus.request_patiently("ctl.busy", request(5), PauseAcknowledged, timeout=5, deadline=30)
    assert (answer.epoch, refusals) == (5, 4)


@pytest.mark.parametrize(("retry_after", "tries"), [(100.0, 1), (0.02, 2)], ids=["too late", "the last try cut short"])
async def test_patience_ends_in_time_with_the_last_reason(bus: Bus, other: Bus, retry_after: float, tries: int) -> None:
    asked, over = 0, asyncio.Event()

    async def busy_then_silent(request: PauseRequest) -> Busy:
        nonlocal asked
        asked += 1
        if asked > 1:
            await over.wait()
        return Busy(retry_after=retry_after, reason="all slots taken")

    await other.serve("ctl.full", PauseRequest, busy_then_silent, queue="q", limit=4)
    with pytest.raises(BusyError, match="all slots taken"):
        await bus.request_patiently("ctl.full", request(), PauseAcknowledged, timeout=5, deadline=1.0)
    over.set()
    assert asked == tries
    with pytest.raises(Unanswered):
        await bus.request_patiently("ctl.nobody", request(), PauseAcknowledged, timeout=5, deadline=0.1)


BAD_ANSWERS: list[tuple[Message | Exception, str, str]] = [
    (ZeroDivisionError("nought"), "error", "ZeroDivisionError: nought"),
    (PauseHold(epoch=1, seconds=2.0), "malformed", "PauseHold"),
    (PauseAcknowledged(epoch=1, node_id="x" * 600_000), "oversized", "."),
    (Failure(reason="no such weights", kind="unknown-weights"), "unknown-weights", "no such weights"),
]


async def test_what_is_no_answer_is_a_failure_that_is_not_asked_for_again_and_all_goes_on(bus: Bus, other: Bus) -> None:
    asked = []

    async def fragile(request: PauseRequest) -> Message:
        asked.append(request.epoch)
        answer = BAD_ANSWERS[request.epoch][0] if request.epoch < len(BAD_ANSWERS) else await echo(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    await other.serve("ctl.fragile", PauseRequest, fragile, queue="q", limit=4)
    for epoch, (_, kind, says) in enumerate(BAD_ANSWERS):
        with pytest.raises(RemoteFailure, match=says) as failure:
            await bus.request_patiently("ctl.fragile", request(epoch), PauseAcknowledged, timeout=5, deadline=30)
        assert failure.value.kind == kind
    assert (await ask(bus, "ctl.fragile", 9)).epoch == 9 and asked == [0, 1, 2, 3, 9]


async def test_a_queue_group_shares_requests_and_without_one_everybody_answers(bus: Bus, other: Bus) -> None:
    seen: dict[str, int] = {"a": 0, "b": 0}

    def server(name: str):  # type: ignore[no-untyped-def]
        async def handler(request: PauseRequest) -> PauseAcknowledged:
            seen[name] += 1
            return PauseAcknowledged(epoch=request.epoch, node_id=name)

        return handler

    for name, node in (("a", bus), ("b", other)):
        await node.serve("tactic.shared", PauseRequest, server(name), queue="q", limit=100)
        await node.serve("ctl.all", PauseRequest, server(name), queue=None, limit=100)
    await asyncio.gather(*(ask(bus, "tactic.shared", 1) for _ in range(60)))
    assert seen["a"] + seen["b"] == 60 and min(seen.values()) > 0
    answers = await bus.gather_acks("ctl.all", request(9), PauseAcknowledged, expected=2, timeout=10)
    assert sorted(answer.node_id for answer in answers) == ["a", "b"]


async def test_gathering_ends_at_the_timeout_with_what_came(bus: Bus, other: Bus) -> None:
    await other.serve("ctl.all", PauseRequest, echo, queue=None, limit=4)
    assert len(await bus.gather_acks("ctl.all", request(), PauseAcknowledged, expected=3, timeout=0.8)) == 1
    async with asyncio.timeout(30):  # all have answered: nobody waits for the end of the hour
        await bus.gather_acks("ctl.all", request(), PauseAcknowledged, expected=1, timeout=3600)
    assert await bus.gather_acks("ctl.nobody", request(), PauseAcknowledged, expected=1, timeout=0.1) == []
    assert await bus.gather_acks("ctl.all", request(), PauseAcknowledged, expected=0, timeout=0.3) == []


async def test_a_node_that_leaves_answers_the_requests_at_work(broker: BusSettings, bus: Bus) -> None:
    leaving = await Bus.connect(broker, run=bus.run, name="leaving", wait=10)
    release, started = asyncio.Event(), asyncio.Event()

    async def slow(request: PauseRequest) -> PauseAcknowledged:
        started.set()
        await release.wait()
        return await echo(request)

    await leaving.serve("ctl.slow", PauseRequest, slow, queue="q", limit=1)
    asking = asyncio.create_task(ask(bus, "ctl.slow", 8))
    await started.wait()
    closing = asyncio.create_task(leaving.close())
    await asyncio.sleep(0.01)
    release.set()
    assert (await asking).epoch == 8
    await closing


async def test_runs_do_not_hear_each_other(broker: BusSettings, bus: Bus) -> None:
    async with connected(broker, "another-run") as stranger:
        await stranger.serve("ctl.echo", PauseRequest, echo, queue="q", limit=1)
        with pytest.raises(Unanswered):
            await ask(bus, "ctl.echo", 1)
        assert (await ask(stranger, "ctl.echo", 2)).epoch == 2


def labels() -> dict[str, set[str]]:
    """The values of the label `channel` of each metric that has one."""
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(METRICS.render().decode()):
        for sample in family.samples:
            assert "subject" not in sample.labels
            if "channel" in sample.labels:
                found.setdefault(family.name, set()).add(sample.labels["channel"])
    return found


async def test_fifty_starts_of_a_node_add_one_label(bus: Bus) -> None:
    async def answer(request: PauseRequest) -> PauseAcknowledged:
        if request.epoch:
            raise ValueError("broken")
        return PauseAcknowledged(epoch=0, node_id="n")

    for number in range(50):
        subject = samples_at_work(f"inference-host-{number}-ab12")
        served = await bus.serve(subject, PauseRequest, answer, queue=None, limit=1)
        await bus.request(subject, PauseRequest(epoch=0, seconds=0.0), PauseAcknowledged, timeout=30)
        with pytest.raises(RemoteFailure):
            await bus.request(subject, PauseRequest(epoch=1, seconds=0.0), PauseAcknowledged, timeout=30)
        await served.unsubscribe()
    seen = labels()
    names = {channel.name for channel in CHANNELS} | {NO_CHANNEL}
    for name in ("busy_answers", "handler_errors", "request_seconds", "served_seconds"):
        assert "sample.at-work.<node>" in seen[f"proofmesh_bus_{name}"] <= names


async def test_errors_of_callbacks_are_counted_by_channel_and_all_comes_to_them_in_order(bus: Bus) -> None:
    heard: list[object] = []

    def fail(what: object, *_: object) -> None:
        heard.append(what)
        raise ValueError("broken")

    await bus.subscribe("telemetry.>", PauseRequest, fail)
    sent = []
    for number in range(5):
        sent += [f"telemetry.prover.{named(f'prover-{number}')}.heartbeat", f"telemetry.{number}"]
    for subject in sent:
        await bus.publish(subject, PauseRequest(epoch=0, seconds=0.0))
    await eventually(lambda: heard == sent)
    await bus.watch_state("pause", PauseHold, fail)
    await bus.put_state("pause", hold := PauseHold(epoch=1, seconds=0.0))
    await eventually(lambda: heard == [*sent, None, hold])
    wanted = {"telemetry.<role>.<id>.heartbeat", NO_CHANNEL, "pause"}
    assert wanted <= labels()["proofmesh_bus_handler_errors"] <= {each.name for each in CHANNELS} | {NO_CHANNEL}
