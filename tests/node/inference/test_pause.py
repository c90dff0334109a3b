from typing import Any

import pytest
from structlog.testing import capture_logs

from common.protocol.messages import PauseAcknowledged, PauseHold, PauseRequest
from node.inference.serving import LONGEST, PauseClock, WorkerPause
from node.learner.learning.compute_hold import LENGTH, ComputeHold


def test_a_renewed_hold_lasts_longer_and_a_released_one_ends() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(1, seconds=4.0, now=1.0)
    assert clock.hold(1, seconds=5.0, now=4.0)
    assert clock.paused(8.0)
    assert clock.release(1, now=8.5)
    assert not clock.paused(8.5)


def test_stale_words_are_refused() -> None:
    clock = PauseClock(started=0.0)
    clock.hold(3, seconds=9.0, now=1.0)
    assert not clock.hold(2, seconds=18.0, now=2.0)
    assert not clock.release(2, now=2.0)
    assert clock.remaining(2.0) == 8.0
    assert not clock.hold(4, seconds=0.0, now=2.0), "already over"


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


class Clock:
    """A clock that shows what a test says."""

    def __init__(self, shows: float) -> None:
        self.shows = shows

    def __call__(self) -> float:
        return self.shows


def pause_of(clock: Clock) -> WorkerPause:
    return WorkerPause(Parked(), "i1", clock)  # type: ignore[arg-type]


@pytest.mark.parametrize("ahead", [-3600.0, -60.0, 0.0, 20.0, 3600.0])
async def test_trainer_and_inference_never_share_the_gpu_whatever_their_clocks_show(ahead: float) -> None:
    learner, inference = Clock(1e9 + ahead), Clock(1e9)
    hold, pause = ComputeHold(), pause_of(inference)
    state = hold.take(learner())
    for clock in (learner, inference):
        clock.shows += 2.0  # on its way
    hold.confirmed(state)
    await pause.pause(PauseRequest(epoch=state.epoch, seconds=state.seconds))
    begun = inference()
    while pause.remaining:
        for clock in (learner, inference):
            clock.shows += 0.25
        assert pause.remaining or not hold.ours(learner(), margin=0.0)
    assert inference() - begun == LENGTH, "a crashed learner stops inference no longer than it asked for"


async def test_only_nodes_on_the_gpus_of_the_trainer_pause() -> None:
    pauses = {gpu: WorkerPause(Parked(), gpu or "cpu", Clock(5.0), gpu=gpu) for gpu in ("GPU-a", "GPU-b", "")}  # type: ignore[arg-type]
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


async def test_no_pause_is_longer_than_the_limit() -> None:
    clock = Clock(5.0)
    pause = pause_of(clock)
    with capture_logs() as lines:
        pause.announced(PauseHold(epoch=1, seconds=2.2e9))  # until the year 2096
        assert pause.remaining == LONGEST
        await pause.pause(PauseRequest(epoch=1, seconds=1e12))
    assert pause.remaining == LONGEST
    assert [line["log_level"] for line in lines] == ["warning", "warning"]


async def test_a_hold_that_was_stored_long_ago_is_over() -> None:
    pause = pause_of(Clock(5.0))
    pause.announced(PauseHold(epoch=1, seconds=LENGTH), age=LENGTH - 4.0)
    assert pause.remaining == 4.0
    pause.announced(PauseHold(epoch=1, seconds=LENGTH), age=3600.0)
    assert pause.remaining == 0.0
