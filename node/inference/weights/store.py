"""Fetches weights from the object store into a local folder, and loads them into an engine."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from common.bus import Bus
from node.inference.engine.engine import Engine
from node.inference.engine_settings import EngineSettings
from node.inference.weights.shelf import WeightsId
from node.model import weights as weights_file
from node.model.loading import read_weights
from node.model.weights import Weights, WeightsError

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
        return path.exists() and weights_file.digest(path) == digest
