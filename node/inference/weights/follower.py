"""Follows the learner's weights: fetches announced versions, loads them beside the running one, switches to them, and
keeps pinned versions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from common.bus import Bus, BusError, Unanswered
from common.protocol.messages import Busy, Failure, FailureKind, WeightsState
from common.weights import KEY
from node.inference.engine.engine import Engine
from node.inference.weights.shelf import Shelf, WeightsId
from node.inference.weights.store import WeightsStore
from node.inference.worker import Worker
from node.model.checkpoint_folders import short_digest
from node.model.loading import weights_digest
from node.model.weights import WeightsError
from node.model.weights_path import weights_at

LOAD_RETRY = 1.0
"""Seconds until the next attempt to fetch weights (the broker is unreachable, or the object is not uploaded yet)."""


class WeightsFollower:
    """Keeps the worker supplied with the versions that requests may ask for. Runs on the event loop."""

    def __init__(
        self,
        bus: Bus,
        worker: Worker,
        store: WeightsStore,
        models: int,
        serving: Callable[[int], None],
        health: Callable[[str | None], None],
    ) -> None:
        """`serving(version)` is called after every switch, `health(problem)` if weights cannot be loaded (None: the
        problem is over)."""
        self._bus, self._worker, self._store = bus, worker, store
        self._serving, self._health = serving, health
        self._shelf = Shelf(models)
        self._loads: dict[WeightsId, asyncio.Task[None]] = {}
        self._announced = asyncio.Event()
        self._local = False
        self._log = structlog.get_logger("inference")

    @property
    def ready(self) -> bool:
        """True as soon as some version can answer requests for "latest"."""
        return self._shelf.serving is not None

    async def serve_local(self, path: Path) -> str:
        """Serve a local file or checkpoint only. Returns the short digest of its weights. Raises WeightsError,
        CheckpointError."""
        path = await asyncio.to_thread(weights_at, path, self._log.warning)
        engine = await self._store.read(path)
        version = engine.weights.information.get("version", "0")
        if not version.isdigit():
            raise WeightsError(f"{path}: its version is {version!r}, not a number")
        digest = await asyncio.to_thread(weights_digest, path)
        self._local = True
        self._shelf.announce(WeightsState(version=int(version), digest=digest, object_name=""))
        await self._install(WeightsId(int(version), digest), engine)
        self._log.info("weights loaded", version=int(version), path=str(path))
        return await asyncio.to_thread(short_digest, path)

    def announced(self, state: WeightsState | None) -> None:
        """Take the learner's announcement from the run's state. None (nothing announced) is ignored."""
        if state is not None:
            self._shelf.announce(state)
            self._announced.set()

    async def follow(self) -> None:
        """Load each version that is announced as latest, until cancelled. After a failure, retry until a newer version
        is announced."""
        while True:
            await self._announced.wait()
            self._announced.clear()
            latest = self._shelf.latest
            assert latest is not None  # it is set before the event
            try:
                await self._have(latest)
            except (BusError, WeightsError, OSError) as error:
                self._health(f"version {latest.version} cannot be loaded: {error}")
                self._log.error("weights not loaded", version=latest.version, error=str(error))
                await asyncio.sleep(LOAD_RETRY)
                self._announced.set()
            else:
                self._health(None)

    async def pinned(self, version: int) -> WeightsId | Busy | Failure:
        """Load the weights of a version. Returns their id, or the answer to the request if they are not available."""
        weights = self._shelf.find(version)
        if weights is None and not self._local:
            # The request may have overtaken the announcement: read the state before refusing.
            self.announced(await self._bus.get_state(KEY, WeightsState))
            weights = self._shelf.find(version)
        if weights is None:
            return self.unknown(version)
        try:
            await self._have(weights)
        except Unanswered as error:
            return Busy(retry_after=LOAD_RETRY, reason=f"weights {version} are not fetched yet: {error}")
        except (BusError, WeightsError, OSError) as error:
            return Failure(reason=f"weights {version} cannot be loaded: {error}", kind=FailureKind.UNKNOWN_WEIGHTS)
        self._shelf.touch(weights)
        return weights

    def unknown(self, version: int) -> Failure:
        """The answer to a request for a version that is not announced."""
        known = sorted(weights.version for weights in self._shelf.objects)
        return Failure(
            reason=f"weights {version} are not served here; announced: {known}", kind=FailureKind.UNKNOWN_WEIGHTS
        )

    async def _have(self, weights: WeightsId) -> None:
        """Load announced weights into memory. Concurrent requests for the same weights share one load."""
        if weights in self._shelf.loaded:
            self._settle()
            return
        task = self._loads.get(weights)
        if task is None:
            task = self._loads[weights] = asyncio.create_task(self._load(weights, self._shelf.objects[weights]))
            task.add_done_callback(lambda _: self._loads.pop(weights, None))
        await asyncio.shield(task)

    async def _load(self, weights: WeightsId, object_name: str) -> None:
        start = time.perf_counter()
        await self._install(weights, await self._store.load(weights, object_name))
        self._log.info("weights loaded", version=weights.version, seconds=round(time.perf_counter() - start, 3))

    async def _install(self, weights: WeightsId, engine: Engine) -> None:
        """Give an engine to the worker. Returns when jobs can be submitted to it."""
        loop, installed = asyncio.get_running_loop(), asyncio.Event()
        self._worker.install(weights, engine, done=lambda: loop.call_soon_threadsafe(installed.set))
        await installed.wait()
        self._shelf.add(weights)
        self._settle()

    def _settle(self) -> None:
        """Switch to the latest version if it is loaded, and remove versions that are not announced."""
        if self._shelf.serve_latest():
            assert self._shelf.serving is not None
            self._worker.promote(self._shelf.serving)
            self._serving(self._shelf.serving.version)
        self._worker.keep(self._shelf.tidy())
        self._store.tidy(set(self._shelf.objects))
