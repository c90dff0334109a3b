"""What a node does beside the engine: pauses, requests at work for a language model, the shelf of versions; without a
broker, and with clocks of the tests."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from common.protocol.messages import (
    Busy,
    Message,
    PauseAcknowledged,
    PauseHold,
    PauseRequest,
    PinnedWeights,
    SampleReply,
    SampleRequest,
    SampleWait,
    TextSample,
    WeightsState,
)
from node.inference.engine.engine import Engine, EngineSet, Job, WeightsId
from node.inference.models import SampleDesk
from node.inference.serving import LONGEST, PauseClock, WorkerPause
from node.inference.settings import EngineSettings
from node.inference.weights import Shelf
from node.learner.learning.compute_hold import LENGTH, ComputeHold
from tests.node.model.tiny import tiny_weights
from tests.waiting import eventually


def test_a_renewed_hold_lasts_longer_a_released_one_ends_and_stale_words_are_refused() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(1, seconds=4.0, now=1.0)
    assert clock.hold(1, seconds=5.0, now=4.0) and clock.paused(8.0)
    assert clock.release(1, now=8.5) and not clock.paused(8.5)
    clock.hold(3, seconds=9.0, now=10.0)
    assert not clock.hold(2, seconds=18.0, now=11.0) and not clock.release(2, now=11.0)
    assert clock.remaining(11.0) == 8.0
    assert not clock.hold(4, seconds=0.0, now=11.0), "already over"


@pytest.mark.parametrize("end", ["expiry", "release", "still held"])
def test_the_share_of_time_paused(end: str) -> None:
    clock = PauseClock(started=100.0)
    clock.hold(1, seconds=50.0 if end == "still held" else 20.0, now=110.0)
    if end == "release":
        clock.hold(1, seconds=30.0, now=120.0)
        clock.release(1, now=130.0)
    now = 130.0 if end == "still held" else 140.0
    assert clock.fraction(now) == pytest.approx(20.0 / (now - 100.0))
    assert clock.fraction(now) == pytest.approx(20.0 / (now - 100.0)), "asking changes nothing"


class Parked:
    """Stands for the worker thread: it parks at once."""

    def park(self, parked: Any) -> None:
        parked()

    def resume(self) -> None:
        pass


def pause_of(clock: Mock) -> WorkerPause:
    return WorkerPause(Parked(), "i1", clock)  # type: ignore[arg-type]


@pytest.mark.parametrize("ahead", [-3600.0, -60.0, 0.0, 20.0, 3600.0])
async def test_trainer_and_inference_never_share_the_gpu_whatever_their_clocks_show(ahead: float) -> None:
    learner, inference = Mock(return_value=1e9 + ahead), Mock(return_value=1e9)
    hold, pause = ComputeHold(), pause_of(inference)
    state = hold.take(learner())
    for clock in (learner, inference):
        clock.return_value += 2.0  # on its way
    hold.confirmed(state)
    await pause.pause(PauseRequest(epoch=state.epoch, seconds=state.seconds))
    begun = inference()
    while pause.remaining:
        for clock in (learner, inference):
            clock.return_value += 0.25
        assert pause.remaining or not hold.ours(learner(), margin=0.0)
    assert inference() - begun == LENGTH, "a crashed learner stops inference no longer than it asked for"


async def test_only_nodes_on_the_gpus_of_the_trainer_pause() -> None:
    clock = Mock(return_value=5.0)
    pauses = {gpu: WorkerPause(Parked(), gpu or "cpu", clock, gpu=gpu) for gpu in ("GPU-a", "GPU-b", "")}  # type: ignore[arg-type]
    both = PauseRequest(epoch=1, seconds=LENGTH, gpus=("GPU-a", "GPU-c"))
    for gpu, pause in pauses.items():
        acknowledged = await pause.pause(both)
        assert isinstance(acknowledged, PauseAcknowledged) and acknowledged.paused == (gpu == "GPU-a")
        pause.announced(PauseHold(epoch=1, seconds=LENGTH, gpus=both.gpus))
        assert pause.remaining == (LENGTH if gpu == "GPU-a" else 0.0)
        pause.announced(PauseHold(epoch=1, seconds=0.0))
        assert pause.remaining == 0.0
        await pause.pause(PauseRequest(epoch=2, seconds=LENGTH))
        assert pause.remaining == LENGTH, "a hold that names no GPU is for everyone"


async def test_no_pause_is_longer_than_the_limit_and_a_hold_that_was_stored_long_ago_is_over() -> None:
    pause = pause_of(Mock(return_value=5.0))
    pause.announced(PauseHold(epoch=1, seconds=LENGTH), age=LENGTH - 4.0)
    assert pause.remaining == 4.0
    pause.announced(PauseHold(epoch=1, seconds=LENGTH), age=3600.0)
    assert pause.remaining == 0.0
    with capture_logs() as lines:
        pause.announced(PauseHold(epoch=1, seconds=2.2e9))  # until the year 2096
        assert pause.remaining == LONGEST
        await pause.pause(PauseRequest(epoch=1, seconds=1e12))
    assert pause.remaining == LONGEST and [line["log_level"] for line in lines] == ["warning", "warning"]


# --- requests at work: held for a while, asked for again, joined, given up --------------------------------------------
@dataclass
class Model:
    """Answers when it is let go."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0
    ended: int = 0

    async def sample(self, request: SampleRequest) -> Message:
        self.begun += 1
        try:
            await self.go.wait()
        finally:
            self.ended += 1
        return SampleReply(samples=(TextSample(request.text),))


