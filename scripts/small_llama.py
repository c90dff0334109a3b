"""Trains a small Llama in Hugging Face format, for tests and for users without access to the hub.

    just small-llama                                      # into models/small-llama, in about 6 minutes on one core
    just small-llama FOLDER --minutes 2 --seed 1
    just small-llama FOLDER-LORA --lora FOLDER            # only a LoRA adapter of the model in FOLDER
    python -m scripts.small_llama --help                  # without just

It is `proofmesh train hf-sft --from-scratch` on the bank's warm start, in two published prompt formats: steps as in
BFS-Prover V1, and whole proofs as in STP. The result can be used like any pretrained model: as `hf:FOLDER`, for whole
proofs as `hf:FOLDER@stp`, or FOLDER on a server.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from common.limits import Natural, Positive, Timeout
from common.output.visible import say
from node.model.hub.folders import CONFIG, FolderExists, check_free, written_folder
from node.tuning.settings import LengthSettings, LlamaShape, LoraSettings, OptimizerSettings, PlaceSettings, SftSettings

DONE, UNUSABLE = 0, 2

STEPS_FAMILY, PROOFS_FAMILY = "bfs-prover-v1", "stp"
"""The templates of steps (a state and `:::`, then a tactic) and of whole proofs (a statement that ends in `:= by` in an
open code block, then the rest of the block)."""


@dataclass
class SmallLlamaSettings:
    """Train a small Llama on the bank's warm-start proofs, and save it in Hugging Face format."""

    out: Annotated[Path, tyro.conf.Positional] = Path("models/small-llama")
    """Folder to write."""

    lora: str = ""
    """Train a LoRA adapter of the model in this folder, and save only the adapter."""

    data: tuple[str, ...] = ("bank",)
    """Sources of training data, as of `proofmesh train hf-sft`."""

    held_out: Natural = 10
    """One in this many theorems is held out; 0: none."""

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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    settings = tyro.cli(SmallLlamaSettings, args=argv, prog="small-llama")
    from node.data.errors import TrainingError

    try:
        check_free(settings.out, force=settings.force)
        if settings.lora and not (Path(settings.lora) / CONFIG).is_file():
            raise ValueError(f"--lora {settings.lora}: not a model folder (no config.json); name the folder of a model")
        settings.shape.check()
        trained = train(settings)
    except (FolderExists, TrainingError, OSError, ValueError) as error:
        say(f"small-llama: {error}", file=sys.stderr)
        return UNUSABLE
    say(
        f"{settings.out}: {trained['parameters_trained']:,} parameters trained, {trained['steps']:,} steps in "
        f"{trained['seconds']:.0f} s; nats per token of held-out theorems: {trained['held_out_loss']}"
    )
    return DONE


def train(settings: SmallLlamaSettings) -> dict[str, Any]:
    """Train, and return the summary. Raises FolderExists, TrainingError, OSError."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the hub is not needed
    import torch

    from node.tuning.sft import run

    # The trainer's own folder is temporary: only the model is kept, under a name that appears when it is complete.
    torch.set_num_threads(settings.threads)
    with written_folder(settings.out, force=settings.force) as folder, tempfile.TemporaryDirectory() as work:
        summary = run(
            SftSettings(
                model=settings.lora,
                from_scratch=not settings.lora,
                shape=settings.shape,
                template=STEPS_FAMILY,
                other_template=PROOFS_FAMILY,
                kind="both",
                out=Path(work, "run"),
                data=settings.data,
                keep_out=(),  # the bank's train split has none of the benchmarks
                held_out=settings.held_out,
                batch=settings.batch,
                seed=settings.seed,
                lora=LoraSettings(on=bool(settings.lora), rank=8, alpha=16),
                place=PlaceSettings(device="cpu"),
                length=LengthSettings(steps=settings.steps, minutes=settings.minutes),
                optimizer=OptimizerSettings(rate=settings.rate),
            )
        )
        shutil.copytree(Path(work, "run", "model"), folder, dirs_exist_ok=True)
    return summary


if __name__ == "__main__":
    raise SystemExit(main())
