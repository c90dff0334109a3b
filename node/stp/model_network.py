"""A published language model as the network of self-play. It is in Hugging Face's format, is sampled through the mesh's
inference nodes (on servers or with transformers), and is trained by `proofmesh train hf-sft`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from node.llm.address import BadModel, HubAddress, ModelAddress
from node.llm.faults import ContextExceeded
from node.llm.prompts import PromptTooLong
from node.llm.sampling import SamplerError
from node.llm.served import served_name
from node.llm.templates import Template
from node.llm.updating import is_adapter
from node.stp.conjecturing import ConjecturingError, Output
from node.stp.embedding import MODEL_MODULE, embeddings
from node.stp.model_text import conjecturer_decoding, conjecturer_prompt, pairs, written
from node.stp.model_training import tune
from node.stp.models import address_of, base_of, check_base, template_of
from node.stp.records import ConjecturerExample, ProverExample, Seed, StpError

if TYPE_CHECKING:
    from node.play.attempts import TrainedAttempts
    from node.stp.settings import StpPlan
    from node.tuning.sft_settings import SftSettings


ROUND = "round"
"""Name of the training stage of a round."""


class ModelNetwork:
    """`node.stp.network.Network` over a language model."""

    def __init__(
        self,
        address: ModelAddress,
        base: HubAddress,
        template: Template,
        template_name: str,
        trainings: Mapping[str, SftSettings],
    ) -> None:
        """`address`: the model that inference nodes serve at first; `base`: the model that the first training starts
        from; `template_name`: the template's name in attempts."""
        self._address = address
        self._base = base
        self._template, self._template_name = template, template_name
        self._trainings = trainings
        self._served = served_name(address)

    @staticmethod
    def of(plan: StpPlan) -> ModelNetwork:
        """The network that a plan names. Raises StpError."""
        settings = plan.settings
        template, address = template_of(settings), address_of(settings)
        base = base_of(settings, address)
        check_base(base, template)
        return ModelNetwork(address, base, template, settings.template, plan.tunings)

    @property
    def policy(self) -> str:
        return f"{self._served}@{self._template_name}"

    async def serve(self, place: TrainedAttempts, checkpoint: Path, version: int) -> None:
        self._served = await place.serve_model(self._address, self._as_address(checkpoint), version)
        await place.open(self.policy)

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
        sampler = place.sampler(self.policy, patience)
        decoding = conjecturer_decoding(self._template, temperature)
        try:
            prompt = conjecturer_prompt(self._template, seed)
            drawn_samples = await sampler.sample(prompt, samples, rng_seed, decoding)
        except (PromptTooLong, ContextExceeded):
            return []
        except SamplerError as error:
            raise ConjecturingError(str(error)) from error
        return [Output(written(each.text), complete=not each.cut, tokens=each.token_count) for each in drawn_samples]

    def embed(self, checkpoint: Path, statements: Sequence[str]) -> np.ndarray:
        # On the device of the training, because the servers use the other GPUs.
        training = self._trainings.get(ROUND)
        device = training.place.device if training else "auto"
        return embeddings(str(self._as_address(checkpoint)), statements, module=MODEL_MODULE, device=device)

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
        rows = pairs(self._template, proofs, conjectures)
        if not rows:
            raise StpError(
                f"training {name}: all statements are longer than the prompt limit of the template "
                f"`{self._template_name}`; use another template"
            )
        begin = self._base if start is None else self._as_address(start)
        model = replace(begin, template=self._template_name)
        return await tune(name, folder, self._trainings[stage], model=model, rows=rows, seed=seed)

    def _as_address(self, checkpoint: Path) -> HubAddress:
        """The address of a training's result: a whole model, or the base with an adapter. Raises StpError."""
        try:
            adapter = is_adapter(checkpoint)
        except BadModel as error:
            raise StpError(f"{error}; restore the checkpoint, which was moved or removed") from error
        return HubAddress(self._base.model, str(checkpoint)) if adapter else HubAddress(str(checkpoint))
