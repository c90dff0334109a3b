"""The learner's weights on an inference node: which versions it announces and serves, their files, and how they change.

Announced versions are fetched, loaded beside the running one, and switched to between two passes; pinned ones are kept.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog
import torch

from common.bus import Bus, BusError, Unanswered
from common.files import file_digest
from common.protocol.messages import Busy, Failure, FailureKind, WeightsState
from common.weights import KEY
from node.inference.engine.engine import Engine, WeightsId
from node.inference.settings import EngineSettings
from node.inference.worker import Worker
from node.model.checkpoint import read_weights, weights_digest
from node.model.checkpoint_folders import short_digest, weights_at
from node.model.weights import Weights, WeightsError

# ----------------------------------------------------------------------------------------------------------------------
# Bookkeeping of the announced, the loaded and the served versions, without I/O.


@dataclass
class Shelf:
    """Announced versions with their objects, and those that are loaded, least recently used first."""

    limit: int
    """Versions kept loaded at most. The latest always is."""
    latest: WeightsId | None = None
    """Announced as the one to serve; perhaps not loaded yet."""
    objects: dict[WeightsId, str] = field(default_factory=dict)
    """Name in the object store of every announced version."""
    loaded: OrderedDict[WeightsId, None] = field(default_factory=OrderedDict)
    serving: WeightsId | None = None
    """The loaded version that answers requests for "latest"."""

    def announce(self, state: WeightsState) -> None:
        """Set the latest and the pinned versions from an announcement; other versions are removed."""
        self.latest = WeightsId(state.version, state.digest)
        self.objects = {WeightsId(pin.version, pin.digest): pin.object_name for pin in state.pinned}
        self.objects[self.latest] = state.object_name

    def find(self, version: int) -> WeightsId | None:
        """The announced weights with this version number; None: not announced. The latest is preferred to pinned
        ones."""
        if self.latest is not None and self.latest.version == version:
            return self.latest
        return next((weights for weights in self.objects if weights.version == version), None)

    def add(self, weights: WeightsId) -> None:
        """Mark weights as loaded."""
        self.loaded[weights] = None
        self.touch(weights)

    def touch(self, weights: WeightsId) -> None:
        """Mark weights as the most recently used."""
        if weights in self.loaded:
            self.loaded.move_to_end(weights)

    def serve_latest(self) -> bool:
        """Serve the latest announced version from now on, if it is loaded. Returns True if that is a change."""
        if self.latest is None or self.latest not in self.loaded or self.serving == self.latest:
            return False
        self.serving = self.latest
        return True

    def tidy(self) -> set[WeightsId]:
        """Remove loaded versions that are not announced, and the least recently used beyond the limit. Returns the
        remaining ones."""
        for weights in list(self.loaded):
            announced = weights in self.objects
            if weights != self.serving and (not announced or len(self.loaded) > self.limit):
                del self.loaded[weights]
        return set(self.loaded)


# ----------------------------------------------------------------------------------------------------------------------
# Files: fetched from the object store into a local folder, and loaded into engines.

Builder = Callable[[Weights, EngineSettings], Engine]
"""Makes an engine from weights: the class Engine itself, except in benchmarks of the surrounding code."""


def chosen_device(name: str) -> str:
    """`auto`: a GPU if torch sees one, else the CPU. Other names are returned unchanged."""
    if name != "auto":
        return name
    return "cuda" if torch.cuda.is_available() else "cpu"


class WeightsStore:
    """Fetches, checks and reads weights. Files are named by their digest, never by a name from a message."""

    def __init__(
        self, bus: Bus, device: str, settings: EngineSettings, folder: str = "", build: Builder = Engine
    ) -> None:
        self._bus, self._device = bus, chosen_device(device)
        self._settings, self._engine = settings, build
        self._temporary = not folder
        self._folder = Path(folder or tempfile.mkdtemp(prefix="proofmesh-weights-"))
        self._folder.mkdir(parents=True, exist_ok=True)

    def close(self) -> None:
        """Remove the folder if it is a temporary one."""
        if self._temporary:
            shutil.rmtree(self._folder, ignore_errors=True)

    async def load(self, weights: WeightsId, object_name: str) -> Engine:
        """An engine with announced weights, which are fetched if the folder does not have them.

        Raises NotThere, DigestMismatch, Unanswered (retry later), WeightsError, OSError.
        """
        path = self._path(weights.digest)
        if not await asyncio.to_thread(self._is_whole, path, weights.digest):
            await self._bus.get_object(object_name, path, digest=weights.digest)
        return await self.read(path)

    async def read(self, path: Path) -> Engine:
        """An engine with the weights of a file or a checkpoint's folder. Raises WeightsError, CheckpointError."""
        return await asyncio.to_thread(self._build, path)

    def _build(self, path: Path) -> Engine:
        weights = read_weights(path, self._device)
        try:
            return self._engine(weights, self._settings)
        except ValueError as error:
            raise WeightsError(f"{path}: {error}") from error

    def tidy(self, kept: set[WeightsId]) -> None:
        """Delete the files of all other versions."""
        names = {self._path(weights.digest).name for weights in kept}
        for path in self._folder.glob("weights-*.safetensors"):
            if path.name not in names:
                path.unlink(missing_ok=True)

    def _path(self, digest: str) -> Path:
        # The digest comes from a message: only its hexadecimal digits may reach a path.
        safe = "".join(character for character in digest[:32] if character in "0123456789abcdef")
        return self._folder / f"weights-{safe}.safetensors"

    @staticmethod
    def _is_whole(path: Path, digest: str) -> bool:
        return path.exists() and file_digest(path) == digest


# ----------------------------------------------------------------------------------------------------------------------
# Following the run.

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
