"""Trains a small Llama in Hugging Face format, for tests and for users without access to the hub.

    just small-llama                                      # into models/small-llama, in about 6 minutes on one core
    just small-llama FOLDER --minutes 2 --seed 1
    just small-llama FOLDER-LORA --lora FOLDER            # only a LoRA adapter of the model in FOLDER
    python -m scripts.models.small_llama --help           # without just

It learns the bank's warm-start proofs in two published prompt formats: steps as in BFS-Prover V1, and whole proofs as
in STP. It can then be used like any pretrained model: as `hf:FOLDER`, or FOLDER on a server.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.limits import Natural, Positive, Timeout
from common.output.visible import say
from node.model.hub.folders import CONFIG
from scripts.models.shape import LlamaShape

if TYPE_CHECKING:
    from scripts.models.llama_training import Trained

DONE, UNUSABLE = 0, 2


@dataclass
class SmallLlamaSettings:
    """Train a small Llama on the bank's warm-start proofs, and save it in Hugging Face format."""

    out: Annotated[Path, tyro.conf.Positional] = Path("models/small-llama")
    """Folder to write."""

    lora: str = ""
    """Train a LoRA adapter of the model in this folder, and save only the adapter."""

    steps: Positive = 4000
    """Most steps of training."""

    minutes: Timeout = 6.0
    """Most minutes of training. The learning rate falls to 0 at the end, which `steps` or `minutes` sets."""

    batch: Positive = 16
    """Examples per step."""

    rate: Timeout = 3e-3
    """Learning rate."""

    seed: Natural = 0
    """Seed. Equal seeds and steps give equal models, unless `minutes` ends the training."""

    threads: Positive = 1
    """Threads of torch."""

    force: bool = False
    """Replace the folder if it exists."""

    shape: LlamaShape = field(default_factory=LlamaShape)
    """Shape of the model. A LoRA adapter uses the shape of its base."""


class Unusable(ValueError):
    """Invalid settings. The message says what to change."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    settings = tyro.cli(SmallLlamaSettings, args=argv, prog="small-llama")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the hub is not needed
    from node.bank.bank import BankError
    from node.model.hub.folders import FolderExists, check_free

    try:
        check_free(settings.out, force=settings.force)
        check(settings)
        trained = run(settings)
    except (FolderExists, Unusable, BankError, OSError) as error:
        say(f"small-llama: {error}", file=sys.stderr)
        return UNUSABLE
    held_out = "none" if trained.held_out_loss is None else f"{trained.held_out_loss:.4f}"
    say(
        f"{settings.out}: {trained.parameters:,} parameters trained, {trained.steps:,} steps in {trained.seconds:.0f} "
        f"s; nats per token: {trained.loss:.4f} in training (mean), {held_out} held out"
    )
    return DONE


def check(settings: SmallLlamaSettings) -> None:
    """Check the settings. Raises Unusable."""
    shape = settings.shape
    if shape.width % (2 * shape.heads) or shape.heads % shape.kv_heads:
        raise Unusable("--shape: width / heads must be an even number, and heads a multiple of kv-heads")
    if settings.lora and not (Path(settings.lora) / CONFIG).is_file():
        raise Unusable(f"--lora {settings.lora}: not a model folder (no config.json); name the folder of a model")


def run(settings: SmallLlamaSettings) -> Trained:
    """Train, with a progress bar. Raises BankError, FolderExists, OSError."""
    import torch
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from scripts.models.card import adapter_card, model_card
    from scripts.models.examples import from_bank
    from scripts.models.llama_training import Training, train, train_adapter

    torch.set_num_threads(settings.threads)
    examples = from_bank()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[loss]}"), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task("training", total=1.0, loss="")
        base = Path(settings.lora)
        training = Training(
            steps=settings.steps,
            minutes=settings.minutes,
            batch=settings.batch,
            rate=settings.rate,
            seed=settings.seed,
            held_out=examples.held_out,
            progress=lambda done, loss: bar.update(task, completed=done, loss=f"loss {loss:.3f}"),
            card=adapter_card(base) if settings.lora else model_card(settings.shape),
            force=settings.force,
        )
        if settings.lora:
            trained = train_adapter(examples.trained, base, settings.out, training)
        else:
            trained = train(examples.trained, settings.out, training, settings.shape)
        bar.update(task, completed=1.0)
    return trained


if __name__ == "__main__":
    raise SystemExit(main())
