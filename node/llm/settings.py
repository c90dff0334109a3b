"""How language models are run and asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.limits import Duration, Factor, Positive, Timeout


@dataclass(frozen=True)
class HubSettings:
    """How models in Hugging Face's format run in transformers."""

    device: str = "auto"
    """`auto` (GPUs if there are any, else the CPU), `cpu`, `cuda`, `cuda:1`, ..."""


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

    price_in: Factor = 0.0
    """Price of a million tokens of prompts, in any currency, for the estimate of what a run costs."""

    price_out: Factor = 0.0
    """Price of a million sampled tokens."""

    hf: HubSettings = field(default_factory=HubSettings)
    """Models of this process (`hf:`)."""
