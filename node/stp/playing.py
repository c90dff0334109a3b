"""Opens the store, the network and the mesh connection of a run of self-play, and plays it to its end."""

from __future__ import annotations

import asyncio

from common.bus import Bus
from common.sampling import Sampling
from node.stp.data import RunData
from node.stp.network import network_of
from node.stp.plan import StpPlan
from node.stp.proving import MeshProving
from node.stp.report import write_report
from node.stp.rounds import play
from node.stp.store import FILE, StpStore
from node.stp.work import Watcher, Work


async def played(plan: StpPlan, bus: Bus, watcher: Watcher, data: RunData) -> None:
    """Begin or resume the run. `data`: its initial data.

    Raises StpError, BusError, ConjecturingError, ServingError, EmbeddingError, CheckpointError.
    """
    settings = plan.settings
    network = await asyncio.to_thread(network_of, plan)
    store = StpStore(plan.directory / FILE)
    try:
        sampling = Sampling(temperature=settings.prover.temperature)
        async with MeshProving(bus, weights=0, sampling=sampling) as proving:
            await play(Work(plan, store, data, bus, network, proving, watcher))
        await asyncio.to_thread(write_report, plan.directory)
    finally:
        store.close()