@asynccontextmanager
async def desk(model: Model, *, limit: int = 2, hold: float = 0.01, keep: float = 60.0) -> AsyncIterator[SampleDesk]:
    made = SampleDesk(model.sample, "node-1", limit=limit, connected=lambda: True, hold=hold, keep=keep)
    try:
        yield made
    finally:
        await made.drain(0.0)


def request(number: int) -> SampleRequest:
    return SampleRequest(request_id=str(number), model="m", text=f"text {number}")


async def test_work_that_takes_long_is_fetched_later_and_done_once() -> None:
    model = Model()
    async with desk(model) as made:
        assert await made.take(request(1)) == SampleReply(at_work="node-1")
        assert await made.take(request(1)) == SampleReply(at_work="node-1")  # sent again: the answer was lost
        assert await made.wait(SampleWait(request_id="1")) == SampleReply(at_work="node-1")
        assert (model.begun, made.at_work) == (1, 1)
        model.go.set()
        await eventually(lambda: made.at_work == 0)
        for _ in range(2):
            answer = await made.wait(SampleWait(request_id="1"))
            assert isinstance(answer, SampleReply) and answer.samples[0].text == "text 1"
        assert model.begun == 1
        unknown = await made.wait(SampleWait(request_id="2"))
        assert isinstance(unknown, Busy) and unknown.reason == "not at work here"


async def test_work_that_nobody_asks_for_is_given_up() -> None:
    model = Model()
    async with desk(model, hold=0.001, keep=0.01) as made:
        await made.take(request(1))
        await eventually(lambda: model.ended == 1)
        assert made.at_work == 0 and isinstance(await made.wait(SampleWait(request_id="1")), Busy)


async def test_at_the_end_short_work_is_answered_and_long_work_sent_elsewhere() -> None:
    model = Model()
    async with desk(model, hold=60.0) as made:
        waiting = asyncio.create_task(made.take(request(1)))
        await eventually(lambda: made.at_work == 1)
        model.go.set()
        await made.drain(60.0)
        answer = await waiting
        assert isinstance(answer, SampleReply) and answer.samples
        model.go.clear()
        late = asyncio.create_task(made.take(request(2)))
        await eventually(lambda: made.at_work == 1)
        await made.drain(0.0)
        sent_away = await late
        assert isinstance(sent_away, Busy) and sent_away.reason == "the node ends"


# --- versions, and the engines behind them ----------------------------------------------------------------------------
V1, V2, V3 = (WeightsId(version, f"d{version}") for version in (1, 2, 3))


def state(latest: WeightsId, *pinned: WeightsId) -> WeightsState:
    pins = tuple(PinnedWeights(version=pin.version, digest=pin.digest, object_name=f"o{pin.version}") for pin in pinned)
    return WeightsState(version=latest.version, digest=latest.digest, object_name=f"o{latest.version}", pinned=pins)


def test_beyond_the_limit_the_least_recently_used_go_and_other_content_is_another_version() -> None:
    shelf = Shelf(limit=2)
    shelf.announce(state(V3, V1, V2))
    for weights in (V3, V1):
        shelf.add(weights)
    shelf.serve_latest()
    shelf.touch(V1)
    shelf.add(V2)
    assert shelf.tidy() == {V3, V2}
    assert shelf.find(1) == V1, "it can be loaded again"
    shelf = Shelf(limit=2)
    shelf.announce(state(V1))
    shelf.add(V1)
    shelf.serve_latest()
    again = WeightsId(1, "other")
    shelf.announce(state(again))
    assert shelf.find(1) == again and not shelf.serve_latest()
    shelf.add(again)
    assert shelf.serve_latest() and shelf.tidy() == {again}


def installed(engines: EngineSet, version: WeightsId) -> None:
    """The engine of a version, which is the latest now."""
    settings = EngineSettings(slots=2, cells=4, new_tokens=8)
    engines.install(version, Engine(tiny_weights(version.version, ends=8.0), settings))
    engines.latest = version


def test_the_memory_of_a_removed_version_is_free_at_once_without_the_garbage_collector() -> None:
    engines = EngineSet()
    installed(engines, V1)
    engines.submit(Job("a", "x : Nat", 4, seed=1), None)
    while engines.busy:
        engines.step()
    removed, its_cache = weakref.ref(engines.engines[V1]), weakref.ref(engines.engines[V1].prefixes)
    installed(engines, V2)
    gc.disable()
    try:
        engines.keep({V2})
        engines.step()
        assert V1 not in engines.engines and removed() is None and its_cache() is None
    finally:
        gc.enable()


def test_a_job_for_a_version_that_was_put_away_is_refused() -> None:
    engines = EngineSet()
    for version in (V1, V2):
        installed(engines, version)
    engines.submit(Job(0, "⊢ q", 2, seed=3), V1)
    engines.keep({V2})
    (answer,) = engines.step()
    assert answer.finished is None and answer.version == V1 and not engines.busy
