"""Configuration of a training stage. Without torch, so that `--help` is quick."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from common.limits import Duration, Factor, Natural, Positive, Share, Timeout
from node.model.config import PRESETS, ModelConfig, ModelConfigError

ValueTargets = Literal["one-hot", "two-hot"]
"""What the value is trained on: the nearest bin, or the two bins around a number of steps that is not whole, such that
their mean is that number."""


@dataclass(frozen=True)
class LossSettings:
    """Weights and targets of the loss."""

    value_weight: float = 0.001
    """Weight of the value's cross-entropy relative to the policy's (AlphaProof's pseudocode)."""
    value_targets: ValueTargets = "one-hot"
    """The value's targets."""


@dataclass
class DataSettings:
    """The training data."""

    sources: tuple[str, ...] = ()
    """KIND:WHERE[@SPLIT][*WEIGHT], KIND being text, lean, transitions, proofs (whole ones: rows {"statement", "proof"})
    or conjectures (rows {"lemma", "statement", "proof", "conjecture"}); rows of the last two may have a "weight".
    WHERE: bank (@warm, the default, or @all), pocket, hub:ORG/NAME[/CONFIG], or a path of .jsonl, .txt, .lean or
    .parquet files, patterns allowed; of transitions and proofs also the folder of a run, an evaluation, a trace or a
    bank. Empty: the stage's own, from this repository."""
    valid: tuple[str, ...] = ()
    """Sources to evaluate on; empty: the held-out rows of `sources`."""
    held_out: Natural = 20
    """One in this many theorems (or texts) is held out, by name, the same on every machine; 0: none."""
    valid_tokens: Positive = 16_384
    """Tokens of the evaluation."""
    streaming: bool = False
    """Read the data as a stream, without a copy in the cache of `datasets`; for data too large for the disk."""
    split: str = "train"
    """Split of a dataset of the hub whose name gives none."""
    text_field: str = ""
    """Field of a row that holds the text; empty: text, content, code or formal_statement."""
    window: Positive = 32
    """Rows of `length` tokens that are packed and mixed at a time, on each rank."""
    shuffle_hypotheses: bool = False
    """Shuffle hypotheses into another valid order, a different one in every epoch."""
    transitions_as_text: bool = False
    """Predict states, too, and a mark of the remaining steps after the tactic (midtraining)."""
    cache: str = ""
    """Folder for copies that `datasets` makes; empty: its own default."""


@dataclass
class RateSettings:
    """Learning rates and their schedule."""

    matrix_rate: Factor = 0.02
    """Learning rate of Muon, for the matrices inside the blocks."""
    rate: Factor = 0.003
    """Learning rate of AdamW, for embedding, heads and gains."""
    momentum: Share = 0.95
    """Momentum of Muon."""
    weight_decay: Factor = 0.01
    """Decoupled weight decay of the matrices."""
    clip: Factor = 1.0
    """Largest norm of the whole gradient."""
    warmup: Natural = 20
    """Steps over which the rates rise."""
    decay: Share = 0.3
    """Share of the steps, at the end, over which they fall linearly."""
    floor: Share = 0.0
    """Factor of the rates at the end."""

    def factor(self, step: int, steps: int) -> float:
        """Of the rates at a step, counted from 0, besides the warm-up (which the optimizer does)."""
        length = max(1, round(steps * self.decay))
        left = (steps - step - 0.5) / length
        return max(self.floor, min(1.0, left)) if self.decay > 0 else 1.0


@dataclass
class StageSettings:
    """One stage of training."""

    run: str = ""
    """Name of the run, and of its folder; empty: the stage's name."""
    directory: str = "runs"
    """Folder of the run directories."""
    start: str = ""
    """Checkpoint to start from (weights, tokenizer, shape), or a run directory with checkpoints; empty: fresh."""
    tokenizer: str = ""
    """A tokenizer.json, for a fresh network; empty: one is trained on the data. With `start` it must be the same."""
    vocab_size: Positive = 1024
    """Vocabulary of a tokenizer that is trained here."""
    preset: str = ""
    """Shape of a fresh network by name (demo, nano, small, base); empty: as in `model`."""
    model: ModelConfig = field(default_factory=ModelConfig)
    """Shape of a fresh network; the vocabulary is the tokenizer's."""
    data: DataSettings = field(default_factory=DataSettings)
    """The training data."""
    steps: Positive = 300
    """Optimizer steps of the stage."""
    length: Positive = 256
    """Tokens of a row, which documents are packed into; at most the network's context."""
    batch_tokens: Positive = 4096
    """Tokens of one step, over all ranks, padding included."""
    micro_tokens: Positive = 4096
    """Tokens of one forward pass of a rank at most; more are accumulated."""
    rates: RateSettings = field(default_factory=RateSettings)
    """Learning rates."""
    value_weight: Factor = 0.001
    """Weight of the value loss (AlphaProof's pseudocode)."""
    value_targets: ValueTargets = "one-hot"
    """Nearest bin, or the two bins around the target."""
    ranks: Positive = 1
    """Processes on this machine, one per GPU; under torchrun this is torchrun's."""
    threads: Natural = 0
    """Threads of each rank on a CPU; 0: all cores divided among the ranks."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto`: a GPU if there is one."""
    bf16: Literal["auto", "on", "off"] = "auto"
    """Forward and backward in bfloat16; `auto`: where the hardware has it."""
    compile: bool = False
    """Compile the network with torch.compile."""
    checkpoint_activations: bool = False
    """Recompute activations inside blocks in the backward pass: less memory, a third more work."""
    evaluate_every: Positive = 100
    """Steps between evaluations."""
    save_every: Positive = 100
    """Steps between checkpoints; the last step always makes one."""
    log_every: Positive = 10
    """Steps between lines in metrics.jsonl."""
    tracker: str = ""
    """Trackers that get the curves, too: `tensorboard`, `trackio:PROJECT`, `wandb:PROJECT`, or several with
    commas. Each is an optional package (docs/operations.md)."""
    keep: Positive = 2
    """Newest checkpoints kept."""
    seed: Natural = 0
    """Seed of weights, order and augmentation."""
    timeout: Timeout = 300.0
    """Seconds that ranks wait for each other before they give up."""
    minutes: Duration | None = None
    """End after this many minutes, with a checkpoint from which the same command continues; none: no limit."""

    def check(self) -> None:
        """Raises ValueError for settings that do not go together."""
        if self.preset and self.preset not in PRESETS:
            raise ModelConfigError(f"there is no preset `{self.preset}`; there are {', '.join(PRESETS)}")
        if self.batch_tokens < self.length:
            raise ValueError(f"batch_tokens is {self.batch_tokens}, less than one row of {self.length}")

    @property
    def shape(self) -> ModelConfig:
        """Shape of a fresh network."""
        return PRESETS[self.preset] if self.preset else self.model

    def rows(self, ranks: int) -> int:
        """Rows of a step on each rank. Raises ValueError if there are fewer than ranks."""
        rows = self.batch_tokens // self.length
        if rows < ranks:
            raise ValueError(
                f"a step of {rows} rows ({self.batch_tokens} tokens) cannot be divided among {ranks} ranks"
            )
        return rows // ranks


def _stage(data: DataSettings, **changes: object) -> StageSettings:
    return replace(StageSettings(data=data), **changes)  # type: ignore[arg-type]


STAGES = {
    "pretrain": _stage(DataSettings(sources=("text:bank", "lean:pocket"))),
    "midtrain": _stage(DataSettings(sources=("lean:pocket", "transitions:bank*4"), transitions_as_text=True)),
    "sft": _stage(DataSettings(sources=("transitions:bank",), shuffle_hypotheses=True)),
}
"""Stages with their defaults, all from data in this repository."""
