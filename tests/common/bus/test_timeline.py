import asyncio

import pytest
import structlog
from hypothesis import given, settings, strategies as st

from common.bus import Bus
from common.life import timeline
from common.life.timeline import TIME_HEADER, Timeline
from common.protocol.messages import PauseAcknowledged, PauseRequest

SECONDS = st.floats(0, 10)
WORK = st.sampled_from(["policy", "lean", "verify", "end", "reply"])
STEPS = st.lists(st.tuples(SECONDS, WORK, st.integers(0, 9), st.tuples(SECONDS, SECONDS, SECONDS)), max_size=60)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(STEPS)
def test_parts_of_overlapping_work_add_up_to_wall_time(steps: list[tuple[float, str, int, tuple[float, ...]]]) -> None:
    now, idle, open_ = 0.0, 0.0, []
    line = Timeline(lambda: now)
    for seconds, what, which, (waited, ran, trip) in steps:
        idle += 0 if open_ else seconds
        now += seconds
        if what not in ("end", "reply"):
            open_.append(line.begin(what))
        elif open_ and what == "end":
            line.end(open_.pop(which % len(open_)))
        elif open_:
            doing = open_[which % len(open_)]
            doing.requests += 1
            doing.answered(waited + ran + trip, {TIME_HEADER: f"{waited} {ran}"})
    parts = line.parts("search")
    assert (sum(parts.values()), parts["search"]) == pytest.approx((now, idle))
    assert min(parts.values()) >= 0


def test_overlapping_work_shares_each_moment_and_splits_its_share_by_what_the_replies_say() -> None:
    now = 0.0
    line = Timeline(lambda: now)
    now = 1.0
    policy = line.begin("policy")  # alone for 1 s, then beside Lean for 2 s
    now = 2.0
    lean = line.begin("lean")
    policy.requests = lean.requests = 1
    now = 4.0
    policy.answered(3.0, {TIME_HEADER: "0.6 1.8"})
    line.end(policy)
    now = 6.0
    lean.answered(1.0, {TIME_HEADER: "0 1"})  # it was busy for 3 s before
    line.end(lean)
    now = 7.0
    wanted = {"search": 2.0, "policy_wait": 0.4, "policy_run": 1.2, "lean_wait": 2.25, "lean_run": 0.75, "bus": 0.4}
    assert line.parts("search") == pytest.approx(wanted)


@pytest.mark.parametrize("header", ["", "1", "a b", "-1 2", "nan 1", "1 inf", "1 2 3"])
def test_a_reply_without_usable_times_counts_as_a_wait(header: str) -> None:
    doing = Timeline(lambda: 0.0).begin("lean")
    doing.requests = 1
    doing.answered(1.0, {TIME_HEADER: header})
    assert doing.split(1.0)["lean_wait"] == 1


async def test_a_request_tells_its_server_the_attempt_and_hears_how_long_it_waited(bus: Bus, other: Bus) -> None:
    bound: list[object] = []

    async def handler(request: PauseRequest) -> PauseAcknowledged:
        bound.append(structlog.contextvars.get_contextvars().get("attempt"))
        timeline.ran(0.0)
        await asyncio.sleep(0.01)
        return PauseAcknowledged(epoch=request.epoch, node_id="node")

    asked = ("ctl.attempt", PauseRequest(1, 0.0), PauseAcknowledged)
    await other.serve("ctl.attempt", PauseRequest, handler, queue="q", limit=1)
    with timeline.attempting("a-1") as line, timeline.doing("lean"):
        await asyncio.create_task(bus.request(*asked, timeout=20))
    await bus.request(*asked, timeout=20)
    assert bound == ["a-1", None]
    parts = line.parts("search")
    assert parts["lean_wait"] >= 0.01 and parts["lean_run"] == 0 and parts["bus"] > 0


def test_a_task_that_outlives_its_attempt_is_not_bound_to_it() -> None:
    with timeline.attempting("a-1"):
        context = timeline.unbound()
        assert timeline.request_headers() == {timeline.ATTEMPT_HEADER: "a-1"}
        assert structlog.contextvars.get_contextvars()["attempt"] == "a-1"
    assert context.run(timeline.request_headers) is None
    assert "attempt" not in context.run(structlog.contextvars.get_contextvars)
