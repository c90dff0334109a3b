"""README.md of a fine-tuned model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from node.tuning.base_model import Base
from node.tuning.sft_settings import SftSettings


def card(base: Base, settings: SftSettings, summary: Mapping[str, Any]) -> str:
    """The model card: base model, training data, losses, and how to use the model."""
    kind = f"LoRA adapter (rank {settings.lora.rank})" if settings.lora.on else "model"
    lines = [
        f"A {kind} made from `{base.address}` by supervised fine-tuning (`proofmesh train hf-sft`).",
        "",
        f"- Prompts and answers: the template `{base.template.name}`"
        + (f" and `{settings.other_template}`" if settings.other_template else ""),
        f"- Data: {', '.join(settings.data)}: {summary['examples']:,} examples",
        f"- {summary['steps']:,} steps of {settings.batch}, {summary['tokens']:,} tokens, seed {settings.seed}",
        f"- Held-out loss, nats a token: {summary['held_out_loss_before']} before, {summary['held_out_loss']} after",
        "",
        f"Use: `proofmesh eval --bench pocket:test --policy {summary['use']}`",
        "",
    ]
    return "\n".join(lines)
