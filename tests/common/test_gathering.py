import asyncio

from common.life.waiting import Gathering


async def first_steps(gathering: Gathering, count: int) -> list[asyncio.Task[None]]:
    tasks = [asyncio.create_task(gathering.wait()) for _ in range(count)]
    await asyncio.sleep(0)
    return tasks


async def test_all_who_come_while_a_window_is_open_go_on_when_it_closes():
    gathering = Gathering(0.05, asyncio.Event())
    loop = asyncio.get_running_loop()
    started = loop.time()
    (first,) = await first_steps(gathering, 1)
    others = await first_steps(gathering, 4)
    await first
    assert loop.time() - started >= 0.05
    async with asyncio.timeout(5):
        await asyncio.gather(*others)


async def test_who_comes_later_opens_a_window_of_his_own():
    gathering = Gathering(1000, asyncio.Event())
    early = await first_steps(gathering, 2)
    gathering.close()
    (late,) = await first_steps(gathering, 1)
    async with asyncio.timeout(5):
        await asyncio.gather(*early)
    assert not late.done()
    gathering.close()
    async with asyncio.timeout(5):
        await late


async def test_nobody_waits_for_a_learner_that_stops_or_without_a_window():
    stopping = asyncio.Event()
    gathering = Gathering(1000, stopping)
    tasks = await first_steps(gathering, 3)
    stopping.set()
    async with asyncio.timeout(5):
        await asyncio.gather(*tasks)
        await gathering.wait()
        await Gathering(0, asyncio.Event()).wait()


async def test_when_the_first_is_cancelled_the_others_go_on():
    gathering = Gathering(1000, asyncio.Event())
    first, *others = await first_steps(gathering, 3)
    first.cancel()
    async with asyncio.timeout(5):
        await asyncio.gather(*others)
    assert first.cancelled()
