"""A dry run of a supervised fine-tuning: reports data, steps and memory without loading the weights."""

from __future__ import annotations

from node.tuning.base_model import base_of, count_parameters, shape_of
from node.tuning.carrying_out import steps_of
from node.tuning.order import order
from node.tuning.sft_data import chosen_templates, prepare
from node.tuning.sft_settings import SftSettings

OPTIMIZER_BYTES = 12
"""Bytes for each trained weight: gradient and AdamW's two moments, in float32."""


def dry_run(settings: SftSettings) -> list[str]:
    """The lines of the report. Raises InputError."""
    base = base_of(settings.model)
    templates = chosen_templates(base, settings)
    shape = shape_of(base, settings.place, settings.lora)
    prepared = prepare(base, shape, settings)
    rows = prepared.train.rows
    steps = steps_of(settings.length, len(rows), settings.batch)
    trained, parameters = count_parameters(shape.model)
    seen = order([len(row.ids) for row in rows], settings.batch, min(steps, 10_000), settings.seed)
    tokens = sum(len(rows[place].ids) for place in seen.ravel()) * steps // len(seen)
    weight_bytes = {"float32": 4, "auto": 2 if settings.lora.on else 4}.get(settings.place.dtype, 2)
    memory = (parameters * weight_bytes + trained * OPTIMIZER_BYTES) / 2**30
    lengths = sorted(len(row.ids) for row in rows)
    held_out = f"; {len(prepared.held_out.rows):,} held out" if prepared.held_out.rows else ""
    return [
        f"model        {base.address}, template {' and '.join(each.name for each in templates.values())}",
        f"parameters   {trained:,} trained of {parameters:,}{' (LoRA)' if settings.lora.on else ''}",
        f"examples     {len(rows):,}{held_out}",
        *(f"left out     {count:,} {reason}" for reason, count in prepared.left_out.items()),
        f"tokens       {prepared.train.tokens:,} in the examples, {prepared.train.predicted:,} of them predicted; "
        f"{lengths[len(lengths) // 2]} in the middle one, {lengths[-1]} in the longest",
        f"training     {steps:,} steps of {settings.batch}: {steps * settings.batch / len(rows):.2f} epochs, "
        f"{tokens:,} tokens",
        f"memory       {memory:.2f} GiB for weights, gradients and optimizer; activations come on top",
    ]
