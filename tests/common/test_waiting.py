import asyncio
import signal

import pytest

from common.life.waiting import Gathering, Overdue, all_results, ended_by, unless_stopped, wait_first


async def test_the_first_event_ends_the_wait_and_futures_go_on() -> None:
    event, future = asyncio.Event(), asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(event.set)
    await wait_first(asyncio.Event(), event, future)
    assert event.is_set() and not future.done()
    before = asyncio.all_tasks()
    await wait_first(asyncio.Event(), future, timeout=0)
    assert asyncio.all_tasks() == before and not future.cancelled()


async def test_work_gives_its_result_or_raises_its_error_and_has_ended_when_it_is_stopped() -> None:
    stopping, ended = asyncio.Event(), asyncio.Event()

    async def work() -> int:
        return 7

    async def failing() -> int:
        raise ValueError("no")

    async def endless() -> None:
        try:
            stopping.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    assert await unless_stopped(work(), stopping) == 7
    with pytest.raises(ValueError, match="no"):
        await unless_stopped(failing(), stopping)
    assert await unless_stopped(endless(), stopping) is None and ended.is_set()


async def test_all_results_come_in_order_and_the_first_failure_ends_the_others():
    ended = asyncio.Event()

    async def works(number: int) -> int:
        for _ in range(3 - number):
            await asyncio.sleep(0)
        return number

    async def hangs() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0

    async def fails() -> int:
        raise KeyError("broken")

    assert await all_results(works(number) for number in range(3)) == [0, 1, 2]
    with pytest.raises(KeyError, match="broken"):
        await all_results([hangs(), fails()])
    assert ended.is_set()


async def test_the_first_signal_stops_in_order_and_the_second_cancels():
    stopping, heard = asyncio.Event(), []

    async def work() -> None:
        with ended_by(signal.SIGUSR1, stopping=stopping, heard=lambda: heard.append("once")):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)  # it runs up to its wait
    signal.raise_signal(signal.SIGUSR1)
    await asyncio.wait_for(stopping.wait(), 30)
    assert heard == ["once"] and not task.done()
    signal.raise_signal(signal.SIGUSR1)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)
    assert heard == ["once"]


def test_what_is_overdue_is_told_once_and_a_gap_begins_its_time_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("common.life.waiting.time.monotonic", lambda: clock[0])
    overdue, found = Overdue(), []
    for clock[0], there in ((0, "ab"), (5, "a"), (9, "ab"), (10, "ab"), (11, "ab"), (19, "ab"), (20, "ab")):
        found.append(overdue.look(there, 10.0))
    assert found == [[], [], [], ["a"], [], ["b"], []]


async def first_steps(gathering: Gathering, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(gathering.wait()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_all_who_come_while_a_window_is_open_go_on_when_it_closes_and_who_comes_later_opens_his_own():
    gathering = Gathering(0.05, asyncio.Event())
    loop = asyncio.get_running_loop()
    started = loop.time()
    first, *others = await first_steps(gathering, 5)
    await first
    assert loop.time() - started >= 0.05
    async with asyncio.timeout(5):
        await asyncio.gather(*others)
        gathering = Gathering(1000, asyncio.Event())
        early = await first_steps(gathering, 2)
        gathering.close()
        (late,) = await first_steps(gathering, 1)
        await asyncio.gather(*early)
        assert not late.done()
        gathering.close()
        await late


@pytest.mark.parametrize("ends", ["time", "closed", "stopping"])
async def test_all_go_on_in_the_same_turn_of_the_event_loop_also_who_comes_when_it_stops(ends: str):
    """What the first one starts then takes all of them: a batch of proofs is not one proof and the others behind it."""
    stopping, turn, turns = asyncio.Event(), 0, set[int]()
    gathering = Gathering(0.05 if ends == "time" else 1000, stopping)

    async def one() -> None:
        await gathering.wait()
        turns.add(turn)

    async def count() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    tasks = [asyncio.create_task(one()) for _ in range(4)]
    await asyncio.sleep(0)
    if ends == "closed":
        gathering.close()
    elif ends == "stopping":
        stopping.set()
        tasks.append(asyncio.create_task(one()))
    await asyncio.gather(*tasks)
    counting.cancel()
    assert len(turns) == 1


async def test_nobody_waits_for_a_learner_that_stops_or_for_one_who_was_cancelled_or_without_a_window():
    stopping = asyncio.Event()
    gathering = Gathering(1000, stopping)
    async with asyncio.timeout(5):
        first, *others = await first_steps(gathering, 3)
        first.cancel()
        await asyncio.gather(*others)
        assert first.cancelled()
        tasks = await first_steps(gathering, 3)
        stopping.set()
        await asyncio.gather(*tasks)
        await gathering.wait()
        await Gathering(0, asyncio.Event()).wait()
