"""Settings for running and prompting language models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from common.limits import Duration, Factor, Natural, Positive, Timeout


@dataclass(frozen=True)
class HubSettings:
    """Settings for models in Hugging Face's format that run in transformers."""

    device: str = "auto"
    """`auto` (the GPU, or as many GPUs as the model needs; without a GPU, the CPU), `cpu`, `cuda`, `cuda:1`, ..."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Type of the weights; `auto`: the model's own on a GPU; on a CPU float32, or bfloat16 if that is the model's own
    and the CPU computes in it (AVX512-BF16, AMX)."""

    trust_remote_code: bool = False
    """Run Python code that comes with a model. The code has all your permissions: read it first."""

    batch: Positive = 64
    """Maximum samples drawn in one batch."""

    batch_tokens: Positive = 65_536
    """Maximum tokens of a batch, including prompts, completions and padding. Tokens take memory: 128 KiB each in a
    Llama of 8 billion weights. If a GPU's memory is too small, batches become half as large."""

    share_prompts: bool = True
    """Read a prompt once for all of its samples."""

    beams: Natural | None = None
    """Width of the beam search, for families that are published with one (ReProver: 64); 0: sample instead. By default
    the family's. Used if no temperature is requested."""


@dataclass(frozen=True)
class ModelSettings:
    """Requests to language models on servers, prices of their tokens, and settings for models in this process."""

    patience: Duration = 600.0
    """Seconds after its first failure for which a request is retried. After that, its attempt ends in an error and
    counts as undecided."""

    timeout: Timeout = 60.0
    """Timeout of one request in seconds, plus a twentieth of a second for each requested token."""

    wait: Timeout = 0.5
    """Seconds before the first retry of a failed request; doubled for each further retry, up to 30. If a server sends
    Retry-After, that is used."""

    failures: Positive = 5
    """Consecutive failures after which a server rests, while other servers get its requests."""

    rest: Timeout = 5.0
    """Seconds that a server rests; doubled each time, up to a minute."""

    seeds: bool = True
    """Send a seed with each request, so that equal requests give equal samples. Some servers crash on seeds: vLLM's CPU
    build (0.32) does with several concurrent requests."""

    price_in: Factor = 0.0
    """Price of a million prompt tokens, in any currency, for the estimated cost of a run."""

    price_out: Factor = 0.0
    """Price of a million sampled tokens."""

    hf: HubSettings = field(default_factory=HubSettings)
    """Models in this process (`hf:`)."""
