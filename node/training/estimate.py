"""Estimates the cost of a stage before it runs: parameters, operations, memory, time."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch

from node.model.config import ModelConfig
from node.model.optimizer import split_parameters
from node.model.transformer import Transformer
from node.training.settings import StageSettings

UTILISATION = {"cpu": 0.6, "cuda": 0.4}
"""Share of the speed of large matrix products that a step reaches; `proofmesh bench train` measures it (LOG.md)."""


@dataclass(frozen=True)
class Estimate:
    """The cost of one stage."""

    parameters: int
    matrices: int
    """Parameters that Muon updates; the others are AdamW's."""
    flops_per_token: float
    """Floating-point operations, forward and backward, with the head at `supervised` of the tokens."""
    memory: float
    """Bytes on each rank: weights, gradients, optimizer, activations of a micro-batch."""
    steps: int
    tokens: int
    """Of all steps, padding included."""
    flops_per_second: float
    """Of large matrix products on this machine, measured; of one rank."""
    seconds: float

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"parameters        {self.parameters:,} ({self.matrices:,} by Muon, the rest by AdamW)",
            f"FLOPs per token   {self.flops_per_token / 1e6:,.1f} million, forward and backward",
            f"memory            {self.memory / 2**20:,.0f} MiB on each rank",
            f"steps             {self.steps:,}, {self.tokens:,} tokens",
            f"time              {duration(self.seconds)} (products: {self.flops_per_second / 1e9:,.0f} GFLOP/s here)",
        ]


def duration(seconds: float) -> str:
    """Seconds in a form to read."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


PEAK = {"NVIDIA H100": 989e12, "NVIDIA H200": 989e12, "NVIDIA A100": 312e12}
"""Dense bfloat16 FLOP/s, from the vendor's data sheets; for MFU."""


def peak_speed(device: torch.device) -> float | None:
    """The device's peak FLOP/s from its data sheet; None if it is not known here."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for known, peak in PEAK.items() if name.startswith(known)), None)


def flops_per_token(config: ModelConfig, length: int, supervised: float = 1.0) -> float:
    """6 per weight of a matrix product (2 forward, 4 backward; Kaplan et al., arXiv 2001.08361, section 2.1) and
    12 · width · keys per layer, `keys` being those that a query sees on average; the head counts at `supervised` of the
    tokens only, the embedding not at all."""
    kv_width = config.kv_heads * config.head_size
    block = config.width * (2 * config.width + 2 * kv_width + 2 * config.hidden)
    keys = 0.0
    for layer in range(config.depth):
        window = config.window_of(layer)
        keys += length / 2 if not 0 < window < length else window - window**2 / (2 * length)
    head = config.width * config.vocab_size * supervised
    return 6 * (config.depth * block + head) + 12 * config.width * keys


def memory(config: ModelConfig, parameters: int, matrices: int, settings: StageSettings, *, bf16: bool) -> float:
    """Bytes: float32 weights and gradients, one moment for Muon and two for AdamW, and what blocks keep for backward:
    14 vectors of the width and 3 of the hidden layer per token and layer (counted from `Block.forward`)."""
    size = 2 if bf16 else 4
    tokens = min(settings.micro_tokens, settings.batch_tokens)
    per_layer = (
        1 * config.width * 4 if settings.checkpoint_activations else (14 * config.width + 3 * config.hidden) * size
    )
    state = 8 * parameters + 4 * matrices + 8 * (parameters - matrices)
    return state + tokens * config.depth * per_layer + 4 * config.width * config.vocab_size


def estimate(
    config: ModelConfig, settings: StageSettings, *, ranks: int, supervised: float, speed: float, bf16: bool, kind: str
) -> Estimate:
    """The whole of it; `speed` as of `product_speed`."""
    with torch.device("meta"):
        model = Transformer(config)
    matrices = sum(parameter.numel() for parameter in split_parameters(model)[0])
    parameters = model.parameter_count()
    per_token = flops_per_token(config, settings.length, supervised)
    tokens = settings.steps * settings.rows(ranks) * ranks * settings.length
    seconds = tokens * per_token / (speed * ranks * UTILISATION[kind])
    size = memory(config, parameters, matrices, settings, bf16=bf16)
    return Estimate(parameters, matrices, per_token, size, settings.steps, tokens, speed, seconds)


def product_speed(device: torch.device, bf16: bool) -> float:
    """FLOP/s of large square products, the best of a few: some tenths of a second."""
    size = 8192 if device.type == "cuda" else 768
    kind = torch.bfloat16 if bf16 else torch.float32
    x = torch.randn(size, size, device=device, dtype=kind)
    best = 0.0
    for _ in range(6):
        start = time.perf_counter()
        y = x @ x
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = max(best, 2 * size**3 / (time.perf_counter() - start))
        del y
    return best
