"""Settings of the trainers of Hugging Face models: what all share, `proofmesh train hf-sft`, `proofmesh train grpo`.
They import no torch, so that `--help` is fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from common import config
from common.limits import Factor, Natural, Positive, Ratio, Share, Temperature, Timeout
from common.settings import LeanSettings
from common.watch.tracking import check_tracker
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

    tracker: str = ""
    """Trackers that get the curves, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several with
    commas. Each is an optional package (docs/operations.md)."""


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
    kept = getattr(settings, "keeping", settings)  # the retriever's are flat, and a search for premises has no tracker
    check_tracker(getattr(kept, "tracker", ""))


# --- hf-sft -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LlamaShape:
    """Shape of a Llama with fresh weights (--from-scratch); the default has a million parameters."""

    vocab_size: Positive = 1024
    """Largest vocabulary of its tokenizer, which is trained on the data. It is smaller if there are few texts."""
    depth: Positive = 4
    """Layers."""
    width: Positive = 128
    """Size of the residual stream."""
    heads: Positive = 4
    """Query heads."""
    kv_heads: Positive = 2
    """Key and value heads."""
    hidden: Positive = 448
    """Hidden size of the feed-forward layers."""
    context: Positive = 512
    """Longest sequence in tokens."""

    def check(self) -> None:
        """Checks conditions on several sizes. Raises ValueError."""
        if self.width % (2 * self.heads) or self.heads % self.kv_heads:
            raise ValueError("shape: width / heads must be an even number, and heads a multiple of kv-heads")


@dataclass(kw_only=True)
class SftSettings(TuningSettings):
    """Fine-tune a language model on steps or whole proofs, with the same prompts and completions as at inference."""

    model: Annotated[str, tyro.conf.Positional] = ""
    """A folder or an id of the hub; MODEL+ADAPTER with a LoRA adapter (with --lora the adapter is trained further,
    otherwise it is merged); MODEL@TEMPLATE if the model's name or folder does not determine the prompt template."""

    from_scratch: bool = False
    """Start with a small Llama with fresh weights and a tokenizer trained on the data, instead of a model."""

    shape: LlamaShape = field(default_factory=LlamaShape)

    template: str = "bfs-prover-v1"
    """With --from-scratch: the prompt template of the model."""

    out: Path = Path("runs/hf-sft")
    """Folder of the training: checkpoints, curves, and at the end the trained model in OUT/model."""

    data: tuple[str, ...] = ("bank",)
    """Sources of training data, [KIND:]WHERE[@SPLIT]. WHERE: `bank` (its warm start; `bank@all`: all of it), folders of
    `proofmesh trace`, of LeanDojo (train.json), of runs, evaluations and other banks, files of LeanDojo (.json), of
    transitions or proofs (.jsonl, .jsonl.gz), proofs.sqlite. KIND: transitions, proofs, or pairs for
    `pairs:FILE.jsonl`, rows of {prompt, completion, weight} that are used unchanged; without it, what the file has."""

    kind: Literal["auto", "steps", "proofs", "both"] = "auto"
    """Train on steps (a tactic for a proof state), whole proofs, or both; `auto`: the kind of the model's template."""

    other_template: str = ""
    """With --kind both: the template for the kind that the model's own template does not cover."""

    keep_out: tuple[str, ...] = KEPT_OUT
    """Benchmarks whose statements are never trained on, named as for `proofmesh eval`."""

    held_out: Natural = 10
    """One in this many theorems is held out, and the loss on them is measured before and after; 0: none."""

    batch: Positive = 16
    """Examples in a training step."""

    micro_batch: Natural = 0
    """Examples of a step that are computed at once; 0: all. Fewer need less memory and give the same result."""

    max_tokens: Natural = 0
    """Leave out examples with more tokens, prompt and completion together; 0: the model's own limit."""

    seed: Natural = 0
    """Equal seeds give equal models, unless --minutes ends the training."""

    dry_run: bool = False
    """Only report the training data and the memory that the training needs."""

    fresh: bool = False
    """Start from scratch, also if the folder has a run."""

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if bool(self.model) == self.from_scratch:
            raise ValueError("from-scratch: give either this flag or the name of a model")
        if self.from_scratch and self.lora.on:
            raise ValueError("lora needs an existing model: leave out --from-scratch")
        if self.from_scratch:
            self.shape.check()
        if self.micro_batch and self.batch % self.micro_batch:
            raise ValueError(f"batch {self.batch}: must be a multiple of --micro-batch {self.micro_batch}")


# --- grpo -------------------------------------------------------------------------------------------------------------

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
