"""Small networks of ours, exported, and as transformers has them."""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.utils import logging

from node.llm.hub.loading import register
from node.model.hub.conversion import Origin, export
from node.model.transformer import Transformer
from tests.node.model.tiny import tiny_model, tiny_tokenizer

logging.disable_progress_bar()

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "grouped": {"kv_heads": 2, "seed": 1},
    "windowed": {"window": 5, "full_every": 2, "depth": 3, "seed": 2},
    "capped": {"softcap": 4.0, "seed": 3},
    "tied": {"tied": True, "seed": 4},
    "everything": {"window": 6, "kv_heads": 1, "softcap": 5.0, "depth": 4, "tied": True, "seed": 5},
}
"""Arguments of `tiny_model`: every option that can be exported."""


def written(folder: Path, **changes: Any) -> tuple[Transformer, Path]:
    """A small network, and its folder in `folder`."""
    register()
    model = tiny_model(**changes)
    out = folder / "exported"
    export(model, tiny_tokenizer(), out, Origin(7))
    return model, out


def loaded(folder: Path, **more: Any) -> Any:
    """The model of a folder in transformers, without code from the folder."""
    register()
    return AutoModelForCausalLM.from_pretrained(folder, **more).eval()


@torch.no_grad()
def ours(model: Transformer, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Policy logits (B, T, vocabulary) and value logits (B, T, bins) of our own implementation."""
    at = torch.arange(tokens.numel())
    policy, value = model(tokens, at, at)
    return policy.unflatten(0, tokens.shape), value.unflatten(0, tokens.shape)
