"""Supervised fine-tuning of a Hugging Face model, from the settings to the folder of the trained model.

outcome = run(SftSettings(model="hf:models/small-llama", out=Path("runs/first"), lora=LoraSettings(on=True)))
outcome["use"]  # 'hf:models/small-llama+runs/first/model'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import torch
from transformers import set_seed

from node.data.errors import InputError
from node.llm.hub.loading import Loaded
from node.training.journal import StageJournal
from node.tuning.base_model import Base, base_of, count_parameters, digest_of, loaded, save, usable_address
from node.tuning.carrying_out import carried_out, explained, journal_of, part_of, steps_of
from node.tuning.order import lengths_of, order
from node.tuning.run_folder import RunFolder
from node.tuning.sft_data import Prepared, chosen_templates, prepare
from node.tuning.sft_settings import SftSettings
from node.tuning.sft_trainer import SftWatch, arguments, held_out_loss, trainer
from node.tuning.stepping import Stop

HELD_OUT = "held_out_loss"
"""Name of the held-out loss in the curves."""


def run(settings: SftSettings) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the contents of summary.json. A finished run is not
    repeated.

    Raises InputError, TrainingError (NotFinite, Interrupted).
    """
    base = base_of(settings.model)
    chosen_templates(base, settings)
    folder = RunFolder(settings.out)
    folder.check({}, fresh=True)  # before the slow loading of the model
    if settings.place.device != "cpu" and torch.cuda.device_count() > 1:
        # transformers' Trainer would split the batch over all GPUs, which TRL does not support.
        raise InputError("several GPUs are visible, but training uses one: choose it with CUDA_VISIBLE_DEVICES=0")
    set_seed(settings.seed)
    model = loaded(base, settings.place, settings.lora)
    prepared = prepare(base, model, settings)
    steps = steps_of(settings.length, len(prepared.train.rows), settings.batch)
    identity = identity_of(base, settings, prepared, steps)
    return carried_out(
        folder,
        identity,
        lambda wants_end: _train(base, model, prepared, settings, folder, steps, wants_end),
        fresh=settings.fresh,
    )


def identity_of(base: Base, settings: SftSettings, prepared: Prepared, steps: int) -> dict[str, Any]:
    """All that determines the result: a run is resumed only if all of it is equal. Raises InputError."""
    return {
        "kind": "hf-sft",
        "model": str(base.address),
        "weights": digest_of(base),
        "templates": sorted(each.name for each in chosen_templates(base, settings).values()),
        "data": list(settings.data),
        "examples": f"{len(prepared.train.rows)} {prepared.train.digest()}",
        "lora": asdict(settings.lora) if settings.lora.on else None,
        "steps": steps,
        "minutes": settings.length.minutes,
        "batch": settings.batch,
        "micro_batch": settings.micro_batch or settings.batch,
        "optimizer": asdict(settings.optimizer),
        "dtype": settings.place.dtype,
        "seed": settings.seed,
    }


def _train(
    base: Base, model: Loaded, prepared: Prepared, settings: SftSettings, folder: RunFolder, steps: int, wants_end: Stop
) -> dict[str, Any]:
    """Raises TrainingError."""
    rows = prepared.train.rows
    part = part_of(folder, steps, settings.length.minutes)
    lengths = [len(row.ids) for row in rows]
    examples = order(lengths, settings.batch, steps, settings.seed)
    tokens = lengths_of(lengths, examples)
    with journal_of(folder, part) as journal:
        if part.checkpoint is None:
            _measure(model, prepared, journal, settings, 0)
        before = folder.value(HELD_OUT, 0)
        part.clock.start()
        watch = SftWatch(folder, journal, part.clock, tokens, wants_end)
        made = trainer(
            model, rows, examples, arguments(folder, settings, part.until, model.device), settings, part.clock, watch
        )
        with explained(
            folder,
            not_finite="add --fresh and a smaller --rate, or --dtype float32",
            memory="use a smaller --micro-batch or --max-tokens, --recompute, or --lora",
        ):
            last = part.train(made, wants_end)
        seconds = part.clock.spent
        _measure(model, prepared, journal, settings, last)
        trained, parameters = count_parameters(model.model)
        seen = int(tokens[:last].sum())
        summary = {
            "use": usable_address(base, folder.model, is_adapter=settings.lora.on),
            "model": str(base.address),
            "parameters_trained": trained,
            "parameters": parameters,
            "examples": len(rows),
            "left_out": dict(prepared.left_out),
            "steps": last,
            "tokens": seen,
            "seconds": round(seconds, 1),
            "tokens_per_second": round(seen / max(seconds, 1e-9), 1),
            "held_out_examples": len(prepared.held_out.rows),
            "held_out_loss_before": before,
            "held_out_loss": folder.value(HELD_OUT, last),
        }
        save(base, model.model, folder.model, settings.place, card=card(base, settings, summary))
        folder.finish(summary)
    return summary


def _measure(model: Loaded, prepared: Prepared, journal: StageJournal, settings: SftSettings, step: int) -> None:
    """Writes the loss on the held-out examples."""
    if prepared.held_out.rows:
        batch = settings.micro_batch or settings.batch
        journal.write(step, {HELD_OUT: held_out_loss(model, prepared.held_out.rows, batch)})


# --- README.md of a fine-tuned model ----------------------------------------------------------------------------------


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
