"""Settings of `proofmesh train hf-sft`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from common.limits import Natural, Positive
from node.tuning.settings import KEPT_OUT, TuningSettings


@dataclass(kw_only=True)
class SftSettings(TuningSettings):
    """Fine-tune a language model on steps or whole proofs, with the same prompts and completions as at inference."""

    model: Annotated[str, tyro.conf.Positional]
    """A folder or an id of the hub; MODEL+ADAPTER with a LoRA adapter (with --lora the adapter is trained further,
    otherwise it is merged); MODEL@TEMPLATE if the model's name or folder does not determine the prompt template."""

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
        if self.micro_batch and self.batch % self.micro_batch:
            raise ValueError(f"batch {self.batch}: must be a multiple of --micro-batch {self.micro_batch}")
