"""Settings of the generation engine, in a separate module so that reading a configuration does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.limits import Natural, Positive


@dataclass(frozen=True)
class EngineSettings:
    """Sizes of the engine."""

    slots: Positive = 32
    """States that run at the same time."""
    cells: Positive = 32
    """Samples of one state at most."""
    new_tokens: Positive = 32
    """Longest tactic in tokens; longer completions are cut off and marked."""
    proof_tokens: Positive = 256
    """Longest whole proof in tokens, and never more than half of the network's context; longer ones are cut off and
    marked."""
    proof_slots: Positive = 8
    """Statements whose whole proofs are sampled at the same time, and prompts whose conjectures are. Memory for them is
    allocated at the first request."""
    conjecture_tokens: Positive = 128
    """Longest conjecture in tokens, and never more than half of the network's context; longer ones are cut off and
    marked. Its prompt may use the rest of the context."""
    prompt_tokens: Positive = 1024
    """Most prompt tokens in one forward pass (one prompt always fits), so that running completions do not wait long."""
    remember: Natural = 64
    """MiB of prefilled states kept for each weight version, least recently used dropped first (the demo: about
    0.4 MiB a state); 0: none."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Precision of matrices, keys and values; auto: bfloat16 on a GPU, float32 on a CPU."""
    graphs: Literal["auto", "on", "off"] = "auto"
    """Capture passes without prompts as CUDA graphs of rounded sizes; auto: on a GPU. On a CPU it has no benefit."""
