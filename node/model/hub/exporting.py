"""Writes one of our networks as a folder in Hugging Face's format."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from transformers import GenerationConfig
from transformers.utils import logging

from node.model.files import state_tensors
from node.model.hub.card import card
from node.model.hub.configuration_proofmesh import ProofmeshConfig
from node.model.hub.folders import written_folder
from node.model.hub.modeling_proofmesh import ProofmeshForCausalLM
from node.model.hub.names import OUTPUT_MATRIX, ShapeError, hub_name, hub_shape
from node.model.hub.tokenizers import fast_tokenizer, save_tokenizer
from node.model.tokenizer import BOS, EOS, PAD, Tokenizer
from node.model.trained import PROOFS_KEY
from node.model.transformer import Transformer

TEMPLATE = "proofmesh"
"""The prompt template (in `node/llm/families`) of exported networks."""

AUTO_MAP = {
    "AutoConfig": "configuration_proofmesh.ProofmeshConfig",
    "AutoModel": "modeling_proofmesh.ProofmeshModel",
    "AutoModelForCausalLM": "modeling_proofmesh.ProofmeshForCausalLM",
}

CODE = ("configuration_proofmesh.py", "modeling_proofmesh.py")


class NotExportable(ValueError):
    """A network that Hugging Face's format cannot represent; the text says why."""


@dataclass(frozen=True)
class Origin:
    """The origin of a network, for its card and for importing it again."""

    step: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)
    """The configuration of the run that trained it."""
    evaluation: str = ""
    """A sentence with its evaluation result; may be empty."""


def export(model: Transformer, tokenizer: Tokenizer, out: Path, origin: Origin, *, force: bool = False) -> None:
    """Write the folder: weights, configuration, tokenizer, model code and model card.

    Raises NotExportable, FolderExists, and OSError (disk full, read-only).
    """
    try:
        shape = hub_shape(model.config)
    except ShapeError as error:
        raise NotExportable(str(error)) from error
    specials: dict[str, Any] = {"pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}
    ours: dict[str, Any] = {
        "auto_map": dict(AUTO_MAP),
        "proofmesh_template": TEMPLATE,
        "proofmesh_step": origin.step,
        "proofmesh_proofs": bool(origin.training.get(PROOFS_KEY)),
        "proofmesh_tokenizer": tokenizer.digest,
    }
    config = ProofmeshConfig(**shape, **specials, **ours)
    network = ProofmeshForCausalLM(config)
    tensors = {hub_name(name): tensor for name, tensor in state_tensors(model).items()}
    missing = network.load_state_dict(tensors, strict=False)
    assert set(missing.missing_keys) <= ({OUTPUT_MATRIX} if model.config.tied else set()), missing
    network.generation_config = GenerationConfig(do_sample=True, **specials)
    with written_folder(out, force=force) as folder, _quiet():
        network.save_pretrained(folder)
        save_tokenizer(fast_tokenizer(tokenizer, model.config.context, reads_specials=True), folder)
        for name in CODE:
            shutil.copyfile(Path(__file__).with_name(name), folder / name)
        (folder / "README.md").write_text(card(model, origin.step, origin.training, origin.evaluation), "utf-8")


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide transformers' progress bars: writing one of our networks takes only a moment."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()
