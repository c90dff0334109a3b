"""The network that a run of self-play samples from and trains: our own, or a published language model."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from tokenizers import Tokenizer as TokenizerFile

from common.sampling import Sampling
from node.stp.conjecturing import Output, conjecture
from node.stp.embedding import embeddings
from node.stp.records import ConjecturerExample, ProverExample, Seed, StpError
from node.stp.training import steps_for, train, write_data
from node.training.settings import StageSettings

if TYPE_CHECKING:
    from node.play.attempts import TrainedAttempts
    from node.stp.settings import StpPlan


class Network(Protocol):
    """The interface of the single network that is both conjecturer and prover."""

    @property
    def policy(self) -> str:
        """The policy that attempts name, valid after `serve`; empty: the policy that provers are configured with."""

    async def serve(self, place: TrainedAttempts, checkpoint: Path, version: int) -> None:
        """Serve these weights. When this returns, no node answers with earlier ones. Versions count up. A
        version may be served again, as after a crash of the run. Raises ServingError, CheckpointError,
        BadPolicy, BusError, OSError."""

    async def conjecture(
        self,
        place: TrainedAttempts,
        seed: Seed,
        *,
        samples: int,
        rng_seed: int,
        weights: int,
        temperature: float,
        patience: float,
    ) -> list[Output]:
        """Outputs of the conjecturer in sample order; empty if the seed exceeds the network's context. `weights`: the
        served version; `patience`: seconds. Raises BusError, ConjecturingError."""

    def embed(self, checkpoint: Path, statements: Sequence[str]) -> np.ndarray:
        """(n, width) float32, rows of unit length, in order. Blocks. Raises EmbeddingError."""

    async def train(
        self,
        name: str,
        folder: Path,
        stage: str,
        start: Path | None,
        proofs: Sequence[ProverExample],
        conjectures: Sequence[ConjecturerExample],
        seed: int,
    ) -> Path:
        """Train, and return the resulting checkpoint. A stopped training of this name is resumed; the result of a
        finished one is returned at once. `stage`: `initial`, `round` or `final`; `start`: the checkpoint to start from,
        None for the first training. Raises StpError."""


class OwnNetwork:
    """Our own network: trained by `proofmesh train sft`, served from the run's object store."""

    policy = ""

    def __init__(self, trainings: Mapping[str, StageSettings], epochs: float) -> None:
        """`epochs`: epochs of each training except the first."""
        self._trainings = trainings
        self._epochs = epochs

    async def serve(self, place: TrainedAttempts, checkpoint: Path, version: int) -> None:
        await place.serve_network(checkpoint, version)

    async def conjecture(
        self,
        place: TrainedAttempts,
        seed: Seed,
        *,
        samples: int,
        rng_seed: int,
        weights: int,
        temperature: float,
        patience: float,
    ) -> list[Output]:
        return await conjecture(
            place.asking,
            seed,
            samples=samples,
            rng_seed=rng_seed,
            weights=weights,
            sampling=Sampling(temperature=temperature),
            patience=patience,
        )

    def embed(self, checkpoint: Path, statements: Sequence[str]) -> np.ndarray:
        return embeddings(checkpoint, statements)

    async def train(
        self,
        name: str,
        folder: Path,
        stage: str,
        start: Path | None,
        proofs: Sequence[ProverExample],
        conjectures: Sequence[ConjecturerExample],
        seed: int,
    ) -> Path:
        sources = await asyncio.to_thread(write_data, folder / f"{name}-data", proofs, conjectures)
        training = self._trainings[stage]
        if start is not None:
            training = await asyncio.to_thread(self._sized, sources, training, start)
        return await train(name, folder, training, start=start, sources=sources, seed=seed)

    def _sized(self, sources: tuple[str, ...], training: StageSettings, start: Path) -> StageSettings:
        """The training with the number of steps for its epochs. Raises StpError."""
        file = start / "tokenizer.json"
        if not file.is_file():
            raise StpError(
                f"{file} does not exist: the checkpoint that the next training starts from was moved or removed; "
                "restore it"
            )
        tokenizer = TokenizerFile.from_file(str(file))
        steps = steps_for(sources, training, self._epochs, lambda text: len(tokenizer.encode(text).ids))
        return replace(training, steps=steps)


def network_of(plan: StpPlan) -> Network:
    """The network that a plan names. Raises StpError if its model is unavailable or unsuitable for self-play."""
    if not plan.settings.model:
        return OwnNetwork(plan.trainings, plan.settings.training.epochs)
    from node.stp.model_network import ModelNetwork

    return ModelNetwork.of(plan)
