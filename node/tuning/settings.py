"""Settings that all trainers of Hugging Face models share."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from common import config
from common.limits import Natural, Positive, Ratio, Share, Timeout
from node.llm.settings import HubSettings

KEPT_OUT = ("pocket:valid", "pocket:test", "textbook")
"""Benchmarks that come with proofmesh."""


@dataclass(frozen=True)
class LoraSettings:
    """A low-rank adapter (LoRA, arXiv 2106.09685) instead of all weights."""

    on: Annotated[bool, tyro.conf.arg(name="lora", prefix_name=False)] = False
    """Train an adapter and save only the adapter, for use as `hf:MODEL+ADAPTER`. Otherwise all weights are trained."""

    rank: Positive = 16
    """Rank of the update of each matrix."""

    alpha: Positive = 32
    """The update is multiplied by alpha / rank."""

    dropout: Share = 0.0
    """Share of the adapter's inputs that are set to zero in training."""

    targets: tuple[str, ...] = ("all-linear",)
    """Names of the layers that get an adapter, such as q_proj v_proj; `all-linear`: all except the output layer."""


@dataclass(frozen=True)
class PlaceSettings:
    """Where a model is trained."""

    device: str = "auto"
    """`auto` (a GPU if there is one, else the CPU), `cpu`, `cuda`. CUDA_VISIBLE_DEVICES chooses one of several GPUs."""

    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Dtype of the weights in memory; `auto`: float32, except that frozen weights on a GPU keep the dtype of the
    files."""

    trust_remote_code: bool = False
    """Run Python code from the model's folder. It runs with your rights, so read it first."""

    recompute: bool = False
    """Recompute activations in the backward pass instead of storing them: much less memory, a third slower."""

    def hub(self, *, frozen: bool) -> HubSettings:
        """How the weights are loaded. `frozen`: only an adapter is trained."""
        dtype = "float32" if self.dtype == "auto" and not frozen else self.dtype
        return HubSettings(device=self.device, dtype=dtype, trust_remote_code=self.trust_remote_code)


@dataclass(frozen=True)
class LengthSettings:
    """Length of the training. The first limit that is reached ends it."""

    steps: Natural = 0
    """Number of weight updates; 0: as many as the epochs need."""

    epochs: Ratio = 1.0
    """Passes over all examples, if --steps is 0."""

    minutes: Timeout | None = None
    """Most minutes, including those before an interruption. With this limit the result depends on the machine's
    speed."""


@dataclass(frozen=True)
class OptimizerSettings:
    """AdamW (arXiv 1711.05101)."""

    rate: Ratio = 1e-4
    """Peak learning rate. For adapters it is usually ten times as high as for all weights."""

    warmup: Share = 0.03
    """Share of the training at its start in which the learning rate rises."""

    cooldown: Share = 0.5
    """Share of the training at its end in which the learning rate falls to 0."""

    weight_decay: Share = 0.0

    clip: Ratio = 1.0
    """Largest norm of the gradient."""


@dataclass(frozen=True)
class KeepingSettings:
    """How often checkpoints and metrics are written."""

    save_every: Positive = 200
    """Steps between two checkpoints. The same command resumes from the last one."""

    log_every: Positive = 10
    """Steps between two lines of metrics.jsonl."""


_Flat = tyro.conf.arg(name="")
"""Flags without the section name: `--rate`, not `--optimizer.rate`."""


@dataclass
class TuningSettings:
    """Settings that all trainers of Hugging Face models share."""

    lora: LoraSettings = field(default_factory=LoraSettings)
    place: Annotated[PlaceSettings, _Flat] = field(default_factory=PlaceSettings)
    length: Annotated[LengthSettings, _Flat] = field(default_factory=LengthSettings)
    optimizer: Annotated[OptimizerSettings, _Flat] = field(default_factory=OptimizerSettings)
    keeping: Annotated[KeepingSettings, _Flat] = field(default_factory=KeepingSettings)


def check_flags(settings: Any) -> None:
    """Checks the values. Error messages name flags as they are typed. Raises ConfigError."""
    try:
        config.check_flags(settings)
    except config.ConfigError as error:
        text = re.sub(r"^--(place|length|optimizer|keeping)\.", "--", str(error))
        raise config.ConfigError(text) from error
