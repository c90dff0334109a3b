"""Opens the store and the network of a run of self-play, and plays it to its end."""

from __future__ import annotations

import asyncio

from common.sampling import Sampling
from node.play.attempts import TrainedAttempts
from node.stp.data import RunData
from node.stp.network import network_of
from node.stp.plan import StpPlan
from node.stp.proving import Proving
from node.stp.report import write_report
from node.stp.rounds import play
from node.stp.store import FILE, StpStore
from node.stp.work import Watcher, Work


async def played(plan: StpPlan, place: TrainedAttempts, watcher: Watcher, data: RunData) -> None:
    """Begin or resume the run. `place`: plays its attempts. `data`: its initial data.

    Raises StpError, BusError, ConjecturingError, ServingError, EmbeddingError, CheckpointError.
    """
    settings = plan.settings
    network = await asyncio.to_thread(network_of, plan)
    store = StpStore(plan.directory / FILE)
    try:
        sampling = Sampling(temperature=settings.prover.temperature)
        proving = Proving(place, weights=0, sampling=sampling)
        await play(Work(plan, store, data, network, proving, watcher))
        await asyncio.to_thread(write_report, plan.directory)
    finally:
        store.close()
