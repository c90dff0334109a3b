"""The single network that is both conjecturer and prover of a run of self-play.

Our own network and a published language model differ in two names: the policy that samples from it (that of the
provers, or MODEL@TEMPLATE), and the trainer (`sft` or `hf-sft`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import stamina
from tokenizers import Tokenizer as TokenizerFile

from common.bus import RemoteFailure
from common.protocol.messages import FailureKind, OversizedMessage, TacticReply
from common.settings import Sampling
from node.llm.address import BadModel, HubAddress
from node.llm.models import served_name
from node.llm.prompts import PromptTooLong
from node.llm.sampling import ContextExceeded, SamplerError
from node.llm.updating import is_adapter
from node.model.prompt import conjecture_prompt
from node.prover.policies.policy import InferencePolicy
from node.stp.embedding import embeddings
from node.stp.model import Model, conjecturer_decoding, conjecturer_prompt, model_of, pairs, written
from node.stp.records import ConjecturerExample, Output, ProverExample, Seed, StpError
from node.stp.training import steps_for, train, tune, write_data

if TYPE_CHECKING:
    from common.bus import Asking
    from node.play.attempts import TrainedAttempts
    from node.stp.settings import StpPlan
    from node.training.settings import StageSettings

TIMEOUT = 60.0
"""Seconds after which a request for conjectures is retried."""

retried = stamina.AsyncRetryingCaller(attempts=3, wait_initial=0.2, timeout=None).on(RemoteFailure)
"""`await retried(ask, ...)` calls again where a node fails to answer: another one may, and a single answer must not end
a run."""

OLD_NODE = "an inference node of an older version answered a request for conjectures with tactics; update the node"


@dataclass(frozen=True)
class Question:
    """What the conjecturer is asked. Equal questions get equal outputs."""

    seed: Seed
    samples: int
    rng_seed: int
    weights: int
    """The served version, which must answer."""
    temperature: float
    patience: float
    """Seconds to wait for a reply, not counting time without a broker."""


class Network:
    """The network of a run, in this process or on a mesh."""

    def __init__(self, trainings: Mapping[str, Any], epochs: float, model: Model | None = None) -> None:
        """`trainings`: the trainer's settings by stage (`initial`, `round`, `final`). `epochs`: epochs of each training
        of our own network except the first. `model`: the language model; None: our own network."""
        self._trainings = trainings
        self._epochs = epochs
        self._model = model
        self.policy = _policy(served_name(model.address), model) if model else ""
        """The policy that attempts name, valid after `serve`; empty: the policy that provers are configured with."""

    async def serve(self, place: TrainedAttempts, checkpoint: Path, version: int) -> None:
        """Serve these weights. When this returns, no node answers with earlier ones. Versions count up. A
        version may be served again, as after a crash of the run. Raises ServingError, CheckpointError,
        BadPolicy, BusError, OSError."""
        if self._model is None:
            await place.serve_network(checkpoint, version)
            return
        served = await place.serve_model(self._model.address, _address_of(checkpoint, self._model), version)
        self.policy = _policy(served, self._model)
        await place.open(self.policy)

    async def conjecture(self, place: TrainedAttempts, question: Question) -> list[Output]:
        """Outputs of the conjecturer in sample order, including duplicates; empty if the seed exceeds the network's
        context. Raises BusError, StpError."""
        if self._model is None:
            return await conjecture(place.asking, question)
        template = self._model.template
        sampler = place.sampler(self.policy, question.patience)
        try:
            prompt = conjecturer_prompt(template, question.seed)
            decoding = conjecturer_decoding(template, question.temperature)
            drawn = await sampler.sample(prompt, question.samples, question.rng_seed, decoding)
        except (PromptTooLong, ContextExceeded):
            return []
        except SamplerError as error:
            raise StpError(str(error)) from error
        return [Output(written(each.text), complete=not each.cut, tokens=each.token_count) for each in drawn]

    def embed(self, checkpoint: Path, statements: Sequence[str]) -> np.ndarray:
        """(n, width) float32, rows of unit length, in order. Blocks. Raises StpError."""
        if self._model is None:
            return embeddings(checkpoint, statements)
        # On the device of the training, because the servers use the other GPUs.
        training = self._trainings.get("round")
        device = training.place.device if training else "auto"
        return embeddings(_address_of(checkpoint, self._model), statements, device)

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
        settings, model = self._trainings[stage], self._model
        if model is None:
            sources = await asyncio.to_thread(write_data, folder / f"{name}-data", proofs, conjectures)
            if start is not None:
                settings = await asyncio.to_thread(self._sized, sources, settings, start)
            return await train(name, folder, settings, start=start, sources=sources, seed=seed)
        rows = pairs(model.template, proofs, conjectures)
        if not rows:
            raise StpError(
                f"training {name}: all statements are longer than the prompt limit of the template "
                f"`{model.template_name}`; use another template"
            )
        begin = replace(_address_of(start, model) if start else model.base, template=model.template_name)
        return await tune(name, folder, settings, model=begin, rows=rows, seed=seed)

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
    model = model_of(plan.settings) if plan.settings.model else None
    return Network(plan.trainings, plan.settings.training.epochs, model)


async def conjecture(asking: Asking, question: Question) -> list[Output]:
    """The outputs of our own network, from inference nodes or in this process. Raises BusError, StpError."""
    seed = question.seed
    prompt = conjecture_prompt(seed.lemma.statement, seed.theorem.signature, seed.proof)
    inference = InferencePolicy(
        asking,
        weights=question.weights,
        timeout=TIMEOUT,
        patience=question.patience,
        sampling=Sampling(temperature=question.temperature),
    )

    async def asked() -> TacticReply:
        reply = await inference.ask(prompt, question.samples, question.rng_seed, conjecture=True)
        if any(sample.tokens is None for sample in reply.tactics):
            raise RemoteFailure(OLD_NODE, FailureKind.MALFORMED)
        return reply

    try:
        reply = await retried(asked)
    except OversizedMessage:
        return []
    except RemoteFailure as failure:
        if failure.kind is FailureKind.MALFORMED:
            raise StpError(failure.reason) from failure
        raise
    return [Output(sample.tactic, sample.complete, sample.tokens or 0) for sample in reply.tactics]


def _policy(served: str, model: Model) -> str:
    return f"{served}@{model.template_name}"


def _address_of(checkpoint: Path, model: Model) -> HubAddress:
    """The address of a training's result: a whole model, or the base with an adapter. Raises StpError."""
    try:
        adapter = is_adapter(checkpoint)
    except BadModel as error:
        raise StpError(f"{error}; restore the checkpoint, which was moved or removed") from error
    return HubAddress(model.base.model, str(checkpoint)) if adapter else HubAddress(str(checkpoint))
