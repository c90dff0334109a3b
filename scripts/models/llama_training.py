"""Trains a small Llama, or a LoRA adapter of one, with transformers' Trainer on a CPU."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peft import LoraConfig, get_peft_model
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)
from transformers.utils import logging

from node.model.hub.folders import written_folder
from node.model.hub.tokenizers import fast_tokenizer, save_tokenizer
from node.model.tokenizer import BOS, EOS, PAD, Tokenizer
from scripts.models.examples import STEPS_FAMILY, Example, texts
from scripts.models.shape import LlamaShape

IGNORED = -100
"""In transformers, the label of tokens that do not count in the loss."""

WARMUP, COOLDOWN = 0.03, 0.5
"""Shares of the training during which the learning rate rises at the start, and falls to 0 at the end."""

LORA_RANK = 8

logging.disable_progress_bar()  # saving and loading are fast here and need no progress bar

Progress = Callable[[float, float], None]
"""Gets the finished share of the training, and the loss."""


@dataclass(frozen=True)
class Trained:
    """The result of a training."""

    parameters: int
    """Number of trained parameters."""
    steps: int
    seconds: float
    loss: float
    """Mean training loss, in nats per token."""
    held_out_loss: float | None
    """Loss on held-out examples at the end; None if there are none."""


@dataclass(frozen=True)
class Training:
    """Training settings."""

    steps: int = 1000
    minutes: float = math.inf
    """Training ends after this time or after `steps`, whichever comes first."""
    batch: int = 16
    rate: float = 3e-3
    """The highest learning rate."""
    seed: int = 0
    held_out: Sequence[Example] = ()
    """Examples to measure the loss on at the end."""
    progress: Progress = lambda done, loss: None
    card: str = ""
    """Text of the folder's README.md."""
    force: bool = False
    """Replace an existing folder."""


@dataclass
class _Clock:
    """The finished share of the training: by steps or by time, whichever is larger."""

    steps: int
    seconds: float
    started: float

    def done(self, step: int) -> float:
        return max(step / self.steps, (time.monotonic() - self.started) / self.seconds)

    def rate(self, step: int) -> float:
        """Factor of the learning rate."""
        done = self.done(step)
        return max(0.0, min(1.0, (step + 1) / (self.steps * WARMUP + 1), (1 - done) / COOLDOWN))


class _Watch(TrainerCallback):
    """Ends the training when its time is over, and reports its progress."""

    def __init__(self, clock: _Clock, progress: Progress) -> None:
        self._clock = clock
        self._progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        control.should_training_stop |= self._clock.done(state.global_step) >= 1

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **more: Any) -> None:
        if logs and "loss" in logs:
            self._progress(min(1.0, self._clock.done(state.global_step)), logs["loss"])


def train(examples: Sequence[Example], out: Path, training: Training, shape: LlamaShape | None = None) -> Trained:
    """Train a Llama from scratch, and save it atomically as a folder.

    Raises FolderExists if `out` exists, without `force`.
    """
    with written_folder(out, force=training.force) as folder:
        set_seed(training.seed)
        shape = shape or LlamaShape()
        own = Tokenizer.train(texts(examples), shape.vocab_size)
        tokenizer = fast_tokenizer(own, shape.context, reads_specials=False)
        model = LlamaForCausalLM(llama_config(shape, own.vocab_size))
        model.generation_config = GenerationConfig(do_sample=True, bos_token_id=BOS, eos_token_id=EOS, pad_token_id=PAD)
        trained = _trained(model, tokenizer, examples, folder, training)
        model.config.use_cache = True  # the Trainer switches it off
        model.save_pretrained(folder)
        save_tokenizer(tokenizer, folder)
        _write_card(folder, training)
    return trained


def train_adapter(examples: Sequence[Example], base: Path, out: Path, training: Training) -> Trained:
    """Train a LoRA adapter (arXiv 2106.09685) of a saved model, and save only the adapter; otherwise like `train`."""
    with written_folder(out, force=training.force) as folder:
        set_seed(training.seed)
        tokenizer = AutoTokenizer.from_pretrained(base)
        lora = LoraConfig(r=LORA_RANK, lora_alpha=2 * LORA_RANK, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(AutoModelForCausalLM.from_pretrained(base), lora)
        trained = _trained(model, tokenizer, examples, folder, training)
        model.save_pretrained(str(folder))
        _write_card(folder, training)
    return trained


def _write_card(folder: Path, training: Training) -> None:
    """Write the model card. It replaces the one that peft writes for an adapter."""
    (folder / "README.md").write_text(training.card, encoding="utf-8")


def llama_config(shape: LlamaShape, vocab_size: int) -> LlamaConfig:
    """The configuration, with the template that proofmesh uses for the model's prompts."""
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=shape.width,
        intermediate_size=shape.hidden,
        num_hidden_layers=shape.depth,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        max_position_embeddings=shape.context,
        # transformers' default 0.02 is for wide models. In a narrow model, attention then stays uniform for hundreds of
        # steps: after 200 steps the loss on held-out theorems was 1.17 with 0.02, and 1.00 with this.
        initializer_range=shape.width**-0.5,
        tie_word_embeddings=True,
        bos_token_id=BOS,
        eos_token_id=EOS,
        pad_token_id=PAD,
    )
    config.proofmesh_template = STEPS_FAMILY
    return config


def tokens_of(tokenizer: PreTrainedTokenizerBase, example: Example) -> dict[str, list[int]]:
    """Token ids and labels of an example. The prompt is tokenized separately, as it is during sampling."""
    prompt = list(tokenizer(example.prompt)["input_ids"])
    completion = [*tokenizer(example.completion, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
    return {
        "input_ids": prompt + completion,
        "attention_mask": [1] * len(prompt + completion),
        "labels": [IGNORED] * len(prompt) + completion,
    }


def _trained(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    examples: Sequence[Example],
    folder: Path,
    training: Training,
) -> Trained:
    """Train the parameters of a model that require gradients."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = AdamW(parameters, lr=training.rate, betas=(0.9, 0.98), weight_decay=0.0)
    clock = _Clock(training.steps, training.minutes * 60, time.monotonic())
    trainer = Trainer(
        model=model,
        args=_arguments(folder, training),
        train_dataset=_rows(tokenizer, examples, model),
        data_collator=DataCollatorForSeq2Seq(tokenizer, padding=True, label_pad_token_id=IGNORED),
        callbacks=[_Watch(clock, training.progress)],
        optimizers=(optimizer, LambdaLR(optimizer, clock.rate)),
    )
    trainer.remove_callback(PrinterCallback)
    clock.started = time.monotonic()
    result = trainer.train()
    seconds = time.monotonic() - clock.started
    held_out_loss = None
    if training.held_out:
        held_out_loss = trainer.evaluate(_rows(tokenizer, training.held_out, model))["eval_loss"]
    count = sum(parameter.numel() for parameter in parameters)
    return Trained(count, result.global_step, seconds, result.training_loss, held_out_loss)


def _rows(tokenizer: PreTrainedTokenizerBase, examples: Sequence[Example], model: Any) -> Any:
    """The tokenized examples that fit into the model's context."""
    rows = [tokens_of(tokenizer, each) for each in examples]
    return [row for row in rows if len(row["input_ids"]) <= model.config.max_position_embeddings]


def _arguments(folder: Path, training: Training) -> TrainingArguments:
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=training.steps,
        per_device_train_batch_size=training.batch,
        per_device_eval_batch_size=training.batch,
        train_sampling_strategy="group_by_length",  # rows of similar lengths need little padding
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        use_cpu=True,
        seed=training.seed,
    )
