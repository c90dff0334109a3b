"""How language models are run and asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.limits import Duration, Factor, Natural, Positive, Timeout


@dataclass(frozen=True)
class HubSettings:
    """How models in Hugging Face's format run in transformers."""

    device: str = "auto"
    """`auto` (the GPU; of several, as many as the model needs; without one the CPU), `cpu`, `cuda`, `cuda:1`, ..."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights; `auto`: the model's own on a GPU, float32 on the CPU."""

    trust_remote_code: bool = False
    """Run Python code that comes with a model. It can do whatever you can: read it first."""

    batch: Positive = 64
    """Most samples that are drawn side by side."""

    batch_tokens: Positive = 65_536
    """Most tokens that samples drawn side by side may have together, prompts, answers and padding included. They take
    memory: 128 KiB a token in a Llama of 8 billion weights. When a GPU's memory is too small for it, batches become
    half as large."""

    share_prompts: bool = True
    """Read the prompt of several samples once."""

    beams: Natural | None = None
    """Width of the beam search of families that are published with one (ReProver: 64); 0: sample instead. By default
    the family's. It is taken where no temperature is asked for."""


@dataclass(frozen=True)
class ModelSettings:
    """How language models on servers are asked, and what their tokens cost; how those of this process run."""

    patience: Duration = 600.0
    """Seconds after its first failure for which a request is repeated, before its attempt ends in an error and counts
    as undecided."""

    timeout: Timeout = 60.0
    """Seconds that a server may take for one request, and a twentieth of a second more for each token that may be
    sampled."""

    wait: Timeout = 0.5
    """Seconds before a request that failed is repeated; each time twice as long, up to 30. A server that says how long
    to wait (Retry-After) is obeyed."""

    failures: Positive = 5
    """After so many failures in a row a server rests, while others go on."""

    rest: Timeout = 5.0
    """Seconds that it rests; each time twice as long, up to a minute."""

    seeds: bool = True
    """Send servers a seed with each request, so that equal ones give equal samples. Some servers end at it: vLLM's CPU
    build (0.32) with several requests at a time."""

    price_in: Factor = 0.0
    """Price of a million tokens of prompts, in any currency, for the estimate of what a run costs."""

    price_out: Factor = 0.0
    """Price of a million sampled tokens."""

    hf: HubSettings = field(default_factory=HubSettings)
    """Models of this process (`hf:`)."""
