import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.bus import Bus, RemoteFailure
from common.life.metrics import METRICS
from common.protocol.messages import PauseAcknowledged, PauseHold, PauseRequest
from common.protocol.subjects import CHANNELS, NO_CHANNEL, samples_at_work
from tests.message_values import named
from tests.waiting import eventually


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
