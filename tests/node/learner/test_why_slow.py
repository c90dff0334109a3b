"""What is slow, and why: four real faults on a mesh with real Lean, network, prover and records. `top` and `report`
name each of them."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from common.bus import Bus, BusSettings
from common.life import faults
from common.records.lately import Fault
from common.records.store import Store
from node.learner.run import Run
from tests.node.learner.works import check_fault, collecting, dispatching
from tests.node.prover.nodes import inference_node, run_folder, running
from tests.waiting import until

SLOW = {Fault.LEAN: "lean-proxy:run=1.0", Fault.INFERENCE: "inference:request=1.0"}

PAUSE = 4.0
"""Seconds for which the learner takes no results."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [Fault.STARVED, *SLOW, Fault.PAUSED, Fault.NONE],
)
async def test_top_and_report_name_what_is_slow(
    run: Run,
    bus: Bus,
    broker: BusSettings,
    lean_proxy: object,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
) -> None:
    run.settings.matchmaker.budget = run.settings.matchmaker.budget_limit = 4
    starved = fault is Fault.STARVED
    async with AsyncExitStack() as stack:
        # 1. A mesh. At most four attempts are outstanding: with eight slots most of these are free.
        if not starved:
            await stack.enter_async_context(inference_node(bus, broker, f"own:{run_folder(tmp_path)}"))
        monkeypatch.setenv(faults.SLOW, SLOW.get(fault, ""))
        await stack.enter_async_context(
            running(bus, policy="tactics" if starved else "inference", searches=8 if starved else 2)
        )
        works = await stack.enter_async_context(dispatching(run))
        works.learning = True
        if fault is Fault.PAUSED:
            await until(lambda: _unread(bus), what="results that wait")
            await asyncio.sleep(PAUSE)
            works.learning = False  # so that no later results dilute it
        # 2. The records of some attempts.
        await stack.enter_async_context(collecting(run))
        wanted = 16 if starved else 2 if fault is Fault.PAUSED else 4
        await until(lambda: _recorded(run, wanted), what="records")
        # 3. Both name it.
        await check_fault(run, bus, fault)


async def _unread(bus: Bus) -> bool:
    return (await bus.backlog())["results-learner"] >= 2


async def _recorded(run: Run, count: int) -> bool:
    return (await run.store.call(Store.lately)).attempts >= count
