"""Settings of `proofmesh train grpo`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from common.lean_settings import LeanSettings
from common.limits import Factor, Natural, Positive, Temperature, Timeout
from node.tuning.settings import KEPT_OUT, TuningSettings

LEAN = "lean"


@dataclass(frozen=True)
class EvaluationSettings:
    """pass@1 on held-out statements before and after the training, of whole proofs or of single tactics."""

    on: Annotated[str, tyro.conf.arg(name="evaluate", prefix_name=False)] = ""
    """A benchmark, named as for `proofmesh eval`, such as pocket:test; empty: no evaluation."""

    statements: Positive = 100
    """How many of its statements are evaluated."""

    samples: Positive = 8
    """Completions for each statement; pass@1 is the share of all completions that Lean verifies."""


@dataclass(kw_only=True)
class GrpoSettings(TuningSettings):
    """Train a language model with GRPO (arXiv 2402.03300) on rewards for its own completions."""

    model: Annotated[str, tyro.conf.Positional]
    """A folder or an id of the hub; MODEL+ADAPTER with a LoRA adapter (with --lora the adapter is trained further,
    otherwise it is merged); MODEL@TEMPLATE if the model's name or folder does not determine the prompt template."""

    out: Path = Path("runs/grpo")
    """Folder of the training: checkpoints, curves, and at the end the trained model in OUT/model."""

    reward: str = LEAN
    """`lean`, or MODULE:FUNCTION: a function with the signature of TRL's reward functions."""

    url: str = ""
    """Where `lean` checks completions: http://HOST:PORT of a `proofmesh serve`, or nats://HOST:PORT of a mesh's broker.
    Empty: Lean workers of this process."""

    run: str = "demo"
    """With a broker: the run of its mesh."""

    data: tuple[str, ...] = ("bank",)
    """Statements to prove: `bank` (of the built-in bank, those whose proofs are its warm start), `bank@all` (all
    statements of its train split), the FOLDER or FOLDER@warm of another bank, or .jsonl files of rows {"theorem",
    "header"?, and for steps "state", "steps", "remaining"?, and other columns for your own reward function}."""

    kind: Literal["auto", "steps", "proofs"] = "auto"
    """Train on steps (a tactic for a proof state) or on whole proofs; `auto`: the kind of the model's template."""

    keep_out: tuple[str, ...] = KEPT_OUT
    """Benchmarks whose statements are never trained on, named as for `proofmesh eval`."""

    prompts: Positive = 8
    """Statements or states in a training step."""

    generations: Positive = 8
    """Completions for each prompt; the reward of each is compared with their mean reward. At least 2."""

    micro_batch: Natural = 0
    """Completions in memory at once for the gradient; 0: all completions of a step."""

    temperature: Temperature = 1.0
    """Of sampling."""

    max_tokens: Natural = 0
    """Most tokens of a completion; 0: the template's limit."""

    beta: Factor = 0.0
    """Weight of the KL divergence from the model before the training; 0: that model is not kept in memory."""

    seconds: Timeout = 30.0
    """Most seconds of elaboration for a completion."""

    at_once: Natural = 0
    """Completions that are checked at once; 0: as many as there are workers."""

    lost_steps: Positive = 3
    """The training stops after this many consecutive steps without any reward, because Lean did not answer. The last
    checkpoint is kept."""

    seed: Natural = 0
    """Seed of the order of the data, of sampling and of a new adapter."""

    fresh: bool = False
    """Start from scratch, also if the folder has a run."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean of this process's workers."""

    evaluation: Annotated[EvaluationSettings, tyro.conf.arg(name="evaluate")] = field(
        default_factory=EvaluationSettings
    )

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if self.generations < 2:
            raise ValueError(f"generations {self.generations}: at least 2, each is compared with the others")
        total = self.prompts * self.generations
        if self.micro_batch and total % self.micro_batch:
            raise ValueError(f"micro_batch {self.micro_batch}: must divide --prompts x --generations = {total}")
        if not self.length.steps and self.length.minutes is None and self.length.epochs <= 0:
            raise ValueError("name --steps, --minutes or --epochs")
        if self.temperature <= 0:
            raise ValueError("temperature must be above 0: with equal completions there is no gradient")
        if self.reward != LEAN and ":" not in self.reward:
            raise ValueError(f"reward {self.reward!r}: write `lean` or MODULE:FUNCTION")
