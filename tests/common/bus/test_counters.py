import pytest
from prometheus_client.parser import text_string_to_metric_families

from common.bus import Bus, RemoteFailure
from common.life.metrics import METRICS
from common.protocol.messages import PauseAcknowledged, PauseRequest, WeightsState
from common.protocol.subjects import CHANNELS, NO_CHANNEL, channel_name, samples_at_work
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


async def test_errors_of_callbacks_are_counted_by_channel(bus: Bus) -> None:
    heard = []

    def fail(*arguments: object) -> None:
        heard.append(arguments)
        raise ValueError("broken")

    await bus.subscribe("telemetry.>", PauseRequest, fail)
    for number in range(5):
        await bus.publish(f"telemetry.prover.{named(f'prover-{number}')}.heartbeat", PauseRequest(epoch=0, seconds=0.0))
        await bus.publish(f"telemetry.{number}", PauseRequest(epoch=0, seconds=0.0))
    await eventually(lambda: len(heard) == 10)
    await (await bus.watch_state("weights", WeightsState, fail)).unsubscribe()
    wanted = {"telemetry.<role>.<id>.heartbeat", NO_CHANNEL, "weights"}
    assert wanted <= labels()["proofmesh_bus_handler_errors"] <= {each.name for each in CHANNELS} | {NO_CHANNEL}


def test_a_subject_has_the_name_of_its_channel() -> None:
    assert {channel_name(f"sample.at-work.n-{number}") for number in range(50)} == {"sample.at-work.<node>"}
    assert (
        channel_name("lean.check.gone") == "lean.check.gone"
        and channel_name("theorem.todo.train.learner") != NO_CHANNEL
    )
    assert channel_name("prover-host-1-ab") == channel_name("lean") == channel_name("telemetry.x.y.z") == NO_CHANNEL
